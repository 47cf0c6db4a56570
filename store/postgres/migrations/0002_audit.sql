-- Servers of the version before may be at work. Who decides a redemption locks these tables in this order; in the other one
-- both would wait in a circle.
LOCK TABLE redemptions IN ACCESS EXCLUSIVE MODE;
LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;

-- Who follows the audit log asks again and again for what was committed since the last time. Numbers and times are given
-- out before a commit, and commits come in another order: only the number of the transaction, beside a snapshot of the
-- last time, says exactly what is new. Rows from before have none, and are never new.
ALTER TABLE audit ADD COLUMN IF NOT EXISTS arrived xid8;
ALTER TABLE audit ALTER COLUMN arrived SET DEFAULT pg_current_xact_id();
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS arrived xid8;
ALTER TABLE redemptions ALTER COLUMN arrived SET DEFAULT pg_current_xact_id();

-- Making a redemption is an entry of the audit log, read from the redemption itself.
CREATE OR REPLACE FUNCTION redemptions_are_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a redemption is part of the audit log: only its status changes, and only from pending'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE OR REPLACE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions FOR EACH ROW
    WHEN (OLD.status <> 'pending' OR NEW.status = 'pending'
        OR (NEW.id, NEW.perk_id, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata, NEW.arrived)
            IS DISTINCT FROM
            (OLD.id, OLD.perk_id, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata, OLD.arrived))
    EXECUTE FUNCTION redemptions_are_decided_once();

-- A line that begins so is a statement by itself, after all others and outside of their transaction.
CREATE INDEX CONCURRENTLY audit_by_arrival ON audit (arrived);
CREATE INDEX CONCURRENTLY redemptions_by_arrival ON redemptions (arrived);
CREATE INDEX CONCURRENTLY audit_by_actor ON audit (actor COLLATE "C", at, entry);
CREATE INDEX CONCURRENTLY audit_by_action ON audit (action COLLATE "C", at, entry);
