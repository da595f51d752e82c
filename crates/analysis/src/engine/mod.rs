//! Runs analyses within their limits.

mod budget;
mod conditions;
mod kept;
mod plan;
mod pool;
mod rows;
mod session;
mod suggested;
mod waiting;

use std::{path::PathBuf, sync::Arc, time::Duration};

use datafusion::common::TableReference;
use futures::FutureExt;
use narrows_model::{Caller, FairSemaphore, Full, Permit};
use narrows_tables::Input;
use tokio::{
    runtime::Runtime,
    sync::RwLock,
    task::{AbortHandle, JoinError, JoinHandle},
};
use tokio_util::sync::CancellationToken;

pub use kept::{Keep, MakeFile, Sink};

use crate::{
    answer::{self, Answer},
    error::{AnalysisError, Result, explain, in_words},
    kind::Kind,
    load, ops,
    request::Request,
    work::{MAIN, Work},
};
use budget::{Budget, BudgetShare};
use session::Session;
use suggested::suggested;
use waiting::WaitingTables;

/// What every analysis may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Against queries that fill the machine's memory; what operators can write to disk they do. Those
    /// that run at once share a quarter more; see `Budget`.
    pub memory_bytes: usize,
    /// Against queries that fill the disk; also the most that a file of rows may have.
    pub disk_bytes: u64,
    /// Where temporary files are; each analysis has a directory there that goes with it.
    pub temporary: PathBuf,
    /// Against queries that never end.
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

/// Filling the machine's memory with many analyses, each of which stays within its limit.
const MAX_RUNNING: usize = 2;
/// Filling it with the tables of those that wait; of one caller.
const MAX_WAITING: usize = 32;

/// Plans are trees that are walked and dropped recursively; a query may nest deeply.
const STACK_BYTES: usize = 32 << 20;

/// How long an ended analysis may take to put its things away before its caller hears of it.
const TIDY: Duration = Duration::from_secs(1);

/// How long whoever ends waits for that.
const LEAVING: Duration = Duration::from_secs(5);

/// Analyses run on threads of their own, so that heavy ones never hold up their callers.
#[derive(Debug)]
pub struct Analysis {
    settings: Settings,
    /// Only absent while this is dropped.
    runtime: Option<Runtime>,
    /// Analyses that run at the same time: their memory is what limits them.
    turns: Arc<FairSemaphore>,
    budget: Arc<Budget>,
    waiting: Arc<WaitingTables>,
    /// Every analysis has a share in it until its things are put away.
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

    /// As [`Self::run_for`], where there is one caller only.
    pub async fn run(
        &self,
        request: Request,
        tables: Vec<(String, Input)>,
        keep: Option<Keep>,
        cancel: CancellationToken,
    ) -> Result<Answer> {
        self.run_for(&Caller::from(""), request, tables, keep, cancel).await
    }

    /// Does what is asked for with these tables, of which the first is the one it is about, when it
    /// is this caller's turn. Dropping the future stops the work.
    pub async fn run_for(
        &self,
        caller: &Caller,
        request: Request,
        tables: Vec<(String, Input)>,
        keep: Option<Keep>,
        cancel: CancellationToken,
    ) -> Result<Answer> {
        let Some(runtime) = &self.runtime else { return Err(AnalysisError::Cancelled) };
        let busy = |full: Full| AnalysisError::Busy { waiting: full.waiting };
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

    /// Waits a moment for analyses that were given up to put their things away.
    pub async fn idle(&self) {
        let _ = tokio::time::timeout(LEAVING, self.running.write()).await;
    }
}

impl Drop for Analysis {
    /// Unlike a plain drop of the runtime this may be done on a thread of another one.
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

/// A panic in the query engine is the end of one analysis and of nothing else.
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

/// One analysis from its tables to its answer.
struct Job {
    settings: Settings,
    budget: Arc<Budget>,
    request: Request,
    tables: Vec<(String, Input)>,
    keep: Option<Keep>,
    stop: CancellationToken,
    running: Arc<RwLock<()>>,
    /// Given back when its memory is, also if nobody waits for its answer any more.
    _turn: Permit,
}

impl Job {
    /// Not part of [`Analysis::run`]: the code of an `async fn` is compiled by whoever awaits it,
    /// and that of an analysis takes minutes.
    fn start(self, runtime: &Runtime) -> JoinHandle<Result<Answer>> {
        runtime.spawn(self.run())
    }

