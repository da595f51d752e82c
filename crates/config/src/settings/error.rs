//! The reasons for which a configuration cannot be used.

use std::{fmt, io, path::PathBuf};

use crate::syntax::{Problem, Syntax, SyntaxError};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "there is no configuration at {}: correct --config, or make one with `narrows import`",
        path.display()
    )]
    Missing { path: PathBuf },
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not valid {}: {error}; correct that place", path.display(), syntax.name())]
    Malformed { path: PathBuf, syntax: Syntax, error: SyntaxError },
    #[error("{}", ProblemReport { path, problems })]
    Invalid { path: PathBuf, problems: Vec<Problem> },
    #[error(
        "{} is JSON without \"mcpServers\", so it names no servers; name a narrows.toml or a \
         client's file that has them, or run `narrows import`",
        path.display()
    )]
    NoServers { path: PathBuf },
}

/// All problems of a file at once, so that the user need not find them one by one.
struct ProblemReport<'a> {
    path: &'a PathBuf,
    problems: &'a [Problem],
}

impl fmt::Display for ProblemReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.problems {
            [problem] => write!(f, "{path}, {problem}"),
            problems => {
                write!(f, "{path} has {} mistakes:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}
