-- The vault of personal data, approvals, and an audit that may be cut off at its beginning.

-- Proves that a key is the one that the values in the vault were sealed with.
CREATE TABLE vault_key (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    proof TEXT NOT NULL
);

CREATE TABLE vault (
    namespace   TEXT COLLATE "C" NOT NULL,
    token       TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    fingerprint BYTEA NOT NULL,
    created_at  BIGINT NOT NULL,
    used_at     BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    sealed      BYTEA NOT NULL,
    PRIMARY KEY (namespace, token)
);
CREATE INDEX vault_by_expiry ON vault (expires_at);

INSERT INTO counters (name, value) VALUES ('approvals', 0);

CREATE TABLE approvals (
    id             TEXT COLLATE "C" PRIMARY KEY,
    seq            BIGINT NOT NULL,
    namespace      TEXT COLLATE "C" NOT NULL,
    principal      TEXT COLLATE "C" NOT NULL,
    tool           TEXT COLLATE "C" NOT NULL,
    arguments_hash TEXT COLLATE "C" NOT NULL,
    decision       TEXT CHECK (decision IN ('allowed', 'denied')),
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    decided_at     BIGINT,
    decided_by     TEXT,
    used_at        BIGINT,
    shown          TEXT NOT NULL,
    why            TEXT NOT NULL
);
CREATE INDEX approvals_by_seq ON approvals (seq);
CREATE INDEX approvals_by_call ON approvals (principal, tool, arguments_hash);
CREATE INDEX approvals_pending ON approvals (principal, expires_at) WHERE decision IS NULL;

-- The last entry that was removed, and how many bytes were.
CREATE TABLE audit_anchor (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    seq   BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    hash  TEXT NOT NULL
);
INSERT INTO audit_anchor (id, seq, bytes, hash)
VALUES (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000');

-- The bytes of all entries there ever were.
ALTER TABLE audit_head ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE audit_head SET bytes = (
    SELECT coalesce(sum(octet_length(principal) + octet_length(namespace) + octet_length(action)
                        + octet_length(target) + octet_length(outcome) + octet_length(details)
                        + 512), 0)
    FROM audit
);

-- What the programs of a session have read: it may be in their variables.
ALTER TABLE sessions ADD COLUMN flow TEXT NOT NULL DEFAULT 'null';
