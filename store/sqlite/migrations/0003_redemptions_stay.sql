-- No exception depends on rows of other tables, because those could be moved. Resetting a sandbox drops this trigger
-- while it deletes, and creates it again.
DROP TRIGGER redemptions_stay;

CREATE TRIGGER redemptions_stay BEFORE DELETE ON redemptions
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it is not deleted'); END;
