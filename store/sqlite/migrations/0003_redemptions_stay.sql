-- No rows elsewhere make an exception: they could be moved aside. Resetting a sandbox takes this trigger away while it
-- deletes, and puts it back.
DROP TRIGGER redemptions_stay;

CREATE TRIGGER redemptions_stay BEFORE DELETE ON redemptions
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it is not deleted'); END;
