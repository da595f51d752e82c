//! All SQL of this crate, in one list.
//!
//! The same text serves both databases. A [`Sql`] can only be made here, so that no query escapes
//! [`Store::check`](crate::Store::check), which lets the database read every one of them.

/// The text of a query. Values are never part of it, they are its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Sql(&'static str);

impl Sql {
    pub(crate) fn text(self) -> &'static str {
        self.0
    }
}

macro_rules! queries {
    ($(mod $subject:ident { $($(#[$doc:meta])* $name:ident = $text:expr;)* })*) => {
        $(pub(crate) mod $subject {
            use super::Sql;
            $($(#[$doc])* pub(crate) const $name: Sql = Sql($text);)*
        })*

        /// Every query there is, with its name.
        pub(crate) const ALL: &[(&str, Sql)] = &[
            $($((concat!(stringify!($subject), "::", stringify!($name)), $subject::$name),)*)*
        ];
    };
}

/// The columns of a skill that are listed, of `h` (the skill) and `v` (one of its versions).
macro_rules! skills_from {
    ($revision:literal, $more:literal, $rest:literal) => {
        concat!(
            "SELECT v.namespace, v.name, v.version, ",
            $revision,
            ", h.removed, v.hash, v.author,
                    v.created_at, v.description, v.tags, v.signature, v.doc, v.origin, v.uses",
            $more,
            " FROM skills h
              JOIN skill_versions v ON v.namespace = h.namespace AND v.name = h.name ",
            $rest
        )
    };
}

/// A search of the audit by what is surely asked for. Every variant has the same arguments:
/// principal, namespace, action, target (each may be null), the bounds of `seq`, the limit.
/// PostgreSQL learns the type of an argument where it is compared, which has to come first.
macro_rules! audit_search {
    ($sure:literal) => {
        audit_where!(
            $sure,
            " (principal = $1 OR $1 IS NULL) AND (namespace = $2 OR $2 IS NULL)
             AND (action = $3 OR $3 IS NULL) AND (target = $4 OR $4 IS NULL)
             AND seq >= $5 AND seq < $6 ORDER BY seq DESC LIMIT $7"
        )
    };
}

/// Entries of the audit.
macro_rules! audit_where {
    ($($condition:literal),*) => {
        concat!(
            "SELECT seq, at, principal, namespace, action, target, outcome, previous, hash, details
             FROM audit WHERE ", $($condition),*
        )
    };
}

/// Shared values.
macro_rules! shared_where {
    ($condition:literal) => {
        concat!("SELECT key, version, author, at, value FROM shared WHERE ", $condition)
    };
}

/// What is known of files.
macro_rules! files_where {
    ($condition:literal) => {
        concat!(
            "SELECT path, bytes, media_type, origin, author, modified_at, place FROM files WHERE ",
            $condition
        )
    };
}

queries! {
    mod schema {
        VERSION = "SELECT version FROM narrows_schema";
        FORGET_VERSION = "DELETE FROM narrows_schema";
        NOTE_VERSION = "INSERT INTO narrows_schema (version) VALUES ($1)";
    }

    mod skills {
        REVISION = "SELECT value FROM counters WHERE name = 'skills'";
        /// Whoever has locked the revision is alone until the commit. Therefore revisions become
        /// visible in order, and who reads them never misses one.
        LOCK_REVISION = "UPDATE counters SET value = value WHERE name = 'skills' RETURNING value";
        PUT_REVISION = "UPDATE counters SET value = $1 WHERE name = 'skills'";
        HEAD = "SELECT version, removed FROM skills WHERE namespace = $1 AND name = $2";
        SAME = "SELECT revision FROM skill_versions
                WHERE namespace = $1 AND name = $2 AND version = $3
                AND hash = $4 AND description = $5 AND tags = $6 AND uses = $7 AND tests = $8
                AND origin = $9";
        PUT_HEAD = "INSERT INTO skills (namespace, name, version, revision, removed)
                    VALUES ($1, $2, $3, $4, 0)
                    ON CONFLICT (namespace, name) DO UPDATE
                    SET version = excluded.version, revision = excluded.revision, removed = 0";
        ADD_VERSION = "INSERT INTO skill_versions
                       (namespace, name, version, revision, hash, author, created_at, description,
                        tags, signature, doc, origin, uses, tests, code)
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
        REMOVE = "UPDATE skills SET removed = 1, revision = $3
                  WHERE namespace = $1 AND name = $2 AND removed = 0 RETURNING version";
        GET = skills_from!("h.revision", ", v.tests, v.code",
            "AND v.version = h.version
             WHERE h.namespace = $1 AND h.name = $2 AND h.removed = 0");
        GET_VERSION = skills_from!("v.revision", ", v.tests, v.code",
            "WHERE h.namespace = $1 AND h.name = $2 AND v.version = $3");
        VERSIONS = "SELECT version, revision, hash, author, created_at, description
                    FROM skill_versions WHERE namespace = $1 AND name = $2 ORDER BY version";
        LIST = skills_from!("h.revision", "",
            "AND v.version = h.version
             WHERE h.namespace = $1 AND h.name > $2 AND h.removed = 0
             ORDER BY h.name LIMIT $3");
        CHANGED = skills_from!("h.revision", "",
            "AND v.version = h.version
             WHERE h.namespace = $1 AND h.revision > $2 AND h.revision <= $3
             ORDER BY h.revision LIMIT $4");
    }

    mod boards {
        /// Whoever has the next number is alone at this board until the commit.
        NEXT = "INSERT INTO boards (namespace, name, last, at) VALUES ($1, $2, 1, $3)
                ON CONFLICT (namespace, name) DO UPDATE SET last = boards.last + 1, at = excluded.at
                RETURNING last";
        POST = "INSERT INTO messages (namespace, board, seq, at, author, body)
                VALUES ($1, $2, $3, $4, $5, $6)";
        TRIM = "DELETE FROM messages WHERE namespace = $1 AND board = $2 AND seq <= $3";
        READ = "SELECT seq, at, author, body FROM messages
                WHERE namespace = $1 AND board = $2 AND seq > $3 ORDER BY seq LIMIT $4";
        LAST = "SELECT last FROM boards WHERE namespace = $1 AND name = $2";
        LIST = "SELECT name, last, at FROM boards WHERE namespace = $1 ORDER BY name";
    }

    mod shared {
        /// Versions are never used twice, not even for a key that was removed and made again.
        NEXT_VERSION = "UPDATE counters SET value = value + 1 WHERE name = 'shared'
                        RETURNING value";
        GET = shared_where!("namespace = $1 AND key = $2");
        PUT = "INSERT INTO shared (namespace, key, version, author, at, value)
               VALUES ($1, $2, $3, $4, $5, $6)
               ON CONFLICT (namespace, key) DO UPDATE
               SET version = excluded.version, author = excluded.author, at = excluded.at,
                   value = excluded.value";
        PUT_NEW = "INSERT INTO shared (namespace, key, version, author, at, value)
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (namespace, key) DO NOTHING";
        PUT_OVER = "UPDATE shared SET version = $3, author = $4, at = $5, value = $6
                    WHERE namespace = $1 AND key = $2 AND version = $7";
        REMOVE = "DELETE FROM shared
                  WHERE namespace = $1 AND key = $2 AND (version = $3 OR $3 IS NULL)";
        LIST = shared_where!("namespace = $1 AND key > $2 ORDER BY key LIMIT $3");
        LIST_PREFIX = shared_where!("namespace = $1 AND key > $2 AND key >= $4 AND key < $5
                                     ORDER BY key LIMIT $3");
    }

    mod sessions {
        TAKE = "INSERT INTO sessions
                (namespace, id, generation, author, updated_at, holder, lease_until, lost, state)
                VALUES ($1, $2, 0, $3, $4, $5, $6, 'null', NULL)
                ON CONFLICT (namespace, id) DO UPDATE
                SET holder = excluded.holder, lease_until = excluded.lease_until,
                    author = excluded.author, updated_at = excluded.updated_at
                WHERE sessions.holder IS NULL OR sessions.holder = excluded.holder
                   OR sessions.lease_until <= excluded.updated_at
                RETURNING generation, lost, state";
        HOLDER = "SELECT holder, lease_until FROM sessions WHERE namespace = $1 AND id = $2";
        RENEW = "UPDATE sessions SET lease_until = $4
                 WHERE namespace = $1 AND id = $2 AND holder = $3";
        SAVE = "UPDATE sessions
                SET generation = generation + 1, updated_at = $5, lost = $6, state = $7
                WHERE namespace = $1 AND id = $2 AND holder = $3 AND generation = $4
                RETURNING generation";
        GIVE_BACK = "UPDATE sessions SET holder = NULL, lease_until = 0
                     WHERE namespace = $1 AND id = $2 AND holder = $3";
        LIST = "SELECT id, generation, author, updated_at, holder, lease_until, lost,
                       CAST(coalesce(length(state), 0) AS BIGINT)
                FROM sessions WHERE namespace = $1 ORDER BY id";
        REMOVE = "DELETE FROM sessions WHERE namespace = $1 AND id = $2";
        EXPIRE = "DELETE FROM sessions
                  WHERE updated_at < $1 AND (holder IS NULL OR lease_until <= $2)";
    }

    mod files {
        PUT = "INSERT INTO files
               (namespace, place, path, bytes, media_type, origin, author, modified_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
               ON CONFLICT (namespace, place, path) DO UPDATE
               SET bytes = excluded.bytes, media_type = excluded.media_type,
                   origin = excluded.origin, author = excluded.author,
                   modified_at = excluded.modified_at";
        REMOVE = "DELETE FROM files WHERE namespace = $1 AND place = $2 AND path = $3";
        GET = files_where!("namespace = $1 AND place = $2 AND path = $3");
        LIST = files_where!("namespace = $1 AND place = $2 ORDER BY path");
        ELSEWHERE = files_where!("namespace = $1 AND place <> $2 ORDER BY place, path");
        OLDEST = files_where!("namespace = $1 AND place = $2 AND origin = $3
                               ORDER BY modified_at, path");
        TOTAL = "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM files
                 WHERE namespace = $1";
    }

    mod audit {
        /// Whoever has moved the head is alone until the commit: the chain has one end.
        TAKE_HEAD = "UPDATE audit_head SET seq = seq + $1 RETURNING seq, at, hash";
        PUT_HEAD = "UPDATE audit_head SET at = $1, hash = $2";
        ADD = "INSERT INTO audit
               (seq, at, principal, namespace, action, target, outcome, previous, hash, details)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        HEAD = "SELECT seq, hash, coalesce((SELECT min(seq) FROM audit), 1),
                       coalesce((SELECT max(seq) FROM audit), 0) FROM audit_head";
        PAGE = audit_where!("seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3");
        GET = audit_where!("seq = $1");
        /// The first entry that is not older. Times never fall along the chain.
        FIRST_AT = "SELECT seq FROM audit WHERE at >= $1 ORDER BY at, seq LIMIT 1";
        /// The different actions in a range: one step in the index for each, not for each entry.
        ACTIONS = "WITH RECURSIVE found(action) AS (
                       SELECT min(action) FROM audit WHERE action >= $1
                       UNION ALL
                       SELECT (SELECT min(audit.action) FROM audit
                               WHERE audit.action > found.action)
                       FROM found WHERE found.action < $2 OR ($2 IS NULL AND action IS NOT NULL))
                   SELECT action FROM found
                   WHERE action < $2 OR ($2 IS NULL AND action IS NOT NULL)";
        SEARCH = audit_search!("");
        SEARCH_TARGET = audit_search!("target = $4 AND");
        SEARCH_PRINCIPAL = audit_search!("principal = $1 AND");
        SEARCH_PRINCIPAL_NAMESPACE = audit_search!("principal = $1 AND namespace = $2 AND");
        SEARCH_PRINCIPAL_ACTION = audit_search!("principal = $1 AND action = $3 AND");
        SEARCH_NAMESPACE = audit_search!("namespace = $2 AND");
        SEARCH_NAMESPACE_ACTION = audit_search!("namespace = $2 AND action = $3 AND");
        SEARCH_ACTION = audit_search!("action = $3 AND");
    }
}
