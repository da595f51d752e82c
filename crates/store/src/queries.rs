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
/// principal, namespace, action, target, outcome, its old word (each may be null), the bounds of `seq`, the limit.
/// PostgreSQL learns the type of an argument where it is compared, which has to come first.
macro_rules! audit_search {
    ($sure:literal) => {
        audit_where!(
            $sure,
            " (principal = $1 OR $1 IS NULL) AND (namespace = $2 OR $2 IS NULL)
             AND (action = $3 OR $3 IS NULL) AND (target = $4 OR $4 IS NULL)
             AND (outcome = $5 OR outcome = $6 OR $5 IS NULL)
             AND seq >= $7 AND seq < $8 ORDER BY seq DESC LIMIT $9"
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

/// The most entries that one statement adds. Each statement is handed over to the database's thread and
/// back, which takes longer than the work itself.
pub(crate) const ENTRIES_AT_ONCE: usize = 256;
/// The most entries of the smaller statement: as many as are usual while little happens. The arguments
/// of a larger statement take their time too.
pub(crate) const FEW_ENTRIES: usize = 16;
/// How many arguments an entry has.
pub(crate) const ENTRY_ARGS: usize = 10;

/// A statement that adds entries, each as a row of [`ENTRY_ARGS`] arguments; rows without a number are
/// left out, so that it serves any number of entries up to its own.
struct AddEntries {
    text: [u8; Self::MAX_BYTES],
    length: usize,
}

impl AddEntries {
    const MAX_BYTES: usize = 512 + ENTRIES_AT_ONCE * ENTRY_ARGS * "$2560, ".len();

    const fn new(entries: usize) -> Self {
        let mut statement = Self { text: [0; Self::MAX_BYTES], length: 0 };
        statement.push(
            "INSERT INTO audit
             (seq, at, principal, namespace, action, target, outcome, previous, hash, details)
             SELECT * FROM (VALUES ",
        );
        let mut row = 0;
        while row < entries {
            statement.push(if row == 0 { "(" } else { ", (" });
            let mut column = 0;
            while column < ENTRY_ARGS {
                let number = row * ENTRY_ARGS + column + 1;
                // PostgreSQL learns the types from the first row.
                let is_number = row == 0 && column < 2;
                statement.push(if column == 0 { "" } else { ", " });
                statement.push(if is_number { "CAST($" } else { "$" });
                statement.push_number(number);
                statement.push(if is_number { " AS BIGINT)" } else { "" });
                column += 1;
            }
            statement.push(")");
            row += 1;
        }
        statement.push(") AS entries WHERE column1 IS NOT NULL");
        statement
    }

    const fn push(&mut self, text: &str) {
        let mut next = 0;
        while next < text.len() {
            self.text[self.length] = text.as_bytes()[next];
            self.length += 1;
            next += 1;
        }
    }

    const fn push_number(&mut self, number: usize) {
        if number >= 10 {
            self.push_number(number / 10);
        }
        self.text[self.length] = b'0' + (number % 10) as u8;
        self.length += 1;
    }

    const fn text(&'static self) -> &'static str {
        match std::str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

static ADD_FEW: AddEntries = AddEntries::new(FEW_ENTRIES);
static ADD_MANY: AddEntries = AddEntries::new(ENTRIES_AT_ONCE);

/// The bytes of an entry beside its texts: numbers, hashes, and its places in the indexes. The
/// migration has it too.
macro_rules! entry_bytes {
    () => {
        512
    };
}
pub(crate) const ENTRY_BYTES: usize = entry_bytes!();

/// The bytes of an entry, or of several.
macro_rules! audit_bytes {
    ($before:literal, $after:literal) => {
        concat!(
            "SELECT ",
            $before,
            "CAST(octet_length(principal) + octet_length(namespace)
             + octet_length(action) + octet_length(target) + octet_length(outcome)
             + octet_length(details) + ",
            entry_bytes!(),
            " AS BIGINT)",
            $after
        )
    };
}

/// Puts values into the vault, each as a row of `$1` (namespace), `$2` (the time), `$3` (the
/// expiry) and four arguments of its own. A row with another fingerprint is not changed.
macro_rules! vault_put {
    ($($token:literal $kind:literal $fingerprint:literal $sealed:literal),+) => {
        concat!(
            "INSERT INTO vault (namespace, created_at, used_at, expires_at,
                                token, kind, fingerprint, sealed)
             VALUES ",
            vault_put!(@rows $(
                concat!("($1, $2, $2, $3, ", $token, ", ", $kind, ", ", $fingerprint, ", ",
                        $sealed, ")")
            ),+),
            " ON CONFLICT (namespace, token) DO UPDATE
              SET used_at = excluded.used_at,
                  expires_at = CASE WHEN excluded.expires_at > vault.expires_at
                                    THEN excluded.expires_at ELSE vault.expires_at END
              WHERE vault.fingerprint = excluded.fingerprint"
        )
    };
    (@rows $first:expr $(, $next:expr)*) => { concat!($first $(, ", ", $next)*) };
}

/// A list of as many tokens as are looked up at once; places that are not used are null.
macro_rules! token_list {
    () => {
        "token IN ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                   $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34)"
    };
}
pub(crate) const TOKENS_AT_ONCE: usize = 32;

/// The columns of an approval, without its state, which follows from other columns.
macro_rules! approval_columns {
    () => {
        "id, namespace, principal, tool, arguments_hash, shown, why, expires_at, created_at,
         decided_at, decided_by, scope, reasons, run, session"
    };
}
macro_rules! approval_state {
    () => {
        "CASE WHEN used_at IS NOT NULL THEN 'used' ELSE coalesce(decision, 'pending') END"
    };
}
macro_rules! approvals_where {
    ($($condition:expr),*) => {
        concat!("SELECT ", approval_columns!(), ", ", approval_state!(), " FROM approvals WHERE ",
                $($condition),*)
    };
}

/// Shared values.
macro_rules! shared_where {
    ($condition:literal) => {
        concat!("SELECT key, version, author, at, value FROM shared WHERE ", $condition)
    };
}

/// The records of files.
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
        /// Locks the revision. Whoever has it is alone until the commit: revisions become visible in
        /// order, and a reader of them never misses one.
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
        /// Takes the next number. Whoever has it is alone at this board until the commit.
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
        /// Generations begin with the time, so that a session that was removed and made again has
        /// none of those before. A lease that is much longer than ours was made by a process whose
        /// clock was ahead, and does not hold.
        TAKE = "INSERT INTO sessions
                (namespace, id, generation, author, updated_at, holder, lease_until, lost, state)
                VALUES ($1, $2, $4, $3, $4, $5, $6, 'null', NULL)
                ON CONFLICT (namespace, id) DO UPDATE
                SET holder = excluded.holder, lease_until = excluded.lease_until,
                    author = excluded.author, updated_at = excluded.updated_at
                WHERE sessions.holder IS NULL OR sessions.holder = excluded.holder
                   OR sessions.lease_until <= excluded.updated_at
                   OR sessions.lease_until
                      > excluded.lease_until + (excluded.lease_until - excluded.updated_at)
                RETURNING generation, lost, flow, state";
        HOLDER = "SELECT holder, lease_until FROM sessions WHERE namespace = $1 AND id = $2";
        RENEW = "UPDATE sessions SET lease_until = $4
                 WHERE namespace = $1 AND id = $2 AND holder = $3";
        SAVE = "UPDATE sessions
                SET generation = generation + 1, updated_at = $5, lost = $6, flow = $7, state = $8
                WHERE namespace = $1 AND id = $2 AND holder = $3 AND generation = $4
                RETURNING generation";
        GIVE_BACK = "UPDATE sessions SET holder = NULL, lease_until = 0
                     WHERE namespace = $1 AND id = $2 AND holder = $3";
        LIST = "SELECT id, generation, author, updated_at, holder, lease_until, lost,
                       CAST(coalesce(length(state), 0) AS BIGINT)
                FROM sessions WHERE namespace = $1 ORDER BY id";
        REMOVE = "DELETE FROM sessions WHERE namespace = $1 AND id = $2";
        /// A lease that ends after `$3` was made by a clock that was ahead.
        EXPIRE = "DELETE FROM sessions
                  WHERE updated_at < $1
                    AND (holder IS NULL OR lease_until <= $2 OR lease_until > $3)";
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
        /// Moves the head. Whoever did is alone until the commit: the chain has one end.
        TAKE_HEAD = "UPDATE audit_head SET seq = seq + $1 RETURNING seq, at, hash";
        PUT_HEAD = "UPDATE audit_head SET at = $1, hash = $2, bytes = bytes + $3";
        ADD = "INSERT INTO audit
               (seq, at, principal, namespace, action, target, outcome, previous, hash, details)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        /// Up to [`FEW_ENTRIES`](super::FEW_ENTRIES).
        ADD_FEW = super::ADD_FEW.text();
        /// Up to [`ENTRIES_AT_ONCE`](super::ENTRIES_AT_ONCE).
        ADD_MANY = super::ADD_MANY.text();
        ENDS = "SELECT a.seq, a.hash, h.seq, h.hash, (SELECT min(seq) FROM audit),
                       (SELECT max(seq) FROM audit) FROM audit_anchor a, audit_head h";
        /// Entries that were removed but are not yet gone count.
        SIZE = "SELECT h.seq - coalesce((SELECT min(seq) FROM audit), h.seq + 1) + 1,
                       h.bytes - a.bytes, (SELECT min(at) FROM audit), (SELECT max(at) FROM audit)
                FROM audit_anchor a, audit_head h";
        PAGE = audit_where!("seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3");
        GET = audit_where!("seq = $1");
        /// Finds the first entry that is not older. Times never fall along the chain.
        FIRST_AT = "SELECT seq FROM audit WHERE at >= $1 ORDER BY at, seq LIMIT 1";
        /// Finds the different actions in a range: one step in the index for each, not for each entry.
        ACTIONS = "WITH RECURSIVE found(action) AS (
                       SELECT min(action) FROM audit WHERE action >= $1
                       UNION ALL
                       SELECT (SELECT min(audit.action) FROM audit
                               WHERE audit.action > found.action)
                       FROM found WHERE found.action < $2 OR ($2 IS NULL AND action IS NOT NULL))
                   SELECT action FROM found
                   WHERE action < $2 OR ($2 IS NULL AND action IS NOT NULL)";
        BYTES = audit_bytes!("seq, ", " FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2");
        BYTES_UP_TO = audit_bytes!("CAST(sum(", ") AS BIGINT) FROM audit WHERE seq <= $1");
        /// Locks the anchor. Whoever has it is the only one who removes entries, until the commit. It
        /// is taken before the head.
        TAKE_ANCHOR = "UPDATE audit_anchor SET seq = seq RETURNING seq";
        PUT_ANCHOR = "UPDATE audit_anchor SET seq = $1, hash = $2";
        HASH = "SELECT hash FROM audit WHERE seq = $1";
        OLDEST = "SELECT min(seq) FROM audit";
        REMOVE = "DELETE FROM audit WHERE seq <= $1";
        NOTE_REMOVED = "UPDATE audit_anchor SET bytes = bytes + $1";
        LAST_OF = "SELECT details FROM audit WHERE action = $1 AND seq <= $2
                   ORDER BY seq DESC LIMIT 1";
        SEARCH = audit_search!("");
        SEARCH_TARGET = audit_search!("target = $4 AND");
        SEARCH_PRINCIPAL = audit_search!("principal = $1 AND");
        SEARCH_NAMESPACE = audit_search!("namespace = $2 AND");
        SEARCH_ACTION = audit_search!("action = $3 AND");
    }

    mod vault {
        KEY = "SELECT proof FROM vault_key";
        /// Locks the key's row. Whoever has it is the only one who writes to the vault, until the
        /// commit.
        TAKE_KEY = "UPDATE vault_key SET proof = proof RETURNING proof";
        CLAIM_KEY = "INSERT INTO vault_key (id, proof) VALUES (1, $1)
                     ON CONFLICT (id) DO UPDATE SET proof = vault_key.proof RETURNING proof";
        FORGET_KEY = "DELETE FROM vault_key WHERE NOT EXISTS (SELECT 1 FROM vault)";
        PUT = vault_put!("$4" "$5" "$6" "$7");
        PUT_TEN = vault_put!(
            "$4" "$5" "$6" "$7", "$8" "$9" "$10" "$11", "$12" "$13" "$14" "$15",
            "$16" "$17" "$18" "$19", "$20" "$21" "$22" "$23", "$24" "$25" "$26" "$27",
            "$28" "$29" "$30" "$31", "$32" "$33" "$34" "$35", "$36" "$37" "$38" "$39",
            "$40" "$41" "$42" "$43");
        OTHER = "SELECT 1 FROM vault WHERE namespace = $1 AND token = $2 AND fingerprint <> $3";
        GET = concat!("SELECT token, kind, fingerprint, sealed, used_at FROM vault
                       WHERE namespace = $1 AND expires_at > $2 AND ", token_list!());
        USED = concat!("UPDATE vault SET used_at = $2
                        WHERE namespace = $1 AND used_at < $2 AND ", token_list!());
        FORGET = "DELETE FROM vault
                  WHERE (namespace = $1 OR $1 IS NULL) AND (kind = $2 OR $2 IS NULL)
                  AND (token = $3 OR $3 IS NULL) AND (used_at < $4 OR $4 IS NULL)";
        COUNTS = "SELECT namespace, kind, count(*), min(created_at), max(expires_at) FROM vault
                  WHERE namespace = $1 OR $1 IS NULL
                  GROUP BY namespace, kind ORDER BY namespace, kind";
        SWEEP = "DELETE FROM vault WHERE expires_at <= $1";
    }

    mod approvals {
        /// Takes the next number. Whoever has it is the only one who asks, until the commit.
        NEXT = "UPDATE counters SET value = value + 1 WHERE name = 'approvals' RETURNING value";
        ASK_AGAIN = concat!("UPDATE approvals SET run = $6, session = $7 WHERE id =
                             (SELECT id FROM approvals
                              WHERE principal = $1 AND tool = $2 AND arguments_hash = $3
                              AND decision IS NULL AND expires_at > $4 AND reasons = $5
                              ORDER BY seq DESC LIMIT 1)
                             RETURNING ", approval_columns!(), ", 'pending'");
        PENDING = "SELECT count(*) FROM approvals
                   WHERE principal = $1 AND decision IS NULL AND expires_at > $2";
        ADD = concat!("INSERT INTO approvals
                       (id, seq, namespace, principal, tool, arguments_hash, shown, why,
                        created_at, expires_at, reasons, run, session)
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                       RETURNING ", approval_columns!(), ", 'pending'");
        /// Takes an approval. Of several who take one at the same moment the others find it used.
        TAKE = concat!("UPDATE approvals SET used_at = $4 WHERE used_at IS NULL AND id =
                        (SELECT id FROM approvals
                         WHERE principal = $1 AND tool = $2 AND arguments_hash = $3
                         AND decision IS NOT NULL AND used_at IS NULL AND expires_at > $4
                         AND reasons = $5
                         AND (decision = 'denied'
                              OR created_at <= $6 AND scope IN ('once', 'always'))
                         ORDER BY decided_at DESC, seq DESC LIMIT 1)
                        RETURNING ", approval_columns!(), ", decision");
        /// Finds a yes for all calls of a tool in a run or a session. It is not used up.
        STANDING = approvals_where!("principal = $1 AND tool = $2 AND reasons = $3
                                     AND decision = 'allowed' AND used_at IS NULL
                                     AND expires_at > $4 AND created_at <= $7
                                     AND (scope = 'run' AND run = $5
                                          OR scope = 'session' AND session = $6)
                                     ORDER BY seq DESC LIMIT 1");
        DECIDE = concat!("UPDATE approvals
                          SET decision = $2, decided_by = $3, decided_at = $4, scope = $5
                          WHERE id = $1 AND decision IS NULL AND expires_at > $4
                          RETURNING ", approval_columns!(), ", decision");
        /// Withdraws what was allowed before and not used.
        WITHDRAW = "UPDATE approvals SET used_at = $4
                    WHERE principal = $1 AND tool = $2 AND arguments_hash = $3
                    AND decision = 'allowed' AND used_at IS NULL";
        GET = approvals_where!("id = $1");
        LIST = approvals_where!("(", approval_state!(), " = $1 OR $1 IS NULL)
                                 AND ($1 <> 'pending' OR expires_at > $2 OR $1 IS NULL)
                                 ORDER BY seq DESC LIMIT $3");
        SWEEP = "DELETE FROM approvals WHERE expires_at < $1 OR used_at < $1";
    }
}
