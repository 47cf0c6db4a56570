-- How long a pending redemption of the perk holds its unit, in seconds; null is for ever.
ALTER TABLE perks ADD COLUMN IF NOT EXISTS hold_seconds bigint;

-- When a redemption that is still pending expires. It follows from the perk as it was when the redemption was made.
ALTER TABLE redemptions ADD COLUMN IF NOT EXISTS expires_at timestamptz;

CREATE OR REPLACE TRIGGER redemptions_keep_their_expiry BEFORE UPDATE OF expires_at ON redemptions
    FOR EACH ROW EXECUTE FUNCTION redemptions_are_decided_once();

-- What expires next, of all and of a perk.
CREATE INDEX CONCURRENTLY redemptions_expiring ON redemptions (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY redemptions_expiring_of_perk ON redemptions (perk_id, expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
