-- Times are microseconds since 1970 in UTC. A column that ends in _fold holds store.Fold of its neighbour: text is sorted
-- and matched by it, so that the order does not depend on the database.

-- Each index of perks has one of two names: its first, or that with _2 at the end. Which one alternates with large
-- imports, because SQLite does not rename indexes. A migration that drops one names both, with IF EXISTS.
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

-- One index for each sort key. The id has the direction of the key before it, so it serves both directions. Each also
-- holds valid_to, so that a page is found without reading the perks that are skipped or expired.
CREATE INDEX perks_title_asc         ON perks (title_fold, id, valid_to);
CREATE INDEX perks_category_asc      ON perks (category_fold, id, valid_to);
CREATE INDEX perks_merchant_name_asc ON perks (merchant_name_fold, id, valid_to);
CREATE INDEX perks_city_asc          ON perks (city_fold, id, valid_to);
CREATE INDEX perks_valid_from_asc    ON perks (valid_from, id, valid_to);
CREATE INDEX perks_valid_to_asc      ON perks (valid_to, id);
CREATE INDEX perks_created_at_asc    ON perks (created_at, id, valid_to);
CREATE INDEX perks_updated_at_asc    ON perks (updated_at, id, valid_to);

-- The filters, with the usual order. A circle on the map is looked up by the cells of its grid.
CREATE INDEX perks_in_city     ON perks (city_fold, created_at, id, valid_to, category_fold);
CREATE INDEX perks_in_category ON perks (category_fold, created_at, id, valid_to);
CREATE INDEX perks_in_cell     ON perks (cell, created_at, id, lat, lng, valid_to, valid_from, category_fold)
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

-- What nobody can redeem, in lists of what a user can.
CREATE INDEX perk_stock_sold_out ON perk_stock (perk) WHERE held >= stock;

-- Rises with every change of perks or categories, so that what was counted under a version stays true under it.
CREATE TABLE catalog (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;

INSERT INTO catalog VALUES (1, 0);

-- The large import that may publish what it has built: the one that began last.
CREATE TABLE large_import (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    token      TEXT NOT NULL, -- in the names of its tables
    written_at INTEGER NOT NULL
) STRICT;

CREATE TABLE categories (
    id        TEXT PRIMARY KEY,
    name      TEXT NOT NULL,
    name_fold TEXT NOT NULL
) STRICT;

-- The order of all categories, and the filter of perks by a category's name.
CREATE INDEX categories_by_name ON categories (name_fold, id);

CREATE TABLE users (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- A voided redemption is rejected, and voided too: whatever asks which redemptions are live need not know of it.
CREATE TABLE redemptions (
    row          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    perk         INTEGER NOT NULL REFERENCES perks (row),
    user_id      TEXT NOT NULL REFERENCES users (id),
    client_id    TEXT NOT NULL, -- in a sandbox the clients are in another database
    redeemed_at  INTEGER NOT NULL,
    first_status TEXT NOT NULL CHECK (first_status IN ('approved', 'pending')), -- as the first reply showed it
    status       TEXT NOT NULL CHECK (status IN ('approved', 'pending', 'rejected')),
    metadata     TEXT NOT NULL,
    voided       INTEGER NOT NULL DEFAULT 0,
    decided_at   INTEGER,
    reason       TEXT
) STRICT;

-- A user has at most one live redemption of a perk.
CREATE UNIQUE INDEX redemptions_live ON redemptions (user_id, perk) WHERE status <> 'rejected';

-- Lists, the newest first: of a user, of all, a client and a perk. Those that are not approved are few, and have their own.
CREATE INDEX redemptions_of_user ON redemptions (user_id, redeemed_at, id);
CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, row);
CREATE INDEX redemptions_of_client ON redemptions (client_id, redeemed_at);
CREATE INDEX redemptions_of_perk ON redemptions (perk, redeemed_at);
CREATE INDEX redemptions_not_approved ON redemptions (status, voided, redeemed_at) WHERE status <> 'approved';
CREATE INDEX redemptions_not_approved_of_client ON redemptions (client_id, status, voided, redeemed_at)
    WHERE status <> 'approved';
CREATE INDEX redemptions_not_approved_of_perk ON redemptions (perk, status, voided, redeemed_at)
    WHERE status <> 'approved';

-- Making a redemption is an entry of the audit log, read from the redemption itself. So it only changes by a decision.
CREATE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions
WHEN NOT (OLD.status = 'pending' AND NEW.status <> 'pending' AND NEW.voided = 0
        OR OLD.status = 'approved' AND NEW.status = 'rejected' AND NEW.voided = 1)
    OR (NEW.row, NEW.id, NEW.perk, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata)
        IS NOT
        (OLD.row, OLD.id, OLD.perk, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it changes only from pending to decided, and from approved to voided'); END;

-- REPLACE deletes conflicting rows without firing the triggers of deletion.
CREATE TRIGGER redemptions_are_not_replaced BEFORE INSERT ON redemptions
WHEN EXISTS (SELECT 1 FROM redemptions WHERE row = NEW.row OR id = NEW.id)
    OR NEW.status <> 'rejected' AND EXISTS (
        SELECT 1 FROM redemptions WHERE user_id = NEW.user_id AND perk = NEW.perk AND status <> 'rejected')
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it is not replaced'); END;

-- New ones come last, by which followers of the log recognise them.
CREATE TRIGGER redemptions_are_added AFTER INSERT ON redemptions
WHEN NEW.row < 1 OR NEW.row < (SELECT max(row) FROM redemptions)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: new ones come last'); END;

-- No exception depends on rows of other tables, because those could be moved. Resetting a sandbox drops this trigger
-- while it deletes, and creates it again.
CREATE TRIGGER redemptions_stay BEFORE DELETE ON redemptions
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it is not deleted'); END;

-- A key names the creation of a listing, or a redemption.
CREATE TABLE idempotency_keys (
    client_id   TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    redemption  INTEGER REFERENCES redemptions (row),
    created_at  INTEGER NOT NULL,
    property_id INTEGER,
    PRIMARY KEY (client_id, key)
) STRICT, WITHOUT ROWID;

-- Old keys are deleted.
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

-- The last columns follow from the others, and perksd writes them: what lists match and sort by, and audited.
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
    deposit     REAL NOT NULL,
    city_fold   TEXT NOT NULL, -- store.Fold of the city without outer blanks
    words       TEXT NOT NULL, -- of title, description, address, city and postcode, as store.Words splits them: 'one' 'two'
    price_key   TEXT NOT NULL, -- api.Price.SortKey
    word_bits   INTEGER NOT NULL, -- store.wordBits of the words
    -- The digest of the record that the listing's last entry in the audit log leaves, and a byte: the number of updates
    -- since the last entry with a whole record. If the listing has another record, something without an entry of its own
    -- has changed it, such as an import.
    audited     BLOB
) STRICT;

-- An index for each order of all listings, a client's and a city's, and of those of them with one number of bedrooms. The
-- last columns are for filters: they spare reading the listings. By their bits, they tell most listings that lack a word.
CREATE INDEX properties_by_id                          ON properties (id, bedrooms, price_key, word_bits);
CREATE INDEX properties_by_price                       ON properties (price_key, id, bedrooms, word_bits);
CREATE INDEX properties_by_bedrooms                    ON properties (bedrooms, id, price_key, word_bits);
CREATE INDEX properties_by_bedrooms_and_price          ON properties (bedrooms, price_key, id, word_bits);
CREATE INDEX properties_of_owner                       ON properties (owner, id, bedrooms, price_key, word_bits);
CREATE INDEX properties_of_owner_by_price              ON properties (owner, price_key, id, bedrooms, word_bits);
CREATE INDEX properties_of_owner_by_bedrooms           ON properties (owner, bedrooms, id, price_key, word_bits);
CREATE INDEX properties_of_owner_by_bedrooms_and_price ON properties (owner, bedrooms, price_key, id, word_bits);
CREATE INDEX properties_of_city                        ON properties (city_fold, id, bedrooms, price_key, word_bits);
CREATE INDEX properties_of_city_by_price               ON properties (city_fold, price_key, id, bedrooms, word_bits);
CREATE INDEX properties_of_city_by_bedrooms            ON properties (city_fold, bedrooms, id, price_key, word_bits);
CREATE INDEX properties_of_city_by_bedrooms_and_price  ON properties (city_fold, bedrooms, price_key, id, word_bits);

-- rowid is properties.id. To the tokenizer, the quotes only separate words.
CREATE VIRTUAL TABLE property_words USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none, prefix = '1 2 3'
);

