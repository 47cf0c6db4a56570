-- As properties.audited, for perks. Imports leave it.
CREATE TABLE IF NOT EXISTS audited_perks (
    id      text COLLATE "C" PRIMARY KEY, -- of the perk
    audited bytea NOT NULL
);

-- The versions of the catalog that differ from the one before by one perk.
CREATE TABLE IF NOT EXISTS perk_edits (
    version bigint PRIMARY KEY,
    perk    text COLLATE "C" NOT NULL, -- its id
    before  text,                      -- the perk as JSON, null of a new one; nothing of old edits
    after   text
);

-- The history of a perk, in the order of commits, without the entries of imports.
CREATE INDEX CONCURRENTLY audit_of_perk ON audit (subject, (entry + 0)) INCLUDE (at, entry) WHERE subject >= 'perk/' AND subject < 'perk0' AND actor COLLATE "C" >= 'client/' AND actor COLLATE "C" < 'client0';
