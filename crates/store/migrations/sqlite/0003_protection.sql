-- The vault of personal data, approvals, and an audit that may be cut off at its beginning.

-- Proves that a key is the one that the values in the vault were sealed with.
CREATE TABLE vault_key (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    proof TEXT NOT NULL
) STRICT;

CREATE TABLE vault (
    namespace   TEXT NOT NULL,
    token       TEXT NOT NULL,
    kind        TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    used_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    sealed      BLOB NOT NULL,
    PRIMARY KEY (namespace, token)
) STRICT;
CREATE INDEX vault_by_expiry ON vault (expires_at);

INSERT INTO counters (name, value) VALUES ('approvals', 0);

CREATE TABLE approvals (
    id             TEXT PRIMARY KEY,
    seq            INTEGER NOT NULL,
    namespace      TEXT NOT NULL,
    principal      TEXT NOT NULL,
    tool           TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    decision       TEXT CHECK (decision IN ('allowed', 'denied')),
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    decided_at     INTEGER,
    decided_by     TEXT,
    used_at        INTEGER,
    shown          TEXT NOT NULL,
    why            TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_by_seq ON approvals (seq);
CREATE INDEX approvals_by_call ON approvals (principal, tool, arguments_hash);
CREATE INDEX approvals_pending ON approvals (principal, expires_at) WHERE decision IS NULL;

-- The last entry that was removed, and how many bytes were.
CREATE TABLE audit_anchor (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    seq   INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    hash  TEXT NOT NULL
) STRICT;
INSERT INTO audit_anchor (id, seq, bytes, hash)
VALUES (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000');

-- The bytes of all entries there ever were.
ALTER TABLE audit_head ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE audit_head SET bytes = (
    SELECT coalesce(sum(octet_length(principal) + octet_length(namespace) + octet_length(action)
                        + octet_length(target) + octet_length(outcome) + octet_length(details)
                        + 512), 0)
    FROM audit
);

-- What the programs of a session have read: it may be in their variables.
ALTER TABLE sessions ADD COLUMN flow TEXT NOT NULL DEFAULT 'null';
