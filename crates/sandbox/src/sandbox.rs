//! The entry to this crate: a sandbox that runs programs, so many at once.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use narrows_model::{Ending, Limits, Outcome, Program};
use thiserror::Error;
use tokio::sync::{
    Semaphore, SemaphorePermit,
    mpsc::{self, UnboundedSender},
    oneshot,
};
use tokio_util::sync::CancellationToken;

use crate::{
    driver::{self, Event},
    fs::Workspace,
    guest,
    host::ToolHost,
    isolate::{Isolate, Job},
    pool::Pool,
    report,
    runners::Runners,
    session::Session,
    ticker::Ticker,
};

/// How much a sandbox does at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Programs that run at the same time.
    pub most_runs: usize,
    /// Programs that wait for their turn behind them. Further ones are refused.
    pub most_queued: usize,
    /// Isolates that are kept ready.
    pub warm_isolates: usize,
    /// Sessions whose isolate may be kept between their programs; see [`Session`].
    pub live_sessions: usize,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Self {
            most_runs: cores * 4,
            most_queued: cores * 64,
            warm_isolates: cores * 2,
            live_sessions: 16,
        }
    }
}

/// What a run may use.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub limits: Limits,
    pub workspace: Option<Arc<Workspace>>,
    /// The program may read the workspace and change nothing in it.
    pub read_only: bool,
}

/// Why a program was not run. What a program does wrong is an [`Outcome`], not an error.
#[derive(Debug, Error)]
pub enum SandboxError {
    #[error("busy: {running} programs are running and {queued} are waiting; try again in a moment")]
    Busy { running: usize, queued: usize },
    #[error("the sandbox cannot start on this machine: {0:#}")]
    Start(wasmtime::Error),
    #[error("no thread for the sandbox: {0}")]
    Thread(#[from] io::Error),
    #[error("the run ended without an outcome, which is a defect of the sandbox")]
    Lost,
}

/// Runs programs, each in a fresh isolate or in that of its session.
#[derive(Debug)]
pub struct Sandbox {
    pool: Arc<Pool>,
    runners: Runners,
    ticker: Arc<Ticker>,
    places: Semaphore,
    queued: AtomicUsize,
    config: SandboxConfig,
}

impl Sandbox {
    /// Loads the interpreter. Warm isolates are made in the background.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let isolates = config.most_runs + config.warm_isolates + config.live_sessions + 1;
        let isolates = u32::try_from(isolates).unwrap_or(u32::MAX / 64);
        let engine = guest::engine(isolates).map_err(SandboxError::Start)?;
        let pool = Arc::new(Pool::new(&engine, config.warm_isolates).map_err(SandboxError::Start)?);
        let filler = pool.clone();
        // A warm isolate that cannot be made is made when it is needed, and then it is told.
        let chore = move |runtime: &tokio::runtime::Runtime| {
            runtime.block_on(filler.fill()).unwrap_or(false)
        };
        let runners = Runners::new(config.most_runs.max(1), Box::new(chore));
        if config.warm_isolates > 0 {
            runners.submit(|_| ())?;
        }
        Ok(Self {
            pool,
            runners,
            ticker: Arc::new(Ticker::start(&engine)?),
            places: Semaphore::new(config.most_runs.max(1)),
            queued: AtomicUsize::new(0),
            config,
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

    /// As [`Self::run`], with the variables that earlier programs of a session left, which are
    /// changed only if the program comes to its end by itself.
    pub async fn run_in(
        &self,
        mut session: Option<&mut Session>,
        program: Program,
        host: &dyn ToolHost,
        options: RunOptions,
        cancel: CancellationToken,
    ) -> Result<Outcome, SandboxError> {
        let RunOptions { limits, workspace, read_only } = options;
        let Some(_place) = self.place(&cancel).await? else {
            return Ok(never_started());
        };
        let stop = cancel.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let (events, incoming) = mpsc::unbounded_channel();
        let (completed, completions) = mpsc::unbounded_channel();
        let (kept, session_job) = match &mut session {
            Some(session) => session.begin(),
            None => (None, None),
        };
        let job = Job {
            program,
            limits: limits.clone(),
            workspace,
            read_only,
            session: session_job,
            cancel: stop,
            patience: host.patience(),
            events: events.clone(),
            completions,
        };
        let mut failure = self.start(job, kept, events)?;
        let (report, printed) = driver::drive(host, &limits, incoming, completed).await;
        match report {
            Some((mut report, kept)) => {
                let left = report.session.take();
                let mut outcome = report::outcome(report, printed, &limits);
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
        job: Job,
        kept: Option<Box<Isolate>>,
        events: UnboundedSender<Event>,
    ) -> Result<oneshot::Receiver<wasmtime::Error>, SandboxError> {
        let (pool, ticker) = (self.pool.clone(), self.ticker.clone());
        let (failed, failure) = oneshot::channel();
        self.runners.submit(move |runtime| {
            let _ticking = ticker.tick();
            runtime.block_on(async {
                let isolate = match kept {
                    Some(isolate) => Ok(isolate),
                    None => pool.take().await.map(Box::new),
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

    /// A place among the running programs; `None` if the caller gave up while waiting for it.
    async fn place(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Option<SemaphorePermit<'_>>, SandboxError> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(Some(place));
        }
        let queued = Queued::enter(&self.queued);
        if queued.ahead >= self.config.most_queued {
            return Err(SandboxError::Busy {
                running: self.config.most_runs,
                queued: queued.ahead,
            });
        }
        tokio::select! {
            // The semaphore is never closed.
            place = self.places.acquire() => Ok(place.ok()),
            () = cancel.cancelled() => Ok(None),
        }
    }
}

/// One who waits for a place, until dropped.
struct Queued<'a> {
    count: &'a AtomicUsize,
    ahead: usize,
}

impl<'a> Queued<'a> {
    fn enter(count: &'a AtomicUsize) -> Self {
        Self { count, ahead: count.fetch_add(1, Ordering::SeqCst) }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

fn never_started() -> Outcome {
    Outcome {
        ending: Ending::cancelled(),
        result: serde_json::Value::Null,
        stdout: String::new(),
        stderr: String::new(),
        dropped_bytes: Default::default(),
        wall_time: Default::default(),
        cpu_time: Default::default(),
        peak_memory_bytes: 0,
        tool_calls: 0,
        notes: Vec::new(),
    }
}
