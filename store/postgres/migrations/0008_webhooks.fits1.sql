-- Addresses of clients to which events are sent. The position in the audit log is the queue of each.
CREATE TABLE IF NOT EXISTS webhooks (
    id              text COLLATE "C" PRIMARY KEY,
    client_id       text COLLATE "C" NOT NULL,
    url             text NOT NULL,
    types           text NOT NULL, -- separated by spaces; empty is all
    description     text NOT NULL,
    enabled         boolean NOT NULL,
    disabled_reason text,
    failing_since   timestamptz,
    secrets         bytea NOT NULL, -- encrypted
    position        text NOT NULL, -- JSON: everything up to here was delivered, or failed and is a row below
    version         bigint NOT NULL, -- of what its client can change
    holder          text COLLATE "C", -- the server that delivers; nobody does if it is not among webhook_servers
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX IF NOT EXISTS webhooks_of_client ON webhooks (client_id);

-- Events that failed, or wait behind one of the same subject that did. They come before all after the position.
CREATE TABLE IF NOT EXISTS webhook_failures (
    webhook_id text COLLATE "C" NOT NULL,
    number     bigint NOT NULL, -- in the order of the events
    entry      bigint NOT NULL, -- of the audit log; 0 for a redemption that was made
    subject    text COLLATE "C" NOT NULL,
    cursor     text NOT NULL, -- the event's
    at         timestamptz NOT NULL, -- when it happened
    attempt    integer NOT NULL, -- how often it has failed
    next_at    timestamptz NOT NULL,
    PRIMARY KEY (webhook_id, number)
);

-- What was sent, for some weeks.
CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id          text COLLATE "C" PRIMARY KEY,
    webhook_id  text COLLATE "C" NOT NULL,
    at          timestamptz NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    attempt     integer NOT NULL,
    duration_ms integer NOT NULL,
    status      integer,
    error       text,
    answer      text NOT NULL,
    next_at     timestamptz
);

CREATE INDEX IF NOT EXISTS webhook_deliveries_of_webhook ON webhook_deliveries (webhook_id, at, id);
CREATE INDEX IF NOT EXISTS webhook_deliveries_by_time ON webhook_deliveries (at);

-- Servers that deliver. Each raises its beats once a second. Whoever sees them unchanged for long deletes the row.
CREATE TABLE IF NOT EXISTS webhook_servers (
    server text COLLATE "C" PRIMARY KEY,
    beats  bigint NOT NULL
) WITH (fillfactor = 50);
