ALTER TABLE clients ADD COLUMN secret_at INTEGER;     -- when the secret was made; null if with the client
ALTER TABLE clients ADD COLUMN old_secrets TEXT;      -- JSON of those that a rotation has kept, with their ends
ALTER TABLE clients ADD COLUMN expires_at INTEGER;
ALTER TABLE clients ADD COLUMN last_token_at INTEGER; -- up to an hour behind

UPDATE clients SET secret_at =
    (SELECT max(at) FROM audit WHERE subject = 'client/' || clients.id AND action = 'client.rotate-secret');

-- A version that does not know old secrets leaves them as they are. What it rotates or disables must keep none.
CREATE TRIGGER clients_drop_old_secrets AFTER UPDATE OF secret, disabled ON clients
WHEN NEW.old_secrets = OLD.old_secrets AND (NEW.secret <> OLD.secret OR NEW.disabled > OLD.disabled)
BEGIN UPDATE clients SET old_secrets = NULL WHERE id = NEW.id; END;
