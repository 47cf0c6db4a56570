-- Bits of the words that a listing has (store.wordBits), which perksd derives with the other keys. The next migration makes the indexes again
-- with them, when all listings have them.
ALTER TABLE properties ADD COLUMN word_bits INTEGER;

DROP INDEX properties_by_id;
DROP INDEX properties_by_price;
DROP INDEX properties_by_bedrooms;
DROP INDEX properties_by_bedrooms_and_price;
DROP INDEX properties_of_owner;
DROP INDEX properties_of_owner_by_price;
DROP INDEX properties_of_owner_by_bedrooms;
DROP INDEX properties_of_city;
DROP INDEX properties_of_city_by_price;
DROP INDEX properties_of_city_by_bedrooms;
DROP INDEX properties_without_keys;
