-- An index for each order of all listings, a client's and a city's. The last columns are for filters: they spare reading the listings.
CREATE INDEX CONCURRENTLY properties_by_id ON properties (id) INCLUDE (bedrooms, price_key);
CREATE INDEX CONCURRENTLY properties_by_price ON properties (price_key, id) INCLUDE (bedrooms);
CREATE INDEX CONCURRENTLY properties_by_bedrooms ON properties (bedrooms, id) INCLUDE (price_key);
CREATE INDEX CONCURRENTLY properties_by_bedrooms_and_price ON properties (bedrooms, price_key, id);
CREATE INDEX CONCURRENTLY properties_of_owner ON properties (owner, id) INCLUDE (bedrooms, price_key);
CREATE INDEX CONCURRENTLY properties_of_owner_by_price ON properties (owner, price_key, id) INCLUDE (bedrooms);
CREATE INDEX CONCURRENTLY properties_of_owner_by_bedrooms ON properties (owner, bedrooms, id) INCLUDE (price_key);
CREATE INDEX CONCURRENTLY properties_of_city ON properties (city_fold, id) INCLUDE (bedrooms, price_key);
CREATE INDEX CONCURRENTLY properties_of_city_by_price ON properties (city_fold, price_key, id) INCLUDE (bedrooms);
CREATE INDEX CONCURRENTLY properties_of_city_by_bedrooms ON properties (city_fold, bedrooms, id) INCLUDE (price_key);
CREATE INDEX CONCURRENTLY properties_with_words ON properties USING gin (words);
CREATE INDEX CONCURRENTLY properties_without_keys ON properties (id) WHERE words IS NULL;
