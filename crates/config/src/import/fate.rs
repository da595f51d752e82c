//! What was found and what becomes of it.

use std::{fmt, time::Duration};

use narrows_model::{Connection, HttpSpec, HttpTransport, StdioSpec};

use super::ClientApp;

/// A server that a client has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundServer {
    pub connection: Connection,
    pub start_timeout: Option<Duration>,
    pub call_timeout: Option<Duration>,
    /// What the user has to know or do.
    pub notes: Vec<String>,
    /// Whether the working directory was written, or follows from the project.
    pub directory: Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directory {
    Written,
    Implied,
}

impl FoundServer {
    /// Whether both are the same server, however they are called.
    pub(crate) fn is_same(&self, other: &Connection, directory: Directory) -> bool {
        match (&self.connection, other) {
            (Connection::Stdio(a), Connection::Stdio(b)) => {
                // A project's server is the same as the user's own that has no directory.
                let implied = (self.directory == Directory::Implied && b.cwd.is_none())
                    || (directory == Directory::Implied && a.cwd.is_none());
                let without = |spec: &StdioSpec| StdioSpec {
                    cwd: None,
                    // Settings of ours, which clients do not have.
                    inherit_env: Vec::new(),
                    ..spec.clone()
                };
                (implied || a.cwd == b.cwd) && without(a) == without(b)
            }
            (Connection::Http(a), Connection::Http(b)) => is_same_address(a, b),
            _ => false,
        }
    }
}

fn is_same_address(a: &HttpSpec, b: &HttpSpec) -> bool {
    let url = |spec: &HttpSpec| spec.url.as_written().trim_end_matches('/').to_owned();
    let open = |spec: &HttpSpec| spec.transport == HttpTransport::Auto;
    url(a) == url(b)
        && a.headers == b.headers
        && a.oauth == b.oauth
        && (a.transport == b.transport || open(a) || open(b))
}

/// Why an entry is left where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The client does not use it.
    Disabled,
    /// A part of the client itself.
    Builtin,
    /// Narrows, in front of others already.
    Narrows,
    /// The configuration has it, but does not use it; so the client goes on with it.
    DisabledHere { name: String },
    /// It cannot be understood or used.
    Unusable(String),
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("disabled in the client"),
            Self::Builtin => f.write_str("a part of the client itself"),
            Self::Narrows => f.write_str("this is Narrows"),
            Self::DisabledHere { name } => {
                write!(f, "in the configuration already, as {name}, and disabled there")
            }
            Self::Unusable(reason) => f.write_str(reason),
        }
    }
}

/// What becomes of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryFate {
    /// It gets this name.
    Imported {
        name: String,
    },
    /// The same server is imported from another place.
    Duplicate {
        name: String,
        of: ClientApp,
    },
    /// The configuration has it already.
    Present {
        name: String,
    },
    Skipped(Skip),
}

impl EntryFate {
    /// Whether Narrows has the server afterwards.
    pub fn is_taken_over(&self) -> bool {
        !matches!(self, Self::Skipped(_))
    }
}
