-- Replaced by the indexes that end in the id.
DROP INDEX IF EXISTS redemptions_not_approved, redemptions_not_approved_of_client, redemptions_not_approved_of_perk;