    async fn run(self) -> Result<Answer> {
        let _running = Arc::clone(&self.running).read_owned().await;
        let settings = self.settings.clone();
        let total = self.budget.total(MAX_RUNNING);
        let share = BudgetShare::new(&self.budget);
        self.answer(Arc::clone(&share)).await.map_err(|error| match error {
            AnalysisError::Memory(_) if share.was_refused() => AnalysisError::SharedMemory(total),
            AnalysisError::Memory(_) => AnalysisError::Memory(settings.memory_bytes),
            AnalysisError::Disk(_) => AnalysisError::Disk(settings.disk_bytes),
            other => other.shortened(),
        })
    }

    async fn answer(self, share: Arc<BudgetShare>) -> Result<Answer> {
        let session = Session::new(&self.settings, share, self.stop)?;
        let work = Arc::new(load(&session, self.tables).await?);
        let Request { kind, parameters, output, refusal } = self.request;
        if let Some(refusal) = refusal {
            return Err(suggested(&work, kind, refusal).await);
        }
        let cost = match output.cost && !work.tables().is_empty() {
            true => answer::cost(work.main().await?, None).await,
            false => None,
        };
        let outcome = match ops::run(&work, kind, &parameters).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(suggested(&work, kind, error).await),
        };
        let must_keep = self.keep.as_ref().is_some_and(|keep| keep.always);
        let not_kept = |reason: &str| AnalysisError::parameter("output.file", reason);
        let table = match outcome.frame {
            Some(frame) => {
                let reader = rows::Reader::new(output, self.keep, self.settings.disk_bytes);
                let (table, failed) = match (reader.read(frame).await, kind) {
                    (Ok(read), _) => read,
                    (Err(error), Kind::Sql) => return Err(explain(&error, AnalysisError::Sql)),
                    (Err(error), _) => return Err(work.explained(error).await),
                };
                match failed {
                    Some(reason) if must_keep => {
                        return Err(not_kept(&format!("it cannot be written: {reason}")));
                    }
                    Some(reason) => work.note(format!(
                        "not all rows are in the answer, and they could not be kept in a file: \
                         {reason}"
                    )),
                    None => {}
                }
                Some(table)
            }
            None if must_keep => {
                let reason = format!("{} gives no rows that a file could have", kind.name());
                return Err(not_kept(&reason));
            }
            None => None,
        };
        let mut facts = outcome.facts;
        facts.extend(outcome.later.map(|later| later()).unwrap_or_default());
        Ok(Answer { kind, facts, table, notes: work.into_notes(), cost })
    }
}

/// Makes tables of the data and gives them their names.
async fn load(session: &Session, tables: Vec<(String, Input)>) -> Result<Work> {
    let context = session.context();
    let (mut names, mut notes) = (Vec::new(), Vec::new());
    for (name, input) in tables {
        if names.contains(&name) {
            return Err(AnalysisError::parameter(
                "data",
                format!("two tables are called {name:?}"),
            ));
        }
        let loaded = load::load(context, &name, input).await?;
        context.register_table(TableReference::bare(name.as_str()), loaded.provider)?;
        notes.extend(loaded.notes);
        names.push(name);
    }
    // The first is the one that it is about, whatever its name.
    if let Some(first) = names.first().filter(|_| !names.iter().any(|name| name == MAIN)) {
        let provider = context.table_provider(TableReference::bare(first.as_str())).await?;
        context.register_table(TableReference::bare(MAIN), provider)?;
    }
    Ok(Work::new(context.clone(), names, notes))
}
