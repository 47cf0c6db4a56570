-- What lists of properties match and PostgreSQL cannot derive: city_fold is store.Fold of the city without outer blanks, and words are
-- those of title, description, address, city and postcode, as store.Words splits them. perksd derives both while it writes a listing.
-- Servers of the version before do not: what they write has null here, and is derived before the next list that needs it.
ALTER TABLE properties ADD COLUMN IF NOT EXISTS city_fold text COLLATE "C";
ALTER TABLE properties ADD COLUMN IF NOT EXISTS words tsvector;

CREATE OR REPLACE FUNCTION property_keys_are_unknown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.city_fold := NULL;
    NEW.words := NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER properties_lose_their_keys BEFORE UPDATE ON properties FOR EACH ROW
    WHEN ((NEW.title, NEW.description, NEW.address, NEW.city, NEW.postcode)
            IS DISTINCT FROM (OLD.title, OLD.description, OLD.address, OLD.city, OLD.postcode)
        AND (NEW.city_fold, NEW.words) IS NOT DISTINCT FROM (OLD.city_fold, OLD.words))
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
