-- A voided redemption is rejected, and voided too: whatever asks which redemptions are live need not know of it, servers of the version
-- before included.
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS voided boolean NOT NULL DEFAULT false;
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS decided_at timestamptz;
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS reason text;

CREATE OR REPLACE FUNCTION redemptions_are_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a redemption is part of the audit log: it changes only from pending to decided, and from approved to voided'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE OR REPLACE TRIGGER redemptions_are_not_changed BEFORE UPDATE ON redemptions FOR EACH ROW
    WHEN (NOT (OLD.status = 'pending' AND NEW.status <> 'pending' AND NOT NEW.voided
            OR OLD.status = 'approved' AND NEW.status = 'rejected' AND NEW.voided)
        OR (NEW.id, NEW.perk_id, NEW.user_id, NEW.client_id, NEW.redeemed_at, NEW.first_status, NEW.metadata, NEW.arrived)
            IS DISTINCT FROM
            (OLD.id, OLD.perk_id, OLD.user_id, OLD.client_id, OLD.redeemed_at, OLD.first_status, OLD.metadata, OLD.arrived))
    EXECUTE FUNCTION redemptions_are_decided_once();

-- Lists of redemptions, the newest first. Every redemption writes the first two. The expressions keep other statements from using them:
-- whether a user has a perk was looked up among all redemptions of the perk.
CREATE INDEX CONCURRENTLY redemptions_of_client ON redemptions (client_id, (redeemed_at AT TIME ZONE 'UTC'));
CREATE INDEX CONCURRENTLY redemptions_of_perk ON redemptions ((perk_id || ''), (redeemed_at AT TIME ZONE 'UTC'));
CREATE INDEX CONCURRENTLY redemptions_not_approved ON redemptions (status, voided, (redeemed_at AT TIME ZONE 'UTC')) WHERE status <> 'approved';
CREATE INDEX CONCURRENTLY redemptions_not_approved_of_client ON redemptions (client_id, status, voided, (redeemed_at AT TIME ZONE 'UTC')) WHERE status <> 'approved';
CREATE INDEX CONCURRENTLY redemptions_not_approved_of_perk ON redemptions ((perk_id || ''), status, voided, (redeemed_at AT TIME ZONE 'UTC')) WHERE status <> 'approved';
