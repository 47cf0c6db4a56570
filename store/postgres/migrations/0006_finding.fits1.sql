-- What redemptions are found by: the values of the searched keys in their metadata, folded as store.Fold does.
CREATE TABLE IF NOT EXISTS redemption_metadata (
    key           text COLLATE "C" NOT NULL,
    value         text COLLATE "C" NOT NULL,
    redeemed_at   timestamptz NOT NULL,
    redemption_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (key, value, redeemed_at, redemption_id)
);

-- How far the metadata of redemptions is indexed by each key that was ever searched.
CREATE TABLE IF NOT EXISTS searched_metadata (
    key   text COLLATE "C" PRIMARY KEY,
    place text NOT NULL -- JSON
);

-- Redemptions that were refused, for some weeks.
CREATE TABLE IF NOT EXISTS refused_redemptions (
    id        text COLLATE "C" PRIMARY KEY,
    at        timestamptz NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    perk_id   text COLLATE "C" NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    code      text COLLATE "C" NOT NULL,
    message   text NOT NULL,
    actor     text COLLATE "C"
);

CREATE INDEX IF NOT EXISTS refused_redemptions_by_time ON refused_redemptions (at, id);
CREATE INDEX IF NOT EXISTS refused_redemptions_of_client ON refused_redemptions (client_id, at, id);
CREATE INDEX IF NOT EXISTS refused_redemptions_of_perk ON refused_redemptions (perk_id, at, id);
CREATE INDEX IF NOT EXISTS refused_redemptions_of_user ON refused_redemptions (user_id, at, id);
CREATE INDEX IF NOT EXISTS refused_redemptions_of_code ON refused_redemptions (code, at, id);
CREATE INDEX IF NOT EXISTS refused_redemptions_of_actor ON refused_redemptions (actor, at, id) WHERE actor IS NOT NULL;
