-- The last transaction of the rows that were moved to an archive: readers whose snapshot does not include it miss entries.
CREATE TABLE IF NOT EXISTS audit_archived (
    one     integer PRIMARY KEY CHECK (one = 1),
    arrived xid8 NOT NULL
);

INSERT INTO audit_archived VALUES (1, '0') ON CONFLICT (one) DO NOTHING;

-- perksd sets perks.archiving within a transaction that removes archived rows.
CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('perks.archiving', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only';
END
$$;

-- Callers know positions in the audit log only encrypted, under this key. The function is the source of random numbers
-- that needs no extension.
CREATE TABLE IF NOT EXISTS cursor_key (
    one integer PRIMARY KEY CHECK (one = 1),
    key bytea NOT NULL
);

INSERT INTO cursor_key VALUES (1, decode(replace(concat(gen_random_uuid(), gen_random_uuid()), '-', ''), 'hex'))
ON CONFLICT (one) DO NOTHING;
