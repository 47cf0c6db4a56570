-- The entry of the audit log that has the first reply, if that is a restored listing.
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS entry bigint;

-- The history of a listing, in the order of commits. The time is there to find what the listing was at a moment.
CREATE INDEX CONCURRENTLY audit_of_property ON audit (subject, entry) INCLUDE (at) WHERE subject >= 'property/' AND subject < 'property0';
