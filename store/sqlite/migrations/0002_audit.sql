CREATE INDEX audit_by_actor ON audit (actor, at, row);
CREATE INDEX audit_by_action ON audit (action, at, row);

-- REPLACE deletes conflicting rows without firing the triggers of deletion. New entries come last, which is also how
-- followers of the log recognise them.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE row = NEW.row)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_added_to AFTER INSERT ON audit
WHEN NEW.row < 1 OR NEW.row < (SELECT max(row) FROM audit)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

-- Making a redemption is an entry of the audit log, read from the redemption itself.
CREATE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions
WHEN OLD.status <> 'pending' OR NEW.status = 'pending'
    OR (NEW.row, NEW.id, NEW.perk, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata)
        IS NOT
        (OLD.row, OLD.id, OLD.perk, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: only its status changes, and only from pending'); END;

CREATE TRIGGER redemptions_are_not_replaced BEFORE INSERT ON redemptions
WHEN EXISTS (SELECT 1 FROM redemptions WHERE row = NEW.row OR id = NEW.id)
    OR NEW.status <> 'rejected' AND EXISTS (
        SELECT 1 FROM redemptions WHERE user_id = NEW.user_id AND perk = NEW.perk AND status <> 'rejected')
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it is not replaced'); END;

CREATE TRIGGER redemptions_are_added AFTER INSERT ON redemptions
WHEN NEW.row < 1 OR NEW.row < (SELECT max(row) FROM redemptions)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: new ones come last'); END;

-- Only a sandbox has neither clients nor signing keys; resetting it forgets its redemptions.
CREATE TRIGGER redemptions_stay BEFORE DELETE ON redemptions
WHEN EXISTS (SELECT 1 FROM clients) OR EXISTS (SELECT 1 FROM signing_keys)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it is not deleted'); END;
