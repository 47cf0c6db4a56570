-- Replaced by redemptions_of_user_and_perk.
DROP INDEX IF EXISTS redemptions_live, redemptions_of_user;
