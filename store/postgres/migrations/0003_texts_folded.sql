-- What perks are seldom sorted by. PostgreSQL can fold ASCII as store.Fold does, and nothing else: here is store.Fold of the
-- texts that hold more, and null for the others. A table of its own, so that no one waits while it is filled, and lists that
-- are sorted otherwise do not read it.
CREATE TABLE IF NOT EXISTS perk_folds (
    perk_id       text COLLATE "C" PRIMARY KEY,
    description   text COLLATE "C",
    image_url     text COLLATE "C",
    discount_text text COLLATE "C",
    terms         text COLLATE "C"
);
