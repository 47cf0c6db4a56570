-- Addresses of clients to which events are sent. The position in the audit log is the queue of each.
CREATE TABLE webhooks (
    id              TEXT PRIMARY KEY,
    client_id       TEXT NOT NULL,
    url             TEXT NOT NULL,
    types           TEXT NOT NULL, -- separated by spaces; empty is all
    description     TEXT NOT NULL,
    enabled         INTEGER NOT NULL,
    disabled_reason TEXT,
    failing_since   INTEGER,
    secrets         BLOB NOT NULL, -- encrypted
    position        TEXT NOT NULL, -- JSON: everything up to here was delivered, or failed and is a row below
    version         INTEGER NOT NULL, -- of what its client can change
    holder          TEXT, -- the server that delivers; nobody does if it is not among webhook_servers
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX webhooks_of_client ON webhooks (client_id);

-- Events that failed, or wait behind one of the same subject that did. They come before all after the position.
CREATE TABLE webhook_failures (
    webhook_id TEXT NOT NULL,
    number     INTEGER NOT NULL, -- in the order of the events
    entry      INTEGER NOT NULL, -- of the audit log; 0 for a redemption that was made
    subject    TEXT NOT NULL,
    cursor     TEXT NOT NULL, -- the event's
    at         INTEGER NOT NULL, -- when it happened
    attempt    INTEGER NOT NULL, -- how often it has failed
    next_at    INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, number)
) STRICT;

-- What was sent, for some weeks.
CREATE TABLE webhook_deliveries (
    id          TEXT PRIMARY KEY,
    webhook_id  TEXT NOT NULL,
    at          INTEGER NOT NULL,
    event_id    TEXT NOT NULL,
    type        TEXT NOT NULL,
    subject     TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    status      INTEGER,
    error       TEXT,
    answer      TEXT NOT NULL,
    next_at     INTEGER
) STRICT;

CREATE INDEX webhook_deliveries_of_webhook ON webhook_deliveries (webhook_id, at, id);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (at);

-- Servers that deliver. Each raises its beats once a second. Whoever sees them unchanged for long deletes the row.
CREATE TABLE webhook_servers (
    server TEXT PRIMARY KEY,
    beats  INTEGER NOT NULL
) STRICT;
