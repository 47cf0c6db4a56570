-- The id has the direction of the key before it, so an index serves both directions of its order. Those that it makes
-- superfluous are dropped in the next migration, when these exist.
CREATE INDEX CONCURRENTLY perks_of_city     ON perks (city_fold, created_at, id) INCLUDE (valid_to, valid_from, category_fold);
CREATE INDEX CONCURRENTLY perks_of_category ON perks (category_fold, created_at, id) INCLUDE (valid_to, valid_from);
CREATE INDEX CONCURRENTLY perks_of_cell     ON perks (cell, created_at, id) INCLUDE (lat, lng, valid_to, valid_from, category_fold) WHERE cell IS NOT NULL;
