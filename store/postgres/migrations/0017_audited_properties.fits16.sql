-- The digest of the record that the listing's last entry in the audit log leaves. If the listing has another record, something without an
-- entry of its own has changed it, such as an import or a server of the version before.
ALTER TABLE properties ADD COLUMN IF NOT EXISTS audited bytea;
