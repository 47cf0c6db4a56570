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

-- One index for each sort key and direction, because the id is ascending and nulls are last in both. Each also holds the
-- dates, so that a page of ids is found without reading the perks that are skipped, expired or not yet started.
CREATE INDEX perks_title_asc          ON perks (title_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_title_desc         ON perks (title_fold DESC, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_category_asc       ON perks (category_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_category_desc      ON perks (category_fold DESC NULLS LAST, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_merchant_name_asc  ON perks (merchant_name_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_merchant_name_desc ON perks (merchant_name_fold DESC NULLS LAST, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_city_asc           ON perks (city_fold, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_city_desc          ON perks (city_fold DESC, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_valid_from_asc     ON perks (valid_from, id) INCLUDE (valid_to);
CREATE INDEX perks_valid_from_desc    ON perks (valid_from DESC NULLS LAST, id) INCLUDE (valid_to);
CREATE INDEX perks_valid_to_asc       ON perks (valid_to, id) INCLUDE (valid_from);
CREATE INDEX perks_valid_to_desc      ON perks (valid_to DESC NULLS LAST, id) INCLUDE (valid_from);
CREATE INDEX perks_created_at_asc     ON perks (created_at, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_created_at_desc    ON perks (created_at DESC, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_updated_at_asc     ON perks (updated_at, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_updated_at_desc    ON perks (updated_at DESC, id) INCLUDE (valid_to, valid_from);

-- The filters, with the usual order. A circle on the map is looked up by the cells of its grid.
CREATE INDEX perks_in_city     ON perks (city_fold, created_at DESC, id) INCLUDE (valid_to, valid_from, category_fold);
CREATE INDEX perks_in_category ON perks (category_fold, created_at DESC, id) INCLUDE (valid_to, valid_from);
CREATE INDEX perks_in_cell     ON perks (cell, created_at DESC, id) INCLUDE (lat, lng, valid_to, valid_from, category_fold)
    WHERE cell IS NOT NULL;
CREATE INDEX perks_with_words  ON perks USING gin (words);

-- Apart from perks, because every redemption rewrites it and a perk's row is long. Whoever changes what is held of a perk
-- locks its row here before anything else; the free space in each page keeps new versions of a row on the same page. That
-- works only while no index covers held itself, not even in its condition: sold_out changes only with the last unit.
CREATE TABLE perk_stock (
    perk_id  text COLLATE "C" PRIMARY KEY REFERENCES perks (id),
    stock    bigint, -- units in all; null is without limit
    held     bigint NOT NULL DEFAULT 0 CHECK (held >= 0), -- by redemptions that are not rejected
    sold_out boolean NOT NULL GENERATED ALWAYS AS (coalesce(held >= stock, false)) STORED
) WITH (fillfactor = 70);

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

CREATE INDEX categories_by_name ON categories (name_fold, id);
CREATE INDEX categories_by_folded_id ON categories (lower(id)); -- an id is ASCII, for which this is store.Fold

CREATE TABLE users (
    id text COLLATE "C" PRIMARY KEY
);

-- What refers to perks, users and redemptions here does so without foreign keys: checking those took twice as long as writing
-- the rows, and redeeming has read the perk and the user anyway. That they stay is seen to from the other side, below.
CREATE TABLE redemptions (
    id           text COLLATE "C" PRIMARY KEY,
    perk_id      text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    client_id    text COLLATE "C" NOT NULL, -- in a sandbox the clients are in another database
    redeemed_at  timestamptz NOT NULL,
    first_status text COLLATE "C" NOT NULL CHECK (first_status IN ('approved', 'pending')), -- as the first answer showed it
    status       text COLLATE "C" NOT NULL CHECK (status IN ('approved', 'pending', 'rejected')),
    metadata     text NOT NULL -- JSON as it was given, which json and jsonb would not keep
);

CREATE UNIQUE INDEX redemptions_live ON redemptions (user_id, perk_id) WHERE status <> 'rejected';
CREATE INDEX redemptions_of_user ON redemptions (user_id, redeemed_at, id);
CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, id);
CREATE INDEX redemptions_pending ON redemptions (id) WHERE status = 'pending';

CREATE TABLE idempotency_keys (
    client_id     text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    fingerprint   bytea NOT NULL,
    redemption_id text COLLATE "C" NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (client_id, key)
);

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
    deposit     double precision NOT NULL
);

CREATE TABLE audit (
    entry   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text COLLATE "C" NOT NULL,
    before  text, -- JSON
    after   text  -- JSON
);

CREATE INDEX audit_by_time ON audit (at, entry);
CREATE INDEX audit_by_subject ON audit (subject, at, entry);

CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END
$$;

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- What Ready writes.
CREATE TABLE readiness (
    one        integer PRIMARY KEY CHECK (one = 1),
    checked_at timestamptz NOT NULL
);
