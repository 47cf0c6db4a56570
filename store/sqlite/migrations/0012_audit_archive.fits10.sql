-- The last row that was moved to an archive: readers who have not come so far miss entries. removing is 1 within a transaction that removes
-- archived rows.
CREATE TABLE audit_archived (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    row      INTEGER NOT NULL,
    removing INTEGER NOT NULL
) STRICT;

INSERT INTO audit_archived VALUES (1, 0, 0);

DROP TRIGGER audit_is_not_shortened;
CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
WHEN NOT EXISTS (SELECT 1 FROM audit_archived WHERE removing = 1 AND row >= OLD.row)
BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;

-- Callers know positions in the audit log only encrypted, under this key.
CREATE TABLE cursor_key (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key BLOB NOT NULL
) STRICT;

INSERT INTO cursor_key VALUES (1, randomblob(32));
