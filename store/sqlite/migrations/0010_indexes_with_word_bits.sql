-- An index for each order of all listings, a client's and a city's, and of those of them with one number of bedrooms. The last columns are for
-- filters: they spare reading the listings. By their bits, they tell most listings that lack a word.
CREATE INDEX properties_by_id                          ON properties (id, bedrooms, price_key, word_bits);
CREATE INDEX properties_by_price                       ON properties (price_key, id, bedrooms, word_bits);
CREATE INDEX properties_by_bedrooms                    ON properties (bedrooms, id, price_key, word_bits);
CREATE INDEX properties_by_bedrooms_and_price          ON properties (bedrooms, price_key, id, word_bits);
CREATE INDEX properties_of_owner                       ON properties (owner, id, bedrooms, price_key, word_bits);
CREATE INDEX properties_of_owner_by_price              ON properties (owner, price_key, id, bedrooms, word_bits);
CREATE INDEX properties_of_owner_by_bedrooms           ON properties (owner, bedrooms, id, price_key, word_bits);
CREATE INDEX properties_of_owner_by_bedrooms_and_price ON properties (owner, bedrooms, price_key, id, word_bits);
CREATE INDEX properties_of_city                        ON properties (city_fold, id, bedrooms, price_key, word_bits);
CREATE INDEX properties_of_city_by_price               ON properties (city_fold, price_key, id, bedrooms, word_bits);
CREATE INDEX properties_of_city_by_bedrooms            ON properties (city_fold, bedrooms, id, price_key, word_bits);
CREATE INDEX properties_of_city_by_bedrooms_and_price  ON properties (city_fold, bedrooms, price_key, id, word_bits);
CREATE INDEX properties_without_keys                   ON properties (id) WHERE word_bits IS NULL;
