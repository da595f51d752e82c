//! The entries that were found, and their fate.

use std::{fmt, time::Duration};

use narrows_model::{Connection, HttpSpec, HttpTransport, StdioSpec};

use super::ClientApp;

/// A server of a client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundServer {
    pub connection: Connection,
    pub start_timeout: Option<Duration>,
    pub call_timeout: Option<Duration>,
    /// Notes on what the user has to know or do.
    pub notes: Vec<String>,
    /// Whether the file names the working directory, or the project implies it.
    pub directory: Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directory {
    Written,
    Implied,
}

impl FoundServer {
    /// Tells whether both are the same server, whatever their names.
    pub(crate) fn is_same(&self, other: &Connection, directory: Directory) -> bool {
        match (&self.connection, other) {
            (Connection::Stdio(a), Connection::Stdio(b)) => {
                // A project's server is the same as the user's own without a directory.
                let implied = (self.directory == Directory::Implied && b.cwd.is_none())
                    || (directory == Directory::Implied && a.cwd.is_none());
                let without = |spec: &StdioSpec| StdioSpec {
                    cwd: None,
                    // A setting that only Narrows has.
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

/// The reason for which an entry stays in the client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The client does not use it.
    Disabled,
    /// A part of the client itself.
    Builtin,
    /// The entry is Narrows itself.
    Narrows,
    /// The configuration has the server switched off, so the client keeps it.
    DisabledHere { name: String },
    /// It cannot be read or used.
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

/// The fate of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryFate {
    /// It is imported under this name.
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
    /// Tells whether Narrows has the server afterwards.
    pub fn is_taken_over(&self) -> bool {
        !matches!(self, Self::Skipped(_))
    }
}
