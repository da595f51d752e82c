//! [`Analysis`]: runs analyses in turn, on threads of their own and within limits.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt;
use narrows_model::{Caller, FairSemaphore, QueueFull};
use narrows_tables::Input;
use tokio::{
    runtime::Runtime,
    sync::RwLock,
    task::{AbortHandle, JoinError},
};
use tokio_util::sync::CancellationToken;

use super::{budget::Budget, job::Job, session, spill::SpillTarget, waiting::WaitingTables};
use crate::{
    answer::Answer,
    error::{AnalysisError, Result, in_words},
    request::Request,
};

/// The limits of every analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The memory of one analysis. Stops queries from filling the machine's memory; operators that can
    /// write to disk do so. Analyses that run at the same time share a quarter more; see `Budget`.
    pub memory_bytes: usize,
    /// The temporary files of one analysis, and the largest file of rows. Stops queries from filling the
    /// disk.
    pub disk_bytes: u64,
    /// The directory of temporary files. Each analysis has a directory in it, which is removed at its
    /// end.
    pub temporary: PathBuf,
    /// The time of one analysis. Stops queries that never end.
    pub time: Duration,
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memory_bytes: 384 << 20,
            disk_bytes: 4 << 30,
            temporary: std::env::temp_dir(),
            time: Duration::from_secs(30),
            threads: std::thread::available_parallelism().map_or(2, usize::from),
        }
    }
}

/// How many analyses run at the same time. Stops callers from filling the machine's memory with many
/// analyses, each of which stays within its own limit.
pub(super) const MAX_RUNNING: usize = 2;
/// How many analyses of one caller wait. Stops callers from filling the memory with tables of analyses
/// that wait.
const MAX_WAITING: usize = 32;

/// The stack of a thread. Plans are trees that are walked and dropped recursively, and queries may nest
/// deeply.
const STACK_BYTES: usize = 32 << 20;

/// How long a cancelled analysis may take to free its memory and files before its caller is answered.
const TIDY: Duration = Duration::from_secs(1);

/// How long [`Analysis::idle`] waits for that.
const LEAVING: Duration = Duration::from_secs(5);

/// The runner of analyses. They run on threads of their own, so that heavy ones never hold up their
/// callers.
#[derive(Debug)]
pub struct Analysis {
    settings: Settings,
    /// None only while this is dropped.
    runtime: Option<Runtime>,
    /// The permits to run, few because memory limits how many analyses can run at the same time.
    turns: Arc<FairSemaphore>,
    budget: Arc<Budget>,
    waiting: Arc<WaitingTables>,
    /// A lock that every analysis holds shared until its memory and files are freed, so that
    /// [`Self::idle`] can wait for all.
    running: Arc<RwLock<()>>,
}

impl Analysis {
    pub fn new(settings: Settings) -> Result<Self> {
        let failed = |error: std::io::Error| AnalysisError::Internal(error.to_string());
        std::fs::create_dir_all(&settings.temporary).map_err(failed)?;
        session::remove_abandoned(&settings.temporary);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(settings.threads.max(1))
            .thread_name("analysis")
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build()
            .map_err(failed)?;
        // One caller with many large analyses must not keep others waiting.
        let turns = FairSemaphore::new(MAX_RUNNING, MAX_RUNNING / 2, MAX_WAITING);
        let budget = Budget::new(settings.memory_bytes);
        let (waiting, running) = Default::default();
        Ok(Self { settings, runtime: Some(runtime), turns, budget, waiting, running })
    }

    /// Runs an analysis like [`Self::run_for`], where there is one caller only.
    pub async fn run(
        &self,
        request: Request,
        tables: Vec<(String, Input)>,
        keep: Option<SpillTarget>,
        cancel: CancellationToken,
    ) -> Result<Answer> {
        self.run_for(&Caller::from(""), request, tables, keep, cancel).await
    }

    /// Runs an analysis of these tables when it is this caller's turn. The first table is the one that
    /// the analysis is about. Dropping the future stops the work.
    pub async fn run_for(
        &self,
        caller: &Caller,
        request: Request,
        tables: Vec<(String, Input)>,
        keep: Option<SpillTarget>,
        cancel: CancellationToken,
    ) -> Result<Answer> {
        let Some(runtime) = &self.runtime else { return Err(AnalysisError::Cancelled) };
        let busy = |full: QueueFull| AnalysisError::Busy { waiting: full.waiting };
        let mut turn = self.turns.acquire(caller).map_err(busy)?;
        let turn = if let Some(turn) = (&mut turn).now_or_never() {
            turn
        } else {
            let waiting = self.waiting.enter(caller, &tables);
            let _waiting = waiting.ok_or(AnalysisError::TablesWaiting)?;
            tokio::select! {
                biased;
                turn = turn => turn,
                () = cancel.cancelled() => return Err(AnalysisError::Cancelled),
            }
        };
        let stop = cancel.child_token();
        let stopped_on_drop = stop.clone().drop_guard();
        let running = Arc::clone(&self.running);
        let (settings, budget) = (self.settings.clone(), Arc::clone(&self.budget));
        let job = Job { settings, budget, request, tables, keep, stop, running, _turn: turn };
        let mut task = job.start(runtime);
        let aborted = AbortOnDrop(task.abort_handle());
        let ending = tokio::select! {
            biased;
            ended = &mut task => return ended.unwrap_or_else(|error| Err(broken(error))),
            () = cancel.cancelled() => AnalysisError::Cancelled,
            () = tokio::time::sleep(self.settings.time) => AnalysisError::Time(self.settings.time),
        };
        drop(aborted);
        drop(stopped_on_drop);
        let _ = tokio::time::timeout(TIDY, task).await;
        Err(ending)
    }

    /// Waits, for a limited time, until all analyses have freed their memory and files.
    pub async fn idle(&self) {
        let _ = tokio::time::timeout(LEAVING, self.running.write()).await;
    }
}

impl Drop for Analysis {
    /// Shuts the runtime down in the background. A plain drop of it would panic on a thread of another
    /// runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Converts the failure of an analysis' task. A panic in the query engine ends one analysis and nothing
/// else.
fn broken(error: JoinError) -> AnalysisError {
    match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            AnalysisError::Internal(in_words(&text.unwrap_or_else(|| "it broke off".to_owned())))
        }
        Err(_) => AnalysisError::Cancelled,
    }
}
