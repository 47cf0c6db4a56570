-- The id has the direction of the key before it, so an index serves both directions of its order.
DROP INDEX perks_title_desc;
DROP INDEX perks_category_desc;
DROP INDEX perks_merchant_name_desc;
DROP INDEX perks_city_desc;
DROP INDEX perks_valid_from_desc;
DROP INDEX perks_valid_to_desc;
DROP INDEX perks_created_at_desc;
DROP INDEX perks_updated_at_desc;

DROP INDEX perks_in_city;
DROP INDEX perks_in_category;
DROP INDEX perks_in_cell;
CREATE INDEX perks_in_city     ON perks (city_fold, created_at, id, valid_to, category_fold);
CREATE INDEX perks_in_category ON perks (category_fold, created_at, id, valid_to);
CREATE INDEX perks_in_cell     ON perks (cell, created_at, id, lat, lng, valid_to, valid_from, category_fold)
    WHERE cell IS NOT NULL;
