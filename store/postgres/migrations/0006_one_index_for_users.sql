-- One index for the redemptions of a user and for the rule that only one of each perk is live, because every redemption
-- writes all indexes. A rejected one is told from others by its id; the others have an empty text, which is no id.
-- The status is there so that lists of what a user can redeem read the index alone.
-- Servers of the version before use it too, as soon as the next migration removes what it replaces.
CREATE UNIQUE INDEX CONCURRENTLY redemptions_of_user_and_perk ON redemptions (user_id, perk_id, (CASE WHEN status = 'rejected' THEN id ELSE '' END)) INCLUDE (status);
