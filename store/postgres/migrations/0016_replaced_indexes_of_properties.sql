-- Replaced by the indexes with bits of the words.
DROP INDEX IF EXISTS properties_by_id, properties_by_price, properties_by_bedrooms, properties_by_bedrooms_and_price,
    properties_of_owner, properties_of_owner_by_price, properties_of_owner_by_bedrooms,
    properties_of_city, properties_of_city_by_price, properties_of_city_by_bedrooms, properties_without_keys;
