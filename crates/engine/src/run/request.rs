//! What a caller asks for.

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
    /// How long it may take; what its isolation level gives, if nobody says it.
    pub timeout: Option<Duration>,
    /// How much memory it may use; what its isolation level gives, if nobody says it.
    pub memory_bytes: Option<u64>,
    /// The session whose variables the program sees.
    pub session: Option<String>,
    /// A stricter isolation level than the caller's own.
    pub isolation: Option<String>,
    pub workspace: RunWorkspace,
    pub output: OutputUse,
    pub audience: Audience,
    /// What was corrected to understand the request, which its author should know.
    pub notes: Vec<String>,
    /// Where it is written what the program's calls would have cost a model.
    pub stats: Option<Arc<RequestStats>>,
    pub cancel: CancellationToken,
}

/// How an analysis is to be done.
#[derive(Debug, Default)]
pub struct AnalyzeOptions {
    pub workspace: RunWorkspace,
    pub audience: Audience,
    /// Where it is written what the calls of tools would have cost a model.
    pub stats: Option<Arc<RequestStats>>,
    pub cancel: CancellationToken,
}

/// The directory that is seen as `/workspace`.
#[derive(Clone, Debug, Default)]
pub enum RunWorkspace {
    /// That of the agent.
    #[default]
    Own,
    /// Another one, which its caller named.
    Given(Arc<Workspace>),
    None,
}

/// Who reads what comes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A model: it is shown tokens in the place of personal data, and as much as fits into an answer.
    #[default]
    Model,
    /// The person whose data it is, who is shown all of it, with tokens if that is asked for.
    Person { protect: bool },
}

impl Audience {
    /// Whether tokens are in the place of personal data.
    pub(crate) fn is_protected(self) -> bool {
        self != Self::Person { protect: false }
    }
}
