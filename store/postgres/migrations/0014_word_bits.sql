-- Bits of the words that a listing has (store.wordBits). The next migration adds them to the indexes of lists, which then tell most listings
-- that lack a word without reading them. They are null while the other keys are unknown, and where a server of a version before has changed
-- the words; those listings get them before the next list.
ALTER TABLE properties ADD COLUMN IF NOT EXISTS word_bits bigint;

CREATE OR REPLACE FUNCTION property_keys_are_unknown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.city_fold := NULL;
    NEW.words := NULL;
    NEW.price_key := NULL;
    NEW.word_bits := NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION property_word_bits_are_unknown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.word_bits := NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER properties_lose_their_word_bits BEFORE UPDATE OF words ON properties FOR EACH ROW
    WHEN (NEW.words IS DISTINCT FROM OLD.words AND NEW.word_bits IS NOT DISTINCT FROM OLD.word_bits)
    EXECUTE FUNCTION property_word_bits_are_unknown();
