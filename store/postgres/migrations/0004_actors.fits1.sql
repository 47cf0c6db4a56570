-- Who sat at the client, as the client says: at the redemption, and at the last decision, of which decided_by is the client.
-- Null where nobody was named, and where a program made the decision that does not know these columns.
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS actor text COLLATE "C";
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS decided_by text COLLATE "C";
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS decided_actor text COLLATE "C";

CREATE OR REPLACE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions FOR EACH ROW
    WHEN (NOT (OLD.status = 'pending' AND NEW.status <> 'pending' AND NOT NEW.voided
            OR OLD.status = 'approved' AND NEW.status = 'rejected' AND NEW.voided)
        OR (NEW.id, NEW.perk_id, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata, NEW.arrived,
            NEW.actor)
            IS DISTINCT FROM
            (OLD.id, OLD.perk_id, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata, OLD.arrived,
            OLD.actor))
    EXECUTE FUNCTION redemptions_are_decided_once();

-- Whether the client may say who sits at it.
ALTER TABLE clients ADD COLUMN IF NOT EXISTS actors boolean NOT NULL DEFAULT false;

-- The list of an actor. Redemptions without one pay nothing for it.
CREATE INDEX CONCURRENTLY redemptions_of_actor ON redemptions (actor, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE actor IS NOT NULL;
