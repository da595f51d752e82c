-- Files have a place: gateways that share a store may have disks of their own.

CREATE TABLE files_with_places (
    namespace   TEXT NOT NULL,
    place       TEXT NOT NULL,
    path        TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    media_type  TEXT NOT NULL,
    origin      TEXT NOT NULL,
    author      TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, place, path)
) STRICT, WITHOUT ROWID;
INSERT INTO files_with_places
    (namespace, place, path, bytes, media_type, origin, author, modified_at)
SELECT namespace, 'unknown', path, bytes, media_type, origin, author, modified_at FROM files;
DROP TABLE files;
ALTER TABLE files_with_places RENAME TO files;
CREATE INDEX files_by_age ON files (namespace, place, origin, modified_at, path);
