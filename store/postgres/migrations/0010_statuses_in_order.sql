-- With the id, which ends every order, an index has the whole order of a list. Without it PostgreSQL sorted all redemptions of a status that
-- had become frequent since the last ANALYZE.
CREATE INDEX CONCURRENTLY redemptions_of_status ON redemptions (status, voided, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE status <> 'approved';
CREATE INDEX CONCURRENTLY redemptions_of_client_and_status ON redemptions (client_id, status, voided, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE status <> 'approved';
CREATE INDEX CONCURRENTLY redemptions_of_perk_and_status ON redemptions ((perk_id || ''), status, voided, (redeemed_at AT TIME ZONE 'UTC'), id) WHERE status <> 'approved';
