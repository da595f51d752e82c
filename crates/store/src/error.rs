//! Errors of a store, and what to do about them.

use std::sync::Arc;

use crate::StoreUrl;

/// The reason why a store did not do what it was asked. Whatever it says, nothing of the request was
/// kept, unless the connection broke at the very end of it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the {what} {problem}: choose another one")]
    Name { what: &'static str, problem: String },

    #[error(
        "the {what} has {bytes} bytes, more than the {limit} that are kept: make it smaller, or keep it as a file"
    )]
    TooLarge { what: &'static str, bytes: usize, limit: usize },

    #[error("the {what} holds a NUL character, which cannot be kept: remove it")]
    Nul { what: &'static str },

    #[error(
        "session `{id}` is not held any more, somebody else has taken, changed or removed it: take it again"
    )]
    SessionMoved { id: String },

    #[error("no key was claimed for the vault: claim one before values are kept")]
    VaultUnclaimed,

    #[error(
        "the values in the vault are sealed with another key: give that key, or forget all of them first"
    )]
    VaultKey,

    #[error(
        "the token `{token}` stands for another value already, so nothing was kept: forget that token first"
    )]
    TokenTaken { token: String },

    #[error(
        "the values are removed, but their bytes may still be in the files of the store {place}: forget them again when it is less busy"
    )]
    NotWiped { place: Arc<StoreUrl>, source: Option<sqlx::Error> },

    #[error(
        "`{principal}` has {limit} approvals pending, and may have no more: decide them, or wait until they expire"
    )]
    TooManyApprovals { principal: String, limit: i64 },

    #[error("there is no approval `{id}`: list those that there are")]
    NoApproval { id: String },

    #[error("the approval `{id}` was decided already: only a pending one can be")]
    ApprovalDecided { id: String },

    #[error("the approval `{id}` has expired: let the agent ask again")]
    ApprovalExpired { id: String },

    #[error(
        "the store {place} is of version {found}, this program knows versions up to {known}: use a newer Narrows, or another store"
    )]
    Newer { place: Arc<StoreUrl>, found: i64, known: i64 },

    #[error("{place} is not a database of SQLite: give another file, or move this one away")]
    NotADatabase { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error("the store {place} is a directory: give a file in it")]
    Directory { place: Arc<StoreUrl> },

    #[error(
        "the store {place} cannot be made: check that its directory exists and may be written to"
    )]
    Make { place: Arc<StoreUrl>, source: std::io::Error },

    #[error(
        "the store {place} may not be opened or written to: check its permissions and its owner"
    )]
    Forbidden { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error(
        "the store {place} does not let us in: check user, password and the name of the database"
    )]
    Login { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error(
        "the store {place} cannot grow, its disk is full: make room and try again; what was kept before is intact"
    )]
    Full { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error("the store {place} was busy for too long: try again, and see what else uses it")]
    Busy { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error("the store {place} cannot be reached: check that the server runs, and try again")]
    Unreachable { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error("the store {place} is damaged: bring it back from a backup")]
    Damaged { place: Arc<StoreUrl>, source: sqlx::Error },

    #[error(
        "the store {place} holds a row in `{table}` that cannot be read: bring it back from a backup"
    )]
    Row { place: Arc<StoreUrl>, table: &'static str, source: serde_json::Error },

    #[error("the store {place} is closed: open it again")]
    Closed { place: Arc<StoreUrl> },

    #[error("the store {place} failed: {error}; try again, and report it if it stays so")]
    Database { place: Arc<StoreUrl>, error: sqlx::Error },
}

impl StoreError {
    /// Explains an error of the database.
    pub(crate) fn new(place: &Arc<StoreUrl>, source: sqlx::Error) -> Self {
        let place = Arc::clone(place);
        match (&source, &*place) {
            (sqlx::Error::PoolClosed, _) => Self::Closed { place },
            (sqlx::Error::PoolTimedOut, StoreUrl::Sqlite(_)) => Self::Busy { place, source },
            (sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::Tls(_), _) => {
                Self::Unreachable { place, source }
            }
            (sqlx::Error::Database(error), StoreUrl::Sqlite(_)) => {
                let code = error.code().and_then(|code| code.parse().ok());
                Self::of_sqlite(place, code.unwrap_or(0), source)
            }
            (sqlx::Error::Database(error), StoreUrl::Postgres(_)) => {
                let code = error.code().unwrap_or_default().into_owned();
                Self::of_postgres(place, &code, source)
            }
            _ => Self::Database { place, error: source },
        }
    }

    /// Explains an error by the result codes of SQLite; the low byte is the kind.
    fn of_sqlite(place: Arc<StoreUrl>, code: u32, source: sqlx::Error) -> Self {
        const IO_WRITE: u32 = 10 | (3 << 8);
        match (code, code & 0xff) {
            (_, 5 | 6) => Self::Busy { place, source },
            (IO_WRITE, _) | (_, 13) => Self::Full { place, source },
            (_, 3 | 8 | 14) => Self::Forbidden { place, source },
            (_, 11) => Self::Damaged { place, source },
            (_, 26) => Self::NotADatabase { place, source },
            _ => Self::Database { place, error: source },
        }
    }

    /// Explains an error by its SQLSTATE; the first two characters are the class.
    fn of_postgres(place: Arc<StoreUrl>, code: &str, source: sqlx::Error) -> Self {
        match (code, code.get(..2).unwrap_or_default()) {
            ("53100", _) => Self::Full { place, source },
            ("40001" | "40P01" | "55P03" | "53300", _) => Self::Busy { place, source },
            ("42501" | "25006", _) => Self::Forbidden { place, source },
            ("3D000", _) | (_, "28") => Self::Login { place, source },
            ("57P01" | "57P02" | "57P03", _) | (_, "08") => Self::Unreachable { place, source },
            ("XX001" | "XX002", _) => Self::Damaged { place, source },
            _ => Self::Database { place, error: source },
        }
    }
}
