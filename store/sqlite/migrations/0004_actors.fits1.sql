-- Who sat at the client, as the client says: at the redemption, and at the last decision, of which decided_by is the client.
-- Null where nobody was named, and where a program made the decision that does not know these columns.
ALTER TABLE redemptions ADD COLUMN actor TEXT;
ALTER TABLE redemptions ADD COLUMN decided_by TEXT;
ALTER TABLE redemptions ADD COLUMN decided_actor TEXT;

-- The list of an actor. Redemptions without one pay nothing for it.
CREATE INDEX redemptions_of_actor ON redemptions (actor, redeemed_at) WHERE actor IS NOT NULL;

DROP TRIGGER redemptions_are_not_changed;

CREATE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions
WHEN NOT (OLD.status = 'pending' AND NEW.status <> 'pending' AND NEW.voided = 0
        OR OLD.status = 'approved' AND NEW.status = 'rejected' AND NEW.voided = 1)
    OR (NEW.row, NEW.id, NEW.perk, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata, NEW.actor)
        IS NOT
        (OLD.row, OLD.id, OLD.perk, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata, OLD.actor)
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: it changes only from pending to decided, and from approved to voided'); END;

-- Whether the client may say who sits at it.
ALTER TABLE clients ADD COLUMN actors INTEGER NOT NULL DEFAULT 0 CHECK (actors IN (0, 1));
