-- Run once, on the primary: psql 'postgres://postgres@127.0.0.1:5000/postgres' --set password=... --file create.sql
CREATE ROLE perks LOGIN PASSWORD :'password';
CREATE DATABASE perks OWNER perks ENCODING 'UTF8' TEMPLATE template0;
