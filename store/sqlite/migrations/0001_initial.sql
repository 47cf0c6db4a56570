-- Times are microseconds since 1970 in UTC. A column that ends in _fold holds store.Fold of its neighbour: text is sorted
-- and matched by it, so that the order does not depend on the database.

CREATE TABLE perks (
    row                INTEGER PRIMARY KEY,
    id                 TEXT NOT NULL UNIQUE,
    valid_from         INTEGER,
    valid_to           INTEGER,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    lat                REAL,
    lng                REAL,
    cell               INTEGER, -- store.Cell of lat and lng
    approval           TEXT NOT NULL CHECK (approval IN ('auto', 'manual')),
    title_fold         TEXT NOT NULL,
    category_fold      TEXT,
    merchant_name_fold TEXT,
    city_fold          TEXT NOT NULL,
    title              TEXT NOT NULL,
    category           TEXT, -- the name of a category
    merchant_name      TEXT,
    city               TEXT NOT NULL,
    image_url          TEXT,
    discount_text      TEXT,
    description        TEXT NOT NULL,
    terms              TEXT
) STRICT;

-- One index for each sort key and direction, because the id is ascending in both. Each also holds valid_to, so that a
-- page is found without reading the perks that are skipped or expired.
CREATE INDEX perks_title_asc          ON perks (title_fold, id, valid_to);
CREATE INDEX perks_title_desc         ON perks (title_fold DESC, id, valid_to);
CREATE INDEX perks_category_asc       ON perks (category_fold, id, valid_to);
CREATE INDEX perks_category_desc      ON perks (category_fold DESC, id, valid_to);
CREATE INDEX perks_merchant_name_asc  ON perks (merchant_name_fold, id, valid_to);
CREATE INDEX perks_merchant_name_desc ON perks (merchant_name_fold DESC, id, valid_to);
CREATE INDEX perks_city_asc           ON perks (city_fold, id, valid_to);
CREATE INDEX perks_city_desc          ON perks (city_fold DESC, id, valid_to);
CREATE INDEX perks_valid_from_asc     ON perks (valid_from, id, valid_to);
CREATE INDEX perks_valid_from_desc    ON perks (valid_from DESC, id, valid_to);
CREATE INDEX perks_valid_to_asc       ON perks (valid_to, id);
CREATE INDEX perks_valid_to_desc      ON perks (valid_to DESC, id);
CREATE INDEX perks_created_at_asc     ON perks (created_at, id, valid_to);
CREATE INDEX perks_created_at_desc    ON perks (created_at DESC, id, valid_to);
CREATE INDEX perks_updated_at_asc     ON perks (updated_at, id, valid_to);
CREATE INDEX perks_updated_at_desc    ON perks (updated_at DESC, id, valid_to);

-- The filters, with the usual order. A circle on the map is looked up by the cells of its grid.
CREATE INDEX perks_in_city     ON perks (city_fold, created_at DESC, id, valid_to, category_fold);
CREATE INDEX perks_in_category ON perks (category_fold, created_at DESC, id, valid_to);
CREATE INDEX perks_in_cell     ON perks (cell, created_at DESC, id, lat, lng, valid_to, valid_from, category_fold)
    WHERE cell IS NOT NULL;

-- The words of title, merchant_name and description, as store.Words splits them; rowid is perks.row.
CREATE VIRTUAL TABLE perk_words USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none, prefix = '1 2 3'
);

-- Apart from perks, because every redemption rewrites it and a perk's row is long.
CREATE TABLE perk_stock (
    perk  INTEGER PRIMARY KEY REFERENCES perks (row),
    stock INTEGER, -- units in all; null is without limit
    held  INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0) -- by redemptions that are not rejected
) STRICT;

CREATE INDEX perk_stock_sold_out ON perk_stock (perk) WHERE held >= stock;

-- Rises with every change of perks or categories, so that what was counted under a version stays true under it.
CREATE TABLE catalog (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;

INSERT INTO catalog VALUES (1, 0);

CREATE TABLE categories (
    id        TEXT PRIMARY KEY,
    name      TEXT NOT NULL,
    name_fold TEXT NOT NULL
) STRICT;

CREATE INDEX categories_by_name ON categories (name_fold, id);

CREATE TABLE users (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE redemptions (
    row          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    perk         INTEGER NOT NULL REFERENCES perks (row),
    user_id      TEXT NOT NULL REFERENCES users (id),
    client_id    TEXT NOT NULL, -- in a sandbox the clients are in another database
    redeemed_at  INTEGER NOT NULL,
    first_status TEXT NOT NULL CHECK (first_status IN ('approved', 'pending')), -- as the first answer showed it
    status       TEXT NOT NULL CHECK (status IN ('approved', 'pending', 'rejected')),
    metadata     TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX redemptions_live ON redemptions (user_id, perk) WHERE status <> 'rejected';
CREATE INDEX redemptions_of_user ON redemptions (user_id, redeemed_at, id);
CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, row);
CREATE INDEX redemptions_pending ON redemptions (id) WHERE status = 'pending';

CREATE TABLE idempotency_keys (
    client_id   TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    redemption  INTEGER NOT NULL REFERENCES redemptions (row),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (client_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE TABLE clients (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    secret       BLOB NOT NULL, -- a hash
    scopes       TEXT NOT NULL, -- separated by spaces
    sandbox_only INTEGER NOT NULL CHECK (sandbox_only IN (0, 1)),
    disabled     INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE signing_keys (
    id         TEXT PRIMARY KEY,
    secret     BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT;

CREATE TABLE properties (
    id          INTEGER PRIMARY KEY,
    owner       TEXT NOT NULL REFERENCES clients (id),
    title       TEXT NOT NULL,
    description TEXT NOT NULL,
    address     TEXT NOT NULL,
    city        TEXT NOT NULL,
    postcode    TEXT NOT NULL,
    images      TEXT NOT NULL, -- a JSON array
    price_pw    TEXT NOT NULL, -- its digits as given
    bedrooms    INTEGER NOT NULL,
    bathrooms   INTEGER NOT NULL,
    lat         REAL,
    lng         REAL,
    deposit     REAL NOT NULL
) STRICT;

CREATE TABLE audit (
    row     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    before  TEXT, -- JSON
    after   TEXT  -- JSON
) STRICT;

CREATE INDEX audit_by_time ON audit (at, row);
CREATE INDEX audit_by_subject ON audit (subject, at, row);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

-- What Ready writes.
CREATE TABLE readiness (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    checked_at INTEGER NOT NULL
) STRICT;