CREATE TRIGGER properties_add_words AFTER INSERT ON properties
BEGIN INSERT INTO property_words (rowid, words) VALUES (NEW.id, NEW.words); END;

CREATE TRIGGER properties_change_words AFTER UPDATE OF words ON properties WHEN NEW.words <> OLD.words
BEGIN
    DELETE FROM property_words WHERE rowid = OLD.id;
    INSERT INTO property_words (rowid, words) VALUES (NEW.id, NEW.words);
END;

-- The highest id of a deleted listing: a new one never has the id of another.
CREATE TABLE deleted_properties (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO deleted_properties VALUES (1, 0);

CREATE TRIGGER properties_leave AFTER DELETE ON properties
BEGIN
    DELETE FROM property_words WHERE rowid = OLD.id;
    UPDATE deleted_properties SET last = OLD.id WHERE last < OLD.id;
END;

CREATE TABLE audit (
    row        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    action     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    before     TEXT,   -- JSON
    after      TEXT,   -- JSON
    redemption INTEGER -- the last one when the entry was added, which gives the order of commits of both
) STRICT;

-- The filters, each with the order of time.
CREATE INDEX audit_by_time ON audit (at, row);
CREATE INDEX audit_by_subject ON audit (subject, at, row);
CREATE INDEX audit_by_actor ON audit (actor, at, row);
CREATE INDEX audit_by_action ON audit (action, at, row);

-- Only the trigger below changes an entry, once.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
WHEN OLD.redemption IS NOT NULL
    OR (NEW.row, NEW.at, NEW.actor, NEW.action, NEW.subject, NEW.before, NEW.after)
        IS NOT
        (OLD.row, OLD.at, OLD.actor, OLD.action, OLD.subject, OLD.before, OLD.after)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_in_order AFTER INSERT ON audit
BEGIN UPDATE audit SET redemption = ifnull((SELECT max(row) FROM redemptions), 0) WHERE row = NEW.row; END;

-- As with redemptions.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE row = NEW.row)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_added_to AFTER INSERT ON audit
WHEN NEW.row < 1 OR NEW.row < (SELECT max(row) FROM audit)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

-- The last row that was moved to an archive: readers who have not come so far miss entries. removing is 1 within a
-- transaction that removes archived rows.
CREATE TABLE audit_archived (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    row      INTEGER NOT NULL,
    removing INTEGER NOT NULL
) STRICT;

INSERT INTO audit_archived VALUES (1, 0, 0);

CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
WHEN NOT EXISTS (SELECT 1 FROM audit_archived WHERE removing = 1 AND row >= OLD.row)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

-- Callers know positions in the audit log only encrypted, under this key.
CREATE TABLE cursor_key (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key BLOB NOT NULL
) STRICT;

INSERT INTO cursor_key VALUES (1, randomblob(32));

-- What Ready writes.
CREATE TABLE readiness (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    checked_at INTEGER NOT NULL
) STRICT;
