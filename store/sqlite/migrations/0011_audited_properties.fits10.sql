-- The digest of the record that the listing's last entry in the audit log leaves. If the listing has another record, something without an
-- entry of its own has changed it, such as an import.
ALTER TABLE properties ADD COLUMN audited BLOB;
