//! The entry to this crate: a sandbox that runs a bounded number of programs at once.

use std::{io, sync::Arc, thread};

use narrows_model::{Caller, Ending, FairBudget, FairSemaphore, Limits, Outcome, Permit, Program};
use narrows_system::apart;
use thiserror::Error;
use tokio::sync::{
    mpsc::{self, UnboundedSender},
    oneshot,
};
use tokio_util::sync::CancellationToken;

use crate::{
    driver::{self, Event},
    fs::WorkspaceMount,
    host::ToolHost,
    isolate::{Ended, Isolate, RunJob, Turn},
    outcome,
    pool::{Pool, PoolSize, Use},
    runners::Runners,
    session::Session,
    ticker::Ticker,
    untaken::Untaken,
};

/// A result longer than this is parsed off the async threads: millions of empty lists are a few
/// megabytes of text, and take a second.
const LONG_BYTES: usize = 16 << 10;

/// Limits on what a sandbox does at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Programs that use the processor at the same time. One that waits for a tool, a person or a
    /// timer is not among them.
    pub max_running: usize,
    /// Programs that have begun and not ended, those that wait included.
    pub max_open: usize,
    /// Programs of one caller among them: one who has many that wait must not keep others out.
    pub max_open_per_caller: usize,
    /// Programs of one caller that wait for their turn to begin. Further ones are refused.
    pub max_queued: usize,
    /// The memory of all programs that have begun, beyond what each begins with, and of answers that they
    /// have not taken. A program that is alone may use as much as its own limit.
    pub max_memory_bytes: u64,
    /// The part of it that one caller's programs may have.
    pub max_memory_bytes_per_caller: u64,
    /// Isolates that are kept ready.
    pub warm_isolates: usize,
    /// Isolates whose memory stays for the next ones when they end, up to 17 MB each; that of the others
    /// is returned to the system, and the next ones there begin a few milliseconds later.
    pub kept_isolates: usize,
    /// Sessions whose isolate may be kept between their programs; see [`Session`].
    pub live_sessions: usize,
}

/// The most isolates whose memory is kept, on a machine with many processors: half a gigabyte, which
/// stays when many programs have run at once.
const MAX_KEPT_ISOLATES: usize = 32;

/// Programs that may be open, for each processor. One that sleeps takes 12 MB, and one that has filled the
/// room that its isolate begins with 27: on a machine with two processors, all of them 500 MB to a gigabyte.
const OPEN_PER_CORE: usize = 20;
/// The memory that programs may have beyond that, for each processor.
const MEMORY_BYTES_PER_CORE: u64 = 320 << 20;
/// The least memory for all programs: the part of it that one caller may have is enough for a program
/// with the usual limit.
const MIN_MEMORY_BYTES: u64 = 640 << 20;

impl Default for SandboxConfig {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        let max_running = cores * 4;
        let warm_isolates = cores.div_ceil(2);
        let max_open = cores * OPEN_PER_CORE;
        let max_open_per_caller = max_open / 2;
        let max_memory_bytes = (cores as u64 * MEMORY_BYTES_PER_CORE).max(MIN_MEMORY_BYTES);
        Self {
            max_running,
            max_open,
            max_open_per_caller,
            max_queued: cores * 64,
            max_memory_bytes,
            max_memory_bytes_per_caller: max_memory_bytes / 5 * 4,
            // Each takes 4 MB; who comes while none is ready waits a tenth of a millisecond longer.
            warm_isolates,
            // As many as one caller may have open: with fewer, a crowd takes three times as long.
            kept_isolates: max_open_per_caller.min(MAX_KEPT_ISOLATES),
            live_sessions: 16,
        }
    }
}

impl SandboxConfig {
    /// Returns limits for one program at a time, for a command that runs one after the other.
    pub fn single() -> Self {
        Self {
            max_running: 1,
            max_open: 1,
            max_open_per_caller: 1,
            warm_isolates: 0,
            // The one of a program that has just ended is still taken apart when the next begins.
            kept_isolates: 2,
            // On their own machine, users get what they ask for.
            max_memory_bytes: Limits::MAX_MEMORY_BYTES,
            max_memory_bytes_per_caller: Limits::MAX_MEMORY_BYTES,
            ..Self::default()
        }
    }
}

