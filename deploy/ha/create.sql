-- Run once, beside perksd, as docs/postgresql.md says.
CREATE ROLE perks LOGIN PASSWORD :'password';
-- So that perksd reads from a standby as soon as it follows a new primary.
GRANT pg_read_all_stats TO perks;
CREATE DATABASE perks OWNER perks ENCODING 'UTF8' TEMPLATE template0;
