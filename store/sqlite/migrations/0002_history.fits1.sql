-- The entry of the audit log that has the first reply, if that is a restored listing.
ALTER TABLE idempotency_keys ADD COLUMN entry INTEGER;

-- What imports made of each listing, beside audit: its readers need the entry of the import alone, and an import writes no
-- more than one index.
CREATE TABLE imported_properties (
    row     INTEGER NOT NULL, -- of the import's entry in audit
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    property INTEGER NOT NULL,
    before  TEXT,         -- JSON of the fields that the import changed; null if it created the listing
    after   TEXT NOT NULL -- JSON
) STRICT;

CREATE UNIQUE INDEX imported_properties_in_order ON imported_properties (property, row);

CREATE TRIGGER imported_properties_are_not_changed BEFORE UPDATE ON imported_properties
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER imported_properties_are_not_shortened BEFORE DELETE ON imported_properties
WHEN NOT EXISTS (SELECT 1 FROM audit_archived WHERE removing = 1)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

-- The history of a listing, in the order of commits. The time is there to find what the listing was at a moment.
CREATE INDEX audit_of_property ON audit (subject, row, at) WHERE subject >= 'property/' AND subject < 'property0';
