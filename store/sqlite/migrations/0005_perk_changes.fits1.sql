-- As properties.audited, for perks. An import of perks builds their table anew.
CREATE TABLE audited_perks (
    id      TEXT PRIMARY KEY, -- of the perk
    audited BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The versions of the catalog that differ from the one before by one perk.
CREATE TABLE perk_edits (
    version INTEGER PRIMARY KEY,
    perk    TEXT NOT NULL, -- its id
    before  TEXT,          -- the perk as JSON, null of a new one; nothing of old edits
    after   TEXT
) STRICT;

-- The history of a perk, in the order of commits, without the entries of imports.
CREATE INDEX audit_of_perk ON audit (subject, row, at)
    WHERE subject >= 'perk/' AND subject < 'perk0' AND actor >= 'client/' AND actor < 'client0';
