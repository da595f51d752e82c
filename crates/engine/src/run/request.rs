//! Requests for runs and analyses.

use std::{sync::Arc, time::Duration};

use narrows_model::Program;
use narrows_sandbox::Workspace;
use tokio_util::sync::CancellationToken;

use super::OutputUse;
use crate::token_stats::RequestStats;

/// A program, and how it is to be run.
#[derive(Debug, Default)]
pub struct RunRequest {
    pub program: Program,
    /// The longest time that it may take; by default that of its isolation level.
    pub timeout: Option<Duration>,
    /// The most memory that it may use; by default that of its isolation level.
    pub memory_bytes: Option<u64>,
    /// The session whose variables the program sees.
    pub session: Option<String>,
    /// A stricter isolation level than the caller's own.
    pub isolation: Option<String>,
    pub workspace: RunWorkspace,
    pub output: OutputUse,
    pub audience: Audience,
    /// Notes for the author on what was corrected to understand the request.
    pub notes: Vec<String>,
    /// Counts the tokens that the program's calls would have cost a model.
    pub stats: Option<Arc<RequestStats>>,
    pub cancel: CancellationToken,
}

/// The options of an analysis.
#[derive(Debug, Default)]
pub struct AnalyzeOptions {
    pub workspace: RunWorkspace,
    pub audience: Audience,
    /// Counts the tokens that the calls of tools would have cost a model.
    pub stats: Option<Arc<RequestStats>>,
    pub cancel: CancellationToken,
}

/// The directory that is seen as `/workspace`.
#[derive(Clone, Debug, Default)]
pub enum RunWorkspace {
    /// The workspace of the agent's own namespace.
    #[default]
    Own,
    /// Another workspace, which the caller named.
    Given(Arc<Workspace>),
    None,
}

/// The reader of a run's result, who decides how it is protected and cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A model, which is shown tokens instead of personal data, and only as much as fits into an
    /// answer.
    #[default]
    Model,
    /// The person whose data it is, who is shown the whole result, with tokens if `protect` is set.
    Person { protect: bool },
}

impl Audience {
    /// Tells whether this audience is shown tokens instead of personal data.
    pub(crate) fn is_protected(self) -> bool {
        self != Self::Person { protect: false }
    }
}
