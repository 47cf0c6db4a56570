-- What lists of properties match and sort by. city_fold is store.Fold of the city without outer blanks, words are those of title,
-- description, address, city and postcode, as store.Words splits them: 'one' 'two', and price_key is api.Price.SortKey. perksd derives them
-- while it writes a listing, and where they are null before the next list.
ALTER TABLE properties ADD COLUMN city_fold TEXT;
ALTER TABLE properties ADD COLUMN words TEXT;
ALTER TABLE properties ADD COLUMN price_key TEXT;

-- An index for each order of all listings, a client's and a city's. The last columns are for filters: they spare reading the listings.
CREATE INDEX properties_by_id                 ON properties (id, bedrooms, price_key);
CREATE INDEX properties_by_price              ON properties (price_key, id, bedrooms);
CREATE INDEX properties_by_bedrooms           ON properties (bedrooms, id, price_key);
CREATE INDEX properties_by_bedrooms_and_price ON properties (bedrooms, price_key, id);
CREATE INDEX properties_of_owner              ON properties (owner, id, bedrooms, price_key);
CREATE INDEX properties_of_owner_by_price     ON properties (owner, price_key, id, bedrooms);
CREATE INDEX properties_of_owner_by_bedrooms  ON properties (owner, bedrooms, id, price_key);
CREATE INDEX properties_of_city               ON properties (city_fold, id, bedrooms, price_key);
CREATE INDEX properties_of_city_by_price      ON properties (city_fold, price_key, id, bedrooms);
CREATE INDEX properties_of_city_by_bedrooms   ON properties (city_fold, bedrooms, id, price_key);
CREATE INDEX properties_without_keys          ON properties (id) WHERE words IS NULL;

-- rowid is properties.id. To the tokenizer, the quotes only separate words.
CREATE VIRTUAL TABLE property_words USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none, prefix = '1 2 3'
);

CREATE TRIGGER properties_add_words AFTER INSERT ON properties WHEN NEW.words IS NOT NULL
BEGIN INSERT INTO property_words (rowid, words) VALUES (NEW.id, NEW.words); END;

CREATE TRIGGER properties_change_words AFTER UPDATE OF words ON properties WHEN NEW.words IS NOT OLD.words
BEGIN
    DELETE FROM property_words WHERE rowid = OLD.id;
    INSERT INTO property_words (rowid, words) SELECT NEW.id, NEW.words WHERE NEW.words IS NOT NULL;
END;

-- The highest id of a deleted listing: a new one never has the id of another.
CREATE TABLE deleted_properties (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO deleted_properties
    SELECT 1, ifnull(max(CAST(substr(subject, 10) AS INTEGER)), 0) FROM audit WHERE action = 'property.delete';

CREATE TRIGGER properties_leave AFTER DELETE ON properties
BEGIN
    DELETE FROM property_words WHERE rowid = OLD.id;
    UPDATE deleted_properties SET last = OLD.id WHERE last < OLD.id;
END;

-- A key names the creation of a listing, or a redemption.
CREATE TABLE new_idempotency_keys (
    client_id   TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    redemption  INTEGER REFERENCES redemptions (row),
    created_at  INTEGER NOT NULL,
    property_id INTEGER,
    PRIMARY KEY (client_id, key)
) STRICT, WITHOUT ROWID;

INSERT INTO new_idempotency_keys (client_id, key, fingerprint, redemption, created_at)
    SELECT client_id, key, fingerprint, redemption, created_at FROM idempotency_keys;
DROP TABLE idempotency_keys;
ALTER TABLE new_idempotency_keys RENAME TO idempotency_keys;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
