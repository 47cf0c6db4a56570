-- What redemptions are found by: the values of the searched keys in their metadata, folded as store.Fold does.
CREATE TABLE redemption_metadata (
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,
    redeemed_at   INTEGER NOT NULL,
    redemption_id TEXT NOT NULL,
    PRIMARY KEY (key, value, redeemed_at, redemption_id)
) STRICT, WITHOUT ROWID;

-- How far the metadata of redemptions is indexed by each key that was ever searched.
CREATE TABLE searched_metadata (
    key   TEXT PRIMARY KEY,
    place TEXT NOT NULL -- JSON
) STRICT;

-- Redemptions that were refused, for some weeks.
CREATE TABLE refused_redemptions (
    id        TEXT PRIMARY KEY,
    at        INTEGER NOT NULL,
    client_id TEXT NOT NULL,
    perk_id   TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    code      TEXT NOT NULL,
    message   TEXT NOT NULL,
    actor     TEXT
) STRICT;

CREATE INDEX refused_redemptions_by_time ON refused_redemptions (at, id);
CREATE INDEX refused_redemptions_of_client ON refused_redemptions (client_id, at, id);
CREATE INDEX refused_redemptions_of_perk ON refused_redemptions (perk_id, at, id);
CREATE INDEX refused_redemptions_of_user ON refused_redemptions (user_id, at, id);
CREATE INDEX refused_redemptions_of_code ON refused_redemptions (code, at, id);
CREATE INDEX refused_redemptions_of_actor ON refused_redemptions (actor, at, id) WHERE actor IS NOT NULL;
