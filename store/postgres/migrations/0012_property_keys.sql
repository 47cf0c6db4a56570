-- What lists of properties match and sort by, and PostgreSQL cannot derive: city_fold is store.Fold of the city without outer blanks, words
-- are those of title, description, address, city and postcode, as store.Words splits them, and price_key is api.Price.SortKey. perksd derives
-- them while it writes a listing. Servers of the version before do not: what they write has null here, and is derived before the next list.
ALTER TABLE properties ADD COLUMN IF NOT EXISTS city_fold text COLLATE "C";
ALTER TABLE properties ADD COLUMN IF NOT EXISTS words tsvector;
ALTER TABLE properties ADD COLUMN IF NOT EXISTS price_key text COLLATE "C";

CREATE OR REPLACE FUNCTION property_keys_are_unknown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.city_fold := NULL;
    NEW.words := NULL;
    NEW.price_key := NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER properties_lose_their_keys BEFORE UPDATE ON properties FOR EACH ROW
    WHEN ((NEW.title, NEW.description, NEW.address, NEW.city, NEW.postcode, NEW.price_pw)
            IS DISTINCT FROM (OLD.title, OLD.description, OLD.address, OLD.city, OLD.postcode, OLD.price_pw)
        AND (NEW.city_fold, NEW.words, NEW.price_key) IS NOT DISTINCT FROM (OLD.city_fold, OLD.words, OLD.price_key))
    EXECUTE FUNCTION property_keys_are_unknown();

-- The highest id of a deleted listing: a new one never has the id of another.
CREATE TABLE IF NOT EXISTS deleted_properties (
    one  integer PRIMARY KEY CHECK (one = 1),
    last bigint NOT NULL
);

INSERT INTO deleted_properties
    SELECT 1, coalesce(max(substr(subject, 10)::bigint), 0) FROM audit WHERE action COLLATE "C" = 'property.delete'
    ON CONFLICT (one) DO NOTHING;

CREATE OR REPLACE FUNCTION property_ids_are_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE deleted_properties SET last = OLD.id WHERE last < OLD.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER properties_keep_their_ids AFTER DELETE ON properties FOR EACH ROW EXECUTE FUNCTION property_ids_are_kept();

-- A key names the creation of a listing, or a redemption. Servers of the version before refuse such a key, because its fingerprint differs.
ALTER TABLE idempotency_keys ALTER COLUMN redemption_id DROP NOT NULL;
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS property_id bigint;
