-- The last redemption when the entry was added, which gives the order of commits of both. Entries from before have none.
ALTER TABLE audit ADD COLUMN redemption INTEGER;

DROP TRIGGER audit_is_not_changed;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
WHEN OLD.redemption IS NOT NULL
    OR (NEW.row, NEW.at, NEW.actor, NEW.action, NEW.subject, NEW.before, NEW.after) IS NOT (OLD.row, OLD.at, OLD.actor, OLD.action, OLD.subject, OLD.before, OLD.after)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_in_order AFTER INSERT ON audit
BEGIN UPDATE audit SET redemption = ifnull((SELECT max(row) FROM redemptions), 0) WHERE row = NEW.row; END;
