-- Servers of the version before sort what these served.
DROP INDEX IF EXISTS perks_title_desc, perks_category_desc, perks_merchant_name_desc, perks_city_desc, perks_valid_from_desc, perks_valid_to_desc,
    perks_created_at_desc, perks_updated_at_desc, perks_in_city, perks_in_category, perks_in_cell;
