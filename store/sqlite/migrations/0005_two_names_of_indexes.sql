-- From here on each index of perks has one of two names: its first, or that with _2 at the end. Which one alternates with large imports,
-- because SQLite does not rename indexes. A migration that drops one names both, with IF EXISTS. Programs that know only the first names
-- refuse the database, because this migration has been applied.

-- The large import that may publish what it has built: the one that began last.
CREATE TABLE large_import (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    token      TEXT NOT NULL, -- in the names of its tables
    written_at INTEGER NOT NULL
) STRICT;
