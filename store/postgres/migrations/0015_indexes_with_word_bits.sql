-- An index for each order of all listings, a client's and a city's, and of those of them with one number of bedrooms. The last columns are for
-- filters: they spare reading the listings.
CREATE INDEX CONCURRENTLY properties_listed_by_id ON properties (id) INCLUDE (bedrooms, price_key, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_by_price ON properties (price_key, id) INCLUDE (bedrooms, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_by_bedrooms ON properties (bedrooms, id) INCLUDE (price_key, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_by_bedrooms_and_price ON properties (bedrooms, price_key, id) INCLUDE (word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_owner ON properties (owner, id) INCLUDE (bedrooms, price_key, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_owner_by_price ON properties (owner, price_key, id) INCLUDE (bedrooms, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_owner_by_bedrooms ON properties (owner, bedrooms, id) INCLUDE (price_key, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_owner_by_bedrooms_and_price ON properties (owner, bedrooms, price_key, id) INCLUDE (word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_city ON properties (city_fold, id) INCLUDE (bedrooms, price_key, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_city_by_price ON properties (city_fold, price_key, id) INCLUDE (bedrooms, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_city_by_bedrooms ON properties (city_fold, bedrooms, id) INCLUDE (price_key, word_bits);
CREATE INDEX CONCURRENTLY properties_listed_of_city_by_bedrooms_and_price ON properties (city_fold, bedrooms, price_key, id) INCLUDE (word_bits);
CREATE INDEX CONCURRENTLY properties_without_word_bits ON properties (id) WHERE word_bits IS NULL;
