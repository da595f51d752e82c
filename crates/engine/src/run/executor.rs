//! Runs a program in the sandbox: checks the limits that were asked for, mounts the workspace, and
//! writes what is too large for an answer into it.

use std::{sync::Arc, time::Duration};

use narrows_model::{LimitKind, Limits, Outcome, Program};
use narrows_sandbox::{
    RunOptions, Sandbox, SandboxConfig, SandboxError, Session, ToolHost, WorkspaceMount,
};
use narrows_system::apart;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::overflow::Overflow;
use crate::safety::PiiFilter;

/// The shortest and the longest time that a caller may ask for.
const TIMES: (Duration, Duration) = (
    Duration::from_secs(Limits::MIN_SECONDS as u64),
    Duration::from_secs(Limits::MAX_SECONDS as u64),
);

/// The longest program. It is parsed and looked at before it runs, which takes time and many times its
/// size in memory; agents write a thousandth of that.
const MAX_SOURCE_BYTES: usize = 1 << 20;

/// A program and the conditions under which it is to run.
#[derive(Clone, Debug, Default)]
pub struct ExecuteRequest {
    pub program: Program,
    pub limits: Limits,
    pub output: OutputUse,
    /// The directory that the program sees as `/workspace`.
    pub workspace: Option<WorkspaceMount>,
    /// Protects the excerpts of results that are too large.
    pub pii_filter: Option<PiiFilter>,
    /// The caller that the run counts for: places in the sandbox are shared fairly between callers.
    pub caller: Arc<str>,
}

/// The way in which the caller uses a program's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputUse {
    /// The caller reads the output in the outcome, and needs to be told what is missing there.
    #[default]
    Kept,
    /// The caller has shown all output as it came.
    Streamed,
}

/// The reason why a program was not run.
#[derive(Debug, Error)]
pub enum ExecuteError {
    #[error("a timeout of {} s is not possible; ask for {} to {} s", .0.as_secs_f64(), TIMES.0.as_secs(), TIMES.1.as_secs())]
    Timeout(Duration),
    #[error("a memory limit of {} MB is not possible; ask for {} to {} MB", .0 >> 20, Limits::MIN_MEMORY_BYTES >> 20, Limits::MAX_MEMORY_BYTES >> 20)]
    Memory(u64),
    #[error(
        "the program has {0} bytes, and may have {MAX_SOURCE_BYTES}; put data into a file of the workspace, or into \"context\", and read it from there"
    )]
    Source(usize),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl ExecuteError {
    /// Refuses a timeout above the highest that is possible. (The isolation level may still grant
    /// less.)
    pub(super) fn check_time(timeout: Option<Duration>) -> Result<(), Self> {
        match timeout.filter(|timeout| *timeout > TIMES.1) {
            Some(timeout) => Err(Self::Timeout(timeout)),
            None => Ok(()),
        }
    }

    /// Tells whether the caller asked for something that is not possible.
    pub fn is_wrong_use(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Memory(_) | Self::Source(_))
    }
}

/// The sandbox, with a check of the limits before a run, and files for large output after it.
#[derive(Debug)]
pub struct Executor {
    sandbox: Sandbox,
}

impl Executor {
    pub fn new(config: SandboxConfig) -> Result<Self, ExecuteError> {
        Ok(Self { sandbox: Sandbox::new(config)? })
    }

    /// Runs one program to its end, with the variables of its session if it has one.
    pub async fn execute(
        &self,
        session: Option<&mut Session>,
        request: ExecuteRequest,
        host: &dyn ToolHost,
        cancel: CancellationToken,
    ) -> Result<Outcome, ExecuteError> {
        let ExecuteRequest { program, limits, output, workspace, pii_filter, caller } = request;
        check(&limits)?;
        // If the program may not write to the workspace, its output is not written there either.
        let kept = workspace.as_ref().and_then(WorkspaceMount::to_write).cloned();
        let overflow = Overflow::new(host, &limits, output, kept, pii_filter);
        let options = RunOptions { limits, workspace, caller };
        let outcome = self.sandbox.run_in(session, program, &overflow, options, cancel).await?;
        let is_large = outcome.limit().is_some_and(|hit| hit.name == LimitKind::Result);
        // Writing the result to a file blocks, so this is done apart from the async threads.
        Ok(if is_large { apart(|| overflow.finish(outcome)) } else { overflow.finish(outcome) })
    }
}

/// Checks that a program is short enough to be parsed and run.
pub fn check_source(source: &str) -> Result<(), ExecuteError> {
    match source.len() {
        bytes if bytes > MAX_SOURCE_BYTES => Err(ExecuteError::Source(bytes)),
        _ => Ok(()),
    }
}

fn check(limits: &Limits) -> Result<(), ExecuteError> {
    if !(TIMES.0..=TIMES.1).contains(&limits.wall_time) {
        return Err(ExecuteError::Timeout(limits.wall_time));
    }
    let memory = Limits::MIN_MEMORY_BYTES..=Limits::MAX_MEMORY_BYTES;
    if !memory.contains(&limits.memory_bytes) {
        return Err(ExecuteError::Memory(limits.memory_bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
