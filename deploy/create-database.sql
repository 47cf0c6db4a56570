-- The image of PostgreSQL runs this once, in docker-compose.yml, as its superuser. perks is none.
\set password `cat /run/secrets/database-password`
CREATE ROLE perks LOGIN PASSWORD :'password';
CREATE DATABASE perks OWNER perks ENCODING 'UTF8' TEMPLATE template0;