/// The limits, the workspace and the caller of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub limits: Limits,
    pub workspace: Option<WorkspaceMount>,
    /// Who it runs for: places are shared fairly between callers.
    pub caller: Caller,
}

/// Why a program was not run. What a program does wrong is an [`Outcome`], not an error.
#[derive(Debug, Error)]
pub enum SandboxError {
    #[error(
        "busy: {open} of your programs have begun and {queued} are waiting; try again in a moment"
    )]
    Busy { open: usize, queued: usize },
    #[error("the sandbox cannot start on this machine: {0:#}")]
    Start(wasmtime::Error),
    #[error("no thread for the sandbox: {0}")]
    Thread(#[from] io::Error),
    #[error("the run ended without an outcome, which is a defect of the sandbox")]
    Lost,
}

/// A sandbox that runs programs, each in a fresh isolate or in that of its session.
#[derive(Debug)]
pub struct Sandbox {
    pool: Arc<Pool>,
    runners: Runners,
    ticker: Arc<Ticker>,
    /// Programs that have begun and not ended.
    places: Arc<FairSemaphore>,
    /// Programs that use the processor.
    turns: Arc<FairSemaphore>,
    /// The memory of programs that have begun.
    memory: Arc<FairBudget>,
}

impl Sandbox {
    /// Loads the interpreter. Warm isolates are made in the background.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let size = PoolSize {
            isolates: config.max_open + config.warm_isolates + config.live_sessions + 1,
            kept: config.kept_isolates,
            ready: config.warm_isolates,
        };
        let memory = FairBudget::new(config.max_memory_bytes, config.max_memory_bytes_per_caller);
        let ticker = Arc::new(Ticker::start()?);
        let pool = Pool::new(size, Arc::clone(&memory), Arc::clone(&ticker));
        let pool = pool.map_err(SandboxError::Start)?;
        let pool = Arc::new(pool);
        let filler = pool.clone();
        // Where a warm isolate cannot be made, one is made when it is needed, and then the error is
        // reported.
        let chore = move |runtime: &tokio::runtime::Runtime| {
            runtime.block_on(filler.fill()).unwrap_or(false)
        };
        let giver = Arc::clone(&pool);
        // Memory that cannot be given back stays, as it would without this.
        let rest = move || drop(giver.give_back());
        let runners = Runners::new(config.max_open.max(1), Box::new(chore), Box::new(rest));
        if config.warm_isolates > 0 {
            runners.submit(|_| ())?;
        }
        Ok(Self {
            pool,
            runners,
            ticker,
            // A program may wait for minutes.
            places: FairSemaphore::for_long(
                config.max_open.max(1),
                config.max_open_per_caller.max(1),
                config.max_queued,
            ),
            // A program that has a place may always wait for a turn.
            turns: FairSemaphore::new(config.max_running.max(1), usize::MAX, usize::MAX),
            memory,
        })
    }

    /// Waits until the warm isolates are ready.
    pub async fn warmed(&self) {
        self.pool.filled().await;
    }

    /// Runs one program to its end. Dropping the future cancels the run.
    pub async fn run(
        &self,
        program: Program,
        host: &dyn ToolHost,
        options: RunOptions,
        cancel: CancellationToken,
    ) -> Result<Outcome, SandboxError> {
        self.run_in(None, program, host, options, cancel).await
    }

    /// Like [`Self::run`], with the variables that earlier programs of a session left, which are
    /// changed only if the program comes to its end by itself.
    pub async fn run_in(
        &self,
        mut session: Option<&mut Session>,
        program: Program,
        host: &dyn ToolHost,
        options: RunOptions,
        cancel: CancellationToken,
    ) -> Result<Outcome, SandboxError> {
        let RunOptions { mut limits, workspace, caller } = options;
        if let Some(mount) = &workspace {
            limits = mount.workspace().limits(limits);
        }
        let Some(_place) = self.place(&caller, &cancel).await? else {
            return Ok(never_started());
        };
        // Nothing is begun that could not go on: an isolate that waits for the processor is in the way
        // of those that have it.
        let Some(turn) = self.turn(&caller, &cancel).await else { return Ok(never_started()) };
        let stop = cancel.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let (events, incoming) = mpsc::unbounded_channel();
        let (completed, completions) = mpsc::unbounded_channel();
        let (kept, session_job) = match &mut session {
            Some(session) => session.begin(),
            None => (None, None),
        };
        let untaken = Untaken::new(Arc::clone(&self.memory), Arc::clone(&caller));
        let job = RunJob {
            program,
            limits: limits.clone(),
            workspace,
            session: session_job,
            turn: Turn::new(Arc::clone(&self.turns), caller, turn),
            cancel: stop,
            patience: host.patience(),
            events: events.clone(),
            completions,
        };
        let mut failure = self.start(job, kept, events)?;
        let (report, printed) = driver::drive(host, &limits, incoming, completed, untaken).await;
        match report {
            Some((mut report, kept)) => {
                let left = report.session.take();
                let is_long =
                    matches!(&report.ended, Ended::Returned(text) if text.len() > LONG_BYTES);
                let telling = || outcome::outcome(report, printed, &limits);
                let mut outcome = if is_long { apart(telling) } else { telling() };
                if let Some(session) = session {
                    outcome.notes.extend(session.end(left, kept));
                }
                Ok(outcome)
            }
            None => Err(failure.try_recv().map_or(SandboxError::Lost, SandboxError::Start)),
        }
    }

    /// Runs the job on one of our threads. Not part of [`Self::run_in`]: the code of an `async fn` is
    /// compiled by whoever awaits it.
    fn start(
        &self,
        job: RunJob,
        kept: Option<Box<Isolate>>,
        events: UnboundedSender<Event>,
    ) -> Result<oneshot::Receiver<wasmtime::Error>, SandboxError> {
        let (pool, ticker) = (self.pool.clone(), self.ticker.clone());
        let (failed, failure) = oneshot::channel();
        let needed = if job.session.is_some() { Use::Session } else { Use::Once };
        self.runners.submit(move |runtime| {
            let _ticking = ticker.tick();
            runtime.block_on(async {
                let isolate = match kept {
                    Some(isolate) => Ok(isolate),
                    None => pool.take(needed).await.map(Box::new),
                };
                match isolate {
                    Ok(mut isolate) => {
                        let report = isolate.run(job).await;
                        let is_kept =
                            report.session.as_ref().is_some_and(|left| left.state.is_ok());
                        let (kept, done) = match is_kept {
                            true => (Some(isolate), None),
                            false => (None, Some(isolate)),
                        };
                        // Before the isolate is taken apart. The caller may be gone.
                        let _ = events.send(Event::Finished(Box::new(report), kept));
                        // The system may have put the caller behind us on this processor.
                        thread::yield_now();
                        drop(done);
                    }
                    Err(error) => {
                        let _ = failed.send(error);
                    }
                }
            });
        })?;
        Ok(failure)
    }

    /// Waits for a turn; `None` if the caller gave up while waiting for it.
    async fn turn(&self, caller: &Caller, cancel: &CancellationToken) -> Option<Permit> {
        // There is no limit for those who wait.
        let turn = self.turns.acquire(caller).ok()?;
        tokio::select! {
            biased;
            turn = turn => Some(turn),
            () = cancel.cancelled() => None,
        }
    }

    /// Waits for a place; `None` if the caller gave up while waiting for it.
    async fn place(
        &self,
        caller: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Option<Permit>, SandboxError> {
        let place = self
            .places
            .acquire(caller)
            .map_err(|full| SandboxError::Busy { open: full.held, queued: full.waiting })?;
        tokio::select! {
            biased;
            place = place => Ok(Some(place)),
            () = cancel.cancelled() => Ok(None),
        }
    }
}

fn never_started() -> Outcome {
    Outcome {
        ending: Ending::cancelled(),
        result: serde_json::Value::Null,
        stdout: String::new(),
        stderr: String::new(),
        dropped_bytes: Default::default(),
        excerpts: Vec::new(),
        wall_time: Default::default(),
        cpu_time: Default::default(),
        peak_memory_bytes: 0,
        tool_calls: 0,
        notes: Vec::new(),
    }
}
