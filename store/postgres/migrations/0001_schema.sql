-- A column that ends in _fold holds store.Fold of its neighbour: text is sorted and matched by it, byte by byte (COLLATE
-- "C"), so that the order depends neither on the database nor on its locale.

CREATE TABLE perks (
    id                 text COLLATE "C" NOT NULL,
    valid_from         timestamptz,
    valid_to           timestamptz,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    lat                double precision,
    lng                double precision,
    cell               integer, -- store.Cell of lat and lng
    approval           text NOT NULL CHECK (approval IN ('auto', 'manual')),
    title_fold         text COLLATE "C" NOT NULL,
    category_fold      text COLLATE "C",
    merchant_name_fold text COLLATE "C",
    city_fold          text COLLATE "C" NOT NULL,
    title              text NOT NULL,
    category           text, -- the name of a category
    merchant_name      text,
    city               text NOT NULL,
    image_url          text,
    discount_text      text,
    description        text NOT NULL,
    terms              text,
    words              tsvector NOT NULL, -- of title, merchant_name and description, as store.Words splits them
    PRIMARY KEY (id) INCLUDE (valid_to, valid_from)
);

-- One index for each sort key. The id has the direction of the key before it, so it serves both directions. Each also holds
-- the dates, so that a page of ids is found without reading the perks that are skipped, expired or not yet started.
CREATE INDEX perks_title_asc         ON perks (title_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_category_asc      ON perks (category_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_merchant_name_asc ON perks (merchant_name_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_city_asc          ON perks (city_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_valid_from_asc    ON perks (valid_from, id) INCLUDE (valid_to);
CREATE INDEX perks_valid_to_asc      ON perks (valid_to, id) INCLUDE (valid_from);
CREATE INDEX perks_created_at_asc    ON perks (created_at, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_updated_at_asc    ON perks (updated_at, id) INCLUDE (valid_to, valid_from);

-- The filters, with the usual order. A circle on the map is looked up by the cells of its grid.
CREATE INDEX perks_of_city     ON perks (city_fold, created_at, id) INCLUDE (valid_to, valid_from, category_fold);
CREATE INDEX perks_of_category ON perks (category_fold, created_at, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_of_cell     ON perks (cell, created_at, id) INCLUDE (lat, lng, valid_to, valid_from, category_fold)
    WHERE cell IS NOT NULL;
CREATE INDEX perks_with_words  ON perks USING gin (words);

-- What perks are seldom sorted by. PostgreSQL can fold ASCII as store.Fold does, and nothing else: here is store.Fold of
-- the texts that hold more, and null for the others. Lists that are sorted otherwise do not read it.
CREATE TABLE perk_folds (
    perk_id       text COLLATE "C" PRIMARY KEY,
    description   text COLLATE "C",
    image_url     text COLLATE "C",
    discount_text text COLLATE "C",
    terms         text COLLATE "C"
);

-- Apart from perks, because every redemption rewrites it and a perk's row is long. Whoever changes what is held of a perk
-- locks its row here before anything else; the free space in each page keeps new versions of a row on the same page. That
-- works only while no index covers held itself, not even in its condition: sold_out changes only with the last unit.
CREATE TABLE perk_stock (
    perk_id  text COLLATE "C" PRIMARY KEY REFERENCES perks (id),
    stock    bigint, -- units in all; null is without limit
    held     bigint NOT NULL DEFAULT 0 CHECK (held >= 0), -- by redemptions that are not rejected
    sold_out boolean NOT NULL GENERATED ALWAYS AS (coalesce(held >= stock, false)) STORED
) WITH (fillfactor = 70);

-- What nobody can redeem, in lists of what a user can.
CREATE INDEX perk_stock_sold_out ON perk_stock (perk_id) WHERE sold_out;

-- Rises with every change of perks or categories, so that what was counted under a version stays true under it.
CREATE TABLE catalog (
    one     integer PRIMARY KEY CHECK (one = 1),
    version bigint NOT NULL
);

INSERT INTO catalog VALUES (1, 0);

CREATE TABLE categories (
    id        text COLLATE "C" PRIMARY KEY,
    name      text COLLATE "C" NOT NULL,
    name_fold text COLLATE "C" NOT NULL
);

-- The order of all categories, and the filter of perks by a category's name or id.
CREATE INDEX categories_by_name ON categories (name_fold, id);
CREATE INDEX categories_by_folded_id ON categories (lower(id)); -- an id is ASCII, for which this is store.Fold

CREATE TABLE users (
    id text COLLATE "C" PRIMARY KEY
);

-- What refers to perks, users and redemptions here does so without foreign keys: checking those took twice as long as
-- writing the rows, and redeeming has read the perk and the user anyway. The triggers below keep the rows referred to.
--
-- A voided redemption is rejected, and voided too: whatever asks which redemptions are live need not know of it.
CREATE TABLE redemptions (
    id           text COLLATE "C" PRIMARY KEY,
    perk_id      text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    client_id    text COLLATE "C" NOT NULL, -- in a sandbox the clients are in another database
    redeemed_at  timestamptz NOT NULL,
    first_status text COLLATE "C" NOT NULL CHECK (first_status IN ('approved', 'pending')), -- as the first reply showed it
    status       text COLLATE "C" NOT NULL CHECK (status IN ('approved', 'pending', 'rejected')),
    metadata     text NOT NULL, -- JSON as it was given, which json and jsonb would not keep
    arrived      xid8 NOT NULL DEFAULT pg_current_xact_id(), -- as in audit
    voided       boolean NOT NULL DEFAULT false,
    decided_at   timestamptz,
    reason       text
);

-- One index for the redemptions of a user and for the rule that only one of each perk is live, because every redemption
-- writes all indexes. A rejected one is told from others by its id; the others have an empty text, which is not an id. The
-- status is there so that lists of what a user can redeem read the index alone.
CREATE UNIQUE INDEX redemptions_of_user_and_perk
    ON redemptions (user_id, perk_id, (CASE WHEN status = 'rejected' THEN id ELSE '' END)) INCLUDE (status);

-- Lists, the newest first: of all, a client and a perk. The expressions keep other statements from using them: whether a
-- user has a perk was looked up among all redemptions of the perk.
CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, id);
CREATE INDEX redemptions_by_arrival ON redemptions (arrived);
CREATE INDEX redemptions_of_client ON redemptions (client_id, (redeemed_at AT TIME ZONE 'UTC'));
CREATE INDEX redemptions_of_perk ON redemptions ((perk_id || ''), (redeemed_at AT TIME ZONE 'UTC'));

-- The same of those that are not approved, which are few. With the id, which ends every order, an index has the whole order
-- of a list. Without it PostgreSQL sorted all redemptions of a status that had become frequent since the last ANALYZE.
CREATE INDEX redemptions_of_status
    ON redemptions (status, voided, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE status <> 'approved';
CREATE INDEX redemptions_of_client_and_status
    ON redemptions (client_id, status, voided, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE status <> 'approved';
CREATE INDEX redemptions_of_perk_and_status
    ON redemptions ((perk_id || ''), status, voided, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE status <> 'approved';

-- Making a redemption is an entry of the audit log, read from the redemption itself. So it only changes by a decision.
CREATE FUNCTION redemptions_are_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a redemption is part of the audit log: it changes only from pending to decided, and from approved to voided'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions FOR EACH ROW
    WHEN (NOT (OLD.status = 'pending' AND NEW.status <> 'pending' AND NOT NEW.voided
            OR OLD.status = 'approved' AND NEW.status = 'rejected' AND NEW.voided)
        OR (NEW.id, NEW.perk_id, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata, NEW.arrived)
            IS DISTINCT FROM
            (OLD.id, OLD.perk_id, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata, OLD.arrived))
    EXECUTE FUNCTION redemptions_are_decided_once();

-- A key names the creation of a listing, or a redemption.
CREATE TABLE idempotency_keys (
    client_id     text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    fingerprint   bytea NOT NULL,
    redemption_id text COLLATE "C",
    created_at    timestamptz NOT NULL,
    property_id   bigint,
    PRIMARY KEY (client_id, key)
);

-- Old keys are deleted.
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE FUNCTION rows_are_referred_to() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% stay under their ids, because redemptions and idempotency keys refer to them', TG_TABLE_NAME
        USING ERRCODE = 'foreign_key_violation';
END
$$;

CREATE TRIGGER perks_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON perks
    FOR EACH STATEMENT EXECUTE FUNCTION rows_are_referred_to();
CREATE TRIGGER users_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON users
    FOR EACH STATEMENT EXECUTE FUNCTION rows_are_referred_to();
CREATE TRIGGER redemptions_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON redemptions
    FOR EACH STATEMENT EXECUTE FUNCTION rows_are_referred_to();

CREATE TABLE clients (
    id           text COLLATE "C" PRIMARY KEY,
    name         text NOT NULL,
    secret       bytea NOT NULL, -- a hash
    scopes       text NOT NULL, -- separated by spaces
    sandbox_only boolean NOT NULL,
    disabled     boolean NOT NULL,
    created_at   timestamptz NOT NULL
);

CREATE TABLE signing_keys (
    id         text COLLATE "C" PRIMARY KEY,
    secret     bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz
);

-- The last columns follow from the others, and perksd writes them: what lists match and sort by, and audited.
CREATE TABLE properties (
    id          bigint PRIMARY KEY,
    owner       text COLLATE "C" NOT NULL REFERENCES clients (id),
    title       text NOT NULL,
    description text NOT NULL,
    address     text NOT NULL,
    city        text NOT NULL,
    postcode    text NOT NULL,
    images      text[] NOT NULL,
    price_pw    text NOT NULL, -- its digits as given
    bedrooms    bigint NOT NULL,
    bathrooms   bigint NOT NULL,
    lat         double precision,
    lng         double precision,
    deposit     double precision NOT NULL,
    city_fold   text COLLATE "C" NOT NULL, -- store.Fold of the city without outer blanks
    words       tsvector NOT NULL, -- of title, description, address, city and postcode, as store.Words splits them
    price_key   text COLLATE "C" NOT NULL, -- api.Price.SortKey
    word_bits   bigint NOT NULL, -- store.wordBits of the words
    -- The digest of the record that the listing's last entry in the audit log leaves, and a byte: the number of updates
    -- since the last entry with a whole record. If the listing has another record, something without an entry of its own
    -- has changed it, such as an import.
    audited     bytea
);

-- An index for each order of all listings, a client's and a city's, and of those of them with one number of bedrooms. The
-- last columns are for filters: they spare reading the listings. By their bits, they tell most listings that lack a word.
CREATE INDEX properties_listed_by_id                          ON properties (id) INCLUDE (bedrooms, price_key, word_bits);
CREATE INDEX properties_listed_by_price                       ON properties (price_key, id) INCLUDE (bedrooms, word_bits);
CREATE INDEX properties_listed_by_bedrooms                    ON properties (bedrooms, id) INCLUDE (price_key, word_bits);
CREATE INDEX properties_listed_by_bedrooms_and_price          ON properties (bedrooms, price_key, id) INCLUDE (word_bits);
CREATE INDEX properties_listed_of_owner                       ON properties (owner, id) INCLUDE (bedrooms, price_key, word_bits);
CREATE INDEX properties_listed_of_owner_by_price              ON properties (owner, price_key, id) INCLUDE (bedrooms, word_bits);
CREATE INDEX properties_listed_of_owner_by_bedrooms           ON properties (owner, bedrooms, id) INCLUDE (price_key, word_bits);
CREATE INDEX properties_listed_of_owner_by_bedrooms_and_price ON properties (owner, bedrooms, price_key, id) INCLUDE (word_bits);
CREATE INDEX properties_listed_of_city                        ON properties (city_fold, id) INCLUDE (bedrooms, price_key, word_bits);
CREATE INDEX properties_listed_of_city_by_price               ON properties (city_fold, price_key, id) INCLUDE (bedrooms, word_bits);
CREATE INDEX properties_listed_of_city_by_bedrooms            ON properties (city_fold, bedrooms, id) INCLUDE (price_key, word_bits);
CREATE INDEX properties_listed_of_city_by_bedrooms_and_price  ON properties (city_fold, bedrooms, price_key, id) INCLUDE (word_bits);
CREATE INDEX properties_with_words                            ON properties USING gin (words);

-- The highest id of a deleted listing: a new one never has the id of another.
CREATE TABLE deleted_properties (
    one  integer PRIMARY KEY CHECK (one = 1),
    last bigint NOT NULL
);

INSERT INTO deleted_properties VALUES (1, 0);

CREATE FUNCTION property_ids_are_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE deleted_properties SET last = OLD.id WHERE last < OLD.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER properties_keep_their_ids AFTER DELETE ON properties
    FOR EACH ROW EXECUTE FUNCTION property_ids_are_kept();

-- Whoever follows the audit log asks again and again for what was committed since the last time. Numbers and times are given
-- out before a commit, and commits come in another order: only arrived, the number of the transaction, beside a snapshot of
-- the last time, says exactly what is new.
CREATE TABLE audit (
    entry   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text COLLATE "C" NOT NULL,
    before  text, -- JSON
    after   text, -- JSON
    arrived xid8 NOT NULL DEFAULT pg_current_xact_id()
);

-- What followers read, and the filters, each with the order of time.
CREATE INDEX audit_by_arrival ON audit (arrived);
CREATE INDEX audit_by_time ON audit (at, entry);
CREATE INDEX audit_by_subject ON audit (subject, at, entry);
CREATE INDEX audit_by_actor ON audit (actor COLLATE "C", at, entry);
CREATE INDEX audit_by_action ON audit (action COLLATE "C", at, entry);

-- perksd sets perks.archiving within a transaction that removes archived rows.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('perks.archiving', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only';
END
$$;

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- The last transaction of the rows that were moved to an archive: readers whose snapshot does not include it miss entries.
CREATE TABLE audit_archived (
    one     integer PRIMARY KEY CHECK (one = 1),
    arrived xid8 NOT NULL
);

INSERT INTO audit_archived VALUES (1, '0');

-- Callers know positions in the audit log only encrypted, under this key. The function is the source of random numbers
-- that needs no extension.
CREATE TABLE cursor_key (
    one integer PRIMARY KEY CHECK (one = 1),
    key bytea NOT NULL
);

INSERT INTO cursor_key VALUES (1, decode(replace(concat(gen_random_uuid(), gen_random_uuid()), '-', ''), 'hex'));

-- What Ready writes.
CREATE TABLE readiness (
    one        integer PRIMARY KEY CHECK (one = 1),
    checked_at timestamptz NOT NULL
);
