-- Texts are ordered by their bytes, as in SQLite and whatever the locale of the server.

CREATE TABLE counters (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('skills', 0), ('shared', 0);

CREATE TABLE skills (
    namespace TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    version   BIGINT NOT NULL,
    revision  BIGINT NOT NULL,
    removed   BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
);
CREATE INDEX skills_by_revision ON skills (namespace, revision);

CREATE TABLE skill_versions (
    namespace   TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL,
    revision    BIGINT NOT NULL,
    hash        TEXT NOT NULL,
    author      TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    description TEXT NOT NULL,
    tags        TEXT NOT NULL,
    signature   TEXT NOT NULL,
    doc         TEXT NOT NULL,
    origin      TEXT NOT NULL,
    uses        TEXT NOT NULL,
    tests       TEXT NOT NULL,
    code        TEXT NOT NULL,
    PRIMARY KEY (namespace, name, version),
    FOREIGN KEY (namespace, name) REFERENCES skills (namespace, name)
);

CREATE TABLE boards (
    namespace TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    last      BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
);

CREATE TABLE messages (
    namespace TEXT COLLATE "C" NOT NULL,
    board     TEXT COLLATE "C" NOT NULL,
    seq       BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    author    TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (namespace, board, seq),
    FOREIGN KEY (namespace, board) REFERENCES boards (namespace, name)
);

CREATE TABLE shared (
    namespace TEXT COLLATE "C" NOT NULL,
    key       TEXT COLLATE "C" NOT NULL,
    version   BIGINT NOT NULL,
    author    TEXT NOT NULL,
    at        BIGINT NOT NULL,
    value     TEXT NOT NULL,
    PRIMARY KEY (namespace, key)
);

CREATE TABLE sessions (
    namespace   TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    generation  BIGINT NOT NULL,
    author      TEXT NOT NULL,
    updated_at  BIGINT NOT NULL,
    holder      TEXT,
    lease_until BIGINT NOT NULL,
    lost        TEXT NOT NULL,
    state       BYTEA,
    PRIMARY KEY (namespace, id)
);
CREATE INDEX sessions_by_age ON sessions (updated_at);

CREATE TABLE files (
    namespace   TEXT COLLATE "C" NOT NULL,
    path        TEXT COLLATE "C" NOT NULL,
    bytes       BIGINT NOT NULL,
    media_type  TEXT NOT NULL,
    origin      TEXT COLLATE "C" NOT NULL,
    author      TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (namespace, path)
);
CREATE INDEX files_by_age ON files (namespace, origin, modified_at, path);

CREATE TABLE audit (
    seq       BIGINT PRIMARY KEY,
    at        BIGINT NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    action    TEXT COLLATE "C" NOT NULL,
    target    TEXT COLLATE "C" NOT NULL,
    outcome   TEXT NOT NULL,
    previous  TEXT NOT NULL,
    hash      TEXT NOT NULL,
    details   TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (at, seq);
CREATE INDEX audit_by_target ON audit (target, seq);
CREATE INDEX audit_by_action ON audit (action, seq);
CREATE INDEX audit_by_principal ON audit (principal, seq);
CREATE INDEX audit_by_principal_namespace ON audit (principal, namespace, seq);
CREATE INDEX audit_by_principal_action ON audit (principal, action, seq);
CREATE INDEX audit_by_namespace ON audit (namespace, seq);
CREATE INDEX audit_by_namespace_action ON audit (namespace, action, seq);

CREATE TABLE audit_head (
    id   BIGINT PRIMARY KEY CHECK (id = 1),
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    hash TEXT NOT NULL
);
INSERT INTO audit_head (id, seq, at, hash)
VALUES (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000');
