-- The entry of the audit log that has the first reply, if that is a restored listing.
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS entry bigint;

-- What imports made of each listing, beside audit: its readers need the entry of the import alone, and an import writes no
-- more than one index. The numbers are those of audit, and an import takes them after it has locked the listing: so the
-- entries of a listing in both tables are in the order of commits.
CREATE TABLE IF NOT EXISTS imported_properties (
    entry   bigint NOT NULL,
    at      timestamptz NOT NULL,
    actor   text NOT NULL,
    property bigint NOT NULL,
    before  text,          -- JSON of the fields that the import changed; null if it created the listing
    after   text NOT NULL, -- JSON
    arrived xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (property, entry)
);

CREATE OR REPLACE TRIGGER imported_properties_are_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON imported_properties
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- The history of a listing, in the order of commits. The time is there to find what the listing was at a moment.
CREATE INDEX CONCURRENTLY audit_of_property ON audit (subject, (entry + 0)) INCLUDE (at, entry) WHERE subject >= 'property/' AND subject < 'property0';
