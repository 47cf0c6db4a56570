-- An index for each order of all listings, a client's and a city's. The expression is api.Price.SortKey.
CREATE INDEX CONCURRENTLY properties_by_price ON properties (((lpad((strpos(price_pw || '.', '.') - 1)::text, 2, '0') || CASE WHEN strpos(price_pw, '.') = 0 THEN price_pw ELSE rtrim(rtrim(price_pw, '0'), '.') END) COLLATE "C"), id);
CREATE INDEX CONCURRENTLY properties_by_bedrooms ON properties (bedrooms, id);
CREATE INDEX CONCURRENTLY properties_by_bedrooms_and_price ON properties (bedrooms, ((lpad((strpos(price_pw || '.', '.') - 1)::text, 2, '0') || CASE WHEN strpos(price_pw, '.') = 0 THEN price_pw ELSE rtrim(rtrim(price_pw, '0'), '.') END) COLLATE "C"), id);
CREATE INDEX CONCURRENTLY properties_of_owner ON properties (owner, id);
CREATE INDEX CONCURRENTLY properties_of_owner_by_price ON properties (owner, ((lpad((strpos(price_pw || '.', '.') - 1)::text, 2, '0') || CASE WHEN strpos(price_pw, '.') = 0 THEN price_pw ELSE rtrim(rtrim(price_pw, '0'), '.') END) COLLATE "C"), id);
CREATE INDEX CONCURRENTLY properties_of_owner_by_bedrooms ON properties (owner, bedrooms, id);
CREATE INDEX CONCURRENTLY properties_of_city ON properties (city_fold, id);
CREATE INDEX CONCURRENTLY properties_of_city_by_price ON properties (city_fold, ((lpad((strpos(price_pw || '.', '.') - 1)::text, 2, '0') || CASE WHEN strpos(price_pw, '.') = 0 THEN price_pw ELSE rtrim(rtrim(price_pw, '0'), '.') END) COLLATE "C"), id);
CREATE INDEX CONCURRENTLY properties_of_city_by_bedrooms ON properties (city_fold, bedrooms, id);
CREATE INDEX CONCURRENTLY properties_with_words ON properties USING gin (words);
CREATE INDEX CONCURRENTLY properties_without_keys ON properties (id) WHERE words IS NULL;
