-- A voided redemption is rejected, and voided too: whatever asks which redemptions are live need not know of it.
ALTER TABLE redemptions ADD COLUMN voided INTEGER NOT NULL DEFAULT 0;
ALTER TABLE redemptions ADD COLUMN decided_at INTEGER;
ALTER TABLE redemptions ADD COLUMN reason TEXT;

DROP TRIGGER redemptions_are_not_changed;
CREATE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions
WHEN NOT (OLD.status = 'pending' AND NEW.status <> 'pending' AND NEW.voided = 0
        OR OLD.status = 'approved' AND NEW.status = 'rejected' AND NEW.voided = 1)
    OR (NEW.row, NEW.id, NEW.perk, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata)
        IS NOT
        (OLD.row, OLD.id, OLD.perk, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it changes only from pending to decided, and from approved to voided'); END;

-- Lists of redemptions, the newest first. Every redemption writes the first two.
CREATE INDEX redemptions_of_client ON redemptions (client_id, redeemed_at);
CREATE INDEX redemptions_of_perk ON redemptions (perk, redeemed_at);
CREATE INDEX redemptions_not_approved ON redemptions (status, voided, redeemed_at) WHERE status <> 'approved';
CREATE INDEX redemptions_not_approved_of_client ON redemptions (client_id, status, voided, redeemed_at) WHERE status <> 'approved';
CREATE INDEX redemptions_not_approved_of_perk ON redemptions (perk, status, voided, redeemed_at) WHERE status <> 'approved';
DROP INDEX redemptions_pending;
