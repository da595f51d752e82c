-- Files have a place: gateways that share a store may have disks of their own.

CREATE TABLE files_with_places (
    namespace   TEXT COLLATE "C" NOT NULL,
    place       TEXT COLLATE "C" NOT NULL,
    path        TEXT COLLATE "C" NOT NULL,
    bytes       BIGINT NOT NULL,
    media_type  TEXT NOT NULL,
    origin      TEXT COLLATE "C" NOT NULL,
    author      TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (namespace, place, path)
);
INSERT INTO files_with_places
    (namespace, place, path, bytes, media_type, origin, author, modified_at)
SELECT namespace, 'unknown', path, bytes, media_type, origin, author, modified_at FROM files;
DROP TABLE files;
ALTER TABLE files_with_places RENAME TO files;
CREATE INDEX files_by_age ON files (namespace, place, origin, modified_at, path);
