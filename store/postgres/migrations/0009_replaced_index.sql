-- Replaced by redemptions_not_approved.
DROP INDEX IF EXISTS redemptions_pending;
