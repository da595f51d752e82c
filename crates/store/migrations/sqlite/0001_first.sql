-- STRICT: a column holds what it says. Wide columns come last, so that reading the others is cheap.

CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
INSERT INTO counters (name, value) VALUES ('skills', 0), ('shared', 0);

CREATE TABLE skills (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    version   INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    removed   INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX skills_by_revision ON skills (namespace, revision);

CREATE TABLE skill_versions (
    namespace   TEXT NOT NULL,
    name        TEXT NOT NULL,
    version     INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    hash        TEXT NOT NULL,
    author      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
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
) STRICT;

CREATE TABLE boards (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    last      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    namespace TEXT NOT NULL,
    board     TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    author    TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (namespace, board, seq),
    FOREIGN KEY (namespace, board) REFERENCES boards (namespace, name)
) STRICT;

CREATE TABLE shared (
    namespace TEXT NOT NULL,
    key       TEXT NOT NULL,
    version   INTEGER NOT NULL,
    author    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    value     TEXT NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT;

CREATE TABLE sessions (
    namespace   TEXT NOT NULL,
    id          TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    author      TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    holder      TEXT,
    lease_until INTEGER NOT NULL,
    lost        TEXT NOT NULL,
    state       BLOB,
    PRIMARY KEY (namespace, id)
) STRICT;
CREATE INDEX sessions_by_age ON sessions (updated_at);

CREATE TABLE files (
    namespace   TEXT NOT NULL,
    path        TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    media_type  TEXT NOT NULL,
    origin      TEXT NOT NULL,
    author      TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_age ON files (namespace, origin, modified_at, path);

CREATE TABLE audit (
    seq       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    principal TEXT NOT NULL,
    namespace TEXT NOT NULL,
    action    TEXT NOT NULL,
    target    TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    previous  TEXT NOT NULL,
    hash      TEXT NOT NULL,
    details   TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON audit (at, seq);
CREATE INDEX audit_by_target ON audit (target, seq);
CREATE INDEX audit_by_action ON audit (action, seq);
CREATE INDEX audit_by_principal ON audit (principal, seq);
CREATE INDEX audit_by_principal_namespace ON audit (principal, namespace, seq);
CREATE INDEX audit_by_principal_action ON audit (principal, action, seq);
CREATE INDEX audit_by_namespace ON audit (namespace, seq);
CREATE INDEX audit_by_namespace_action ON audit (namespace, action, seq);

CREATE TABLE audit_head (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    seq  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
INSERT INTO audit_head (id, seq, at, hash)
VALUES (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000');

-- Without figures SQLite takes the narrower of two indexes. These are about right for a large
-- audit, and keep every search on the index that was made for it.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('audit', 'audit_by_time', '1000000 10 1'),
    ('audit', 'audit_by_target', '1000000 1000 1'),
    ('audit', 'audit_by_action', '1000000 50000 1'),
    ('audit', 'audit_by_principal', '1000000 20000 1'),
    ('audit', 'audit_by_principal_namespace', '1000000 20000 5000 1'),
    ('audit', 'audit_by_principal_action', '1000000 20000 1000 1'),
    ('audit', 'audit_by_namespace', '1000000 50000 1'),
    ('audit', 'audit_by_namespace_action', '1000000 50000 2500 1');
