-- How long a pending redemption of the perk holds its unit, in seconds; null is for ever.
ALTER TABLE perks ADD COLUMN hold_seconds INTEGER;

-- When a redemption that is still pending expires. It follows from the perk as it was when the redemption was made.
ALTER TABLE redemptions ADD COLUMN expires_at INTEGER;

-- What expires next, of all and of a perk.
CREATE INDEX redemptions_expiring ON redemptions (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX redemptions_expiring_of_perk ON redemptions (perk, expires_at)
    WHERE status = 'pending' AND expires_at IS NOT NULL;

CREATE TRIGGER redemptions_keep_their_expiry BEFORE UPDATE OF expires_at ON redemptions
BEGIN SELECT raise(ABORT, 'a redemption is part of the audit log: when it expires stays'); END;
