ALTER TABLE clients
    ADD COLUMN IF NOT EXISTS secret_at     timestamptz, -- when the secret was made; null if with the client
    ADD COLUMN IF NOT EXISTS old_secrets   text,        -- JSON of those that a rotation has kept, with their ends
    ADD COLUMN IF NOT EXISTS expires_at    timestamptz,
    ADD COLUMN IF NOT EXISTS last_token_at timestamptz; -- up to an hour behind

UPDATE clients SET secret_at =
    (SELECT max(at) FROM audit WHERE subject = 'client/' || clients.id AND action = 'client.rotate-secret')
    WHERE secret_at IS NULL;

-- A version that does not know old secrets leaves them as they are. What it rotates or disables must keep none.
CREATE OR REPLACE FUNCTION clients_drop_old_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.old_secrets := NULL;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER clients_drop_old_secrets BEFORE UPDATE OF secret, disabled ON clients FOR EACH ROW
    WHEN (NEW.old_secrets = OLD.old_secrets AND (NEW.secret <> OLD.secret OR NEW.disabled > OLD.disabled))
    EXECUTE FUNCTION clients_drop_old_secrets();
