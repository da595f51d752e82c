//! One interpreter: its state on the host's side, and a run in it from start to end.

use std::{
    collections::HashMap,
    fmt,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use narrows_model::{
    Acquire, Caller, FairBudget, FairSemaphore, LimitHit, LimitKind, Limits, OutputStream, Permit,
    Program,
};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{
    OwnedSemaphorePermit,
    mpsc::{UnboundedReceiver, UnboundedSender},
    oneshot,
};
use tokio_util::sync::CancellationToken;
use wasmtime::{Engine, Store, Trap, component::ResourceTable};
use wasmtime_wasi::{I32Exit, WasiCtx, WasiCtxView, WasiView};

use crate::{
    driver::{Completion, Event, failure_json},
    fs::{FileSystem, FileSystemView, WorkspaceMount},
    guest::{Guest, SandboxPre, interface},
    host::ToolFailure,
    meter::{MemoryMeter, MemoryRefusal, thread_cpu_time},
    output::Output,
    paused_clock::PausedClock,
    session::{self, LostVariables},
    untaken::UntakenBytes,
};

/// The most that a program can hand to the host in one piece; the guest keeps below it.
const MAX_TRANSFER_BYTES: usize = 64 << 20;

/// Filling the host's memory with the arguments of calls that wait for their turn.
const MAX_UNANSWERED_BYTES: usize = 64 << 20;

/// Filling the host's memory with the data of answers that are never taken.
const MAX_UNTAKEN_BYTES: usize = 64 << 20;

/// The whole environment of a program.
const ENVIRONMENT: [(&str, &str); 4] =
    [("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("TMPDIR", "/tmp"), ("TZ", "UTC")];

/// An instance of the guest, in which no program has run yet, or those of one session.
pub(crate) struct Isolate {
    store: Store<IsolateState>,
    guest: Guest,
    /// Its place, if it has one whose memory is kept. Declared last: it is given back after the memory
    /// is.
    _kept: Option<OwnedSemaphorePermit>,
}

/// The host's state of an isolate.
pub(crate) struct IsolateState {
    wasi: WasiCtx,
    table: ResourceTable,
    files: FileSystem,
    memory: MemoryMeter,
    stdout: Output,
    stderr: Output,
    link: Option<Link>,
}

/// The connection of a run to its caller.
struct Link {
    events: UnboundedSender<Event>,
    completions: UnboundedReceiver<Completion>,
    calls: u32,
    /// The size of the arguments of each call that is not answered yet.
    unanswered: HashMap<u64, usize>,
    /// The data of answers that was not taken yet.
    untaken: HashMap<u64, Bytes>,
    limits: Limits,
}

impl Link {
    /// Turns a completion into an answer as the guest reads it, and keeps its data until the guest
    /// takes it.
    fn told(&mut self, completion: Completion) -> (u64, bool, String) {
        let Completion { number, succeeded, text, data, untaken } = completion;
        if untaken.is_some_and(UntakenBytes::taken) {
            let _ = self.events.send(Event::Taken);
        }
        let size = self.unanswered.remove(&number);
        // The data of an abandoned call is dropped: nobody waits for it any more.
        let Some(data) = data.filter(|_| size.is_some()) else { return (number, succeeded, text) };
        let waiting: usize = self.untaken.values().map(Bytes::len).sum();
        if waiting + data.len() > MAX_UNTAKEN_BYTES {
            let max = MAX_UNTAKEN_BYTES >> 20;
            let failure = ToolFailure::new(format!(
                "the answer is larger than the {max} MB that a program can be given at once"
            ));
            return (number, false, failure_json(&failure));
        }
        self.untaken.insert(number, data);
        (number, succeeded, text)
    }
}

/// Everything that a run needs on the guest's thread.
pub(crate) struct RunJob {
    pub(crate) program: Program,
    pub(crate) limits: Limits,
    pub(crate) workspace: Option<WorkspaceMount>,
    pub(crate) session: Option<SessionJob>,
    pub(crate) turn: Turn,
    pub(crate) cancel: CancellationToken,
    pub(crate) patience: PausedClock,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) completions: UnboundedReceiver<Completion>,
}

/// The part of a [`RunJob`] that only a program of a session has.
#[derive(Debug)]
pub(crate) struct SessionJob {
    /// The saved variables of earlier programs, for an isolate in which none has run.
    pub(crate) restore: Option<Arc<[u8]>>,
}

/// The variables that a session's program left. An isolate that could not save them is of no use any
/// more.
#[derive(Debug)]
pub(crate) struct SessionReport {
    pub(crate) state: Result<Arc<[u8]>, String>,
    /// Variables that cannot be saved, though the isolate has them.
    pub(crate) fleeting: LostVariables,
    /// Variables of earlier programs that could not be restored.
    pub(crate) lost: LostVariables,
}

/// How a run ended, and what was measured of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) ended: Ended,
    pub(crate) wall_time: Duration,
    pub(crate) cpu_time: Duration,
    pub(crate) peak_memory_bytes: u64,
    pub(crate) tool_calls: u32,
    /// Why memory was refused at some point, if it was.
    pub(crate) memory_refused: Option<MemoryRefusal>,
    /// The quota of the file system that was reached at some point, if any.
    pub(crate) files_refused: Option<LimitKind>,
    /// Why nothing could be written to the workspace.
    pub(crate) workspace_failure: Option<String>,
    /// Present if a session's program came to its end by itself.
    pub(crate) session: Option<SessionReport>,
}

#[derive(Debug)]
pub(crate) enum Ended {
    /// The guest gave its outcome, as JSON.
    Returned(String),
    /// `os._exit`. WASI does not tell the status.
    Exited,
    Limit(LimitKind),
    Cancelled,
    /// `os.abort`, or a fatal error of the interpreter.
    Aborted,
    /// The variables of earlier programs of the session cannot be brought back at all.
    NotRestored(String),
    /// A crash of the guest, which no program causes by accident.
    Trapped(String),
}

/// An error that ends a run from within a host function.
#[derive(Debug, Error)]
#[error("{0:?} limit exceeded")]
pub(crate) struct Exceeded(pub(crate) LimitKind);

impl fmt::Debug for Isolate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Isolate")
    }
}

impl Isolate {
    /// Returns how much memory it has beyond what it began with.
    pub(crate) fn grown_bytes(&self) -> u64 {
        self.store.data().memory.grown()
    }

    pub(crate) async fn new(
        engine: &Engine,
        pre: &SandboxPre<IsolateState>,
        memory: Arc<FairBudget>,
        kept: Option<OwnedSemaphorePermit>,
    ) -> wasmtime::Result<Self> {
        let (stdout, stderr) =
            (Output::new(OutputStream::Stdout), Output::new(OutputStream::Stderr));
        let state = IsolateState {
            wasi: WasiCtx::builder()
                .stdout(stdout.clone())
                .stderr(stderr.clone())
                .envs(&ENVIRONMENT)
                .allow_tcp(false)
                .allow_udp(false)
                .allow_ip_name_lookup(false)
                .build(),
            table: ResourceTable::new(),
            files: FileSystem::new(None, &Limits::default()),
            memory: MemoryMeter::for_start(memory),
            stdout,
            stderr,
            link: None,
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        store.set_hostcall_fuel(MAX_TRANSFER_BYTES);
        let guest = pre.instantiate_async(&mut store).await?;
        Ok(Self { store, guest, _kept: kept })
    }

    /// Touches the memory that every run touches.
    pub(crate) async fn warm(&mut self) -> wasmtime::Result<()> {
        self.guest.call_warm(&mut self.store).await
    }

    /// Runs the one program of this isolate, or the next one of its session.
    pub(crate) async fn run(&mut self, job: RunJob) -> Report {
        let RunJob {
            program,
            limits,
            workspace,
            session,
            turn,
            cancel,
            patience,
            events,
            completions,
        } = job;
        let started = Instant::now();
        let state = self.store.data_mut();
        let has_workspace = workspace.is_some();
        if session.is_none() || !state.files.is_of(workspace.as_ref()) {
            state.files = FileSystem::new(workspace, &limits);
        }
        // What an earlier program of the session ran into was reported with that one.
        state.files.refusal();
        state.files.count_failure();
        state.memory.begin(&limits, Arc::clone(&turn.caller));
        state.stdout.begin(events.clone(), &limits);
        state.stderr.begin(events.clone(), &limits);
        state.link = Some(Link {
            events,
            completions,
            calls: 0,
            unanswered: HashMap::new(),
            untaken: HashMap::new(),
            limits: limits.clone(),
        });

        let mut bounds =
            Bounds { limits, started, patience, cancel, turn, cpu_time: Duration::ZERO };
        let mut lost = LostVariables::new();
        let (guest, store) = (&self.guest, &mut self.store);
        let call = async {
            if let Some(state) = session.as_ref().and_then(|session| session.restore.as_ref()) {
                match guest.call_restore(&mut *store, state, has_workspace).await? {
                    Ok(names) => lost = session::names(&names),
                    Err(reason) => return Ok(Ended::NotRestored(reason)),
                }
            }
            let context = Value::Object(program.context).to_string();
            let (name, source) = (&program.name, &program.source);
            let outcome = guest
                .call_run(store, name, source, &context, has_workspace, session.is_some())
                .await?;
            Ok(Ended::Returned(outcome))
        };
        let ended = bounds.drive(call).await;
        let wall_time = started.elapsed();
        let cpu_time = bounds.cpu_time;
        let session = match (&ended, session) {
            (Ended::Returned(_), Some(_)) => Some(self.saved(lost, bounds).await),
            _ => None,
        };
        let state = self.store.data_mut();
        state.memory.end();
        Report {
            session,
            ended,
            wall_time,
            cpu_time,
            peak_memory_bytes: state.memory.peak,
            tool_calls: state.link.as_ref().map_or(0, |link| link.calls),
            memory_refused: state.memory.refused,
            files_refused: state.files.refusal(),
            workspace_failure: state.files.count_failure(),
        }
    }
}

/// The least that the variables of a session may take to be written down, however little time their
/// program left.
const MIN_SAVING_TIME: Duration = Duration::from_millis(250);

impl Isolate {
    /// Saves the variables that a session's program left, as bytes. It is the program's code that
    /// writes them, so its limits hold for that too.
    async fn saved(&mut self, lost: LostVariables, mut bounds: Bounds) -> SessionReport {
        bounds.extend(MIN_SAVING_TIME);
        let mut given = None;
        let saving = async {
            given = Some(self.guest.call_save(&mut self.store).await?);
            Ok(Ended::Returned(String::new()))
        };
        let ended = bounds.drive(saving).await;
        match (given, ended) {
            (Some((state, names)), _) => {
                SessionReport { state: Ok(state.into()), fleeting: session::names(&names), lost }
            }
            (None, ended) => SessionReport {
                state: Err(match ended {
                    Ended::Limit(_) => {
                        "writing them down took longer than the program's time limit".to_owned()
                    }
                    Ended::Cancelled => "it was cancelled while they were written down".to_owned(),
                    ended => format!("writing them down failed ({ended:?})"),
                }),
                fleeting: LostVariables::new(),
                lost,
            },
        }
    }
}

/// How soon the time is checked again while a person is asked.
const NEXT_LOOK: Duration = Duration::from_millis(10);

/// The limits that end a run from outside, and the processor time that it has used.
struct Bounds {
    limits: Limits,
    started: Instant,
    patience: PausedClock,
    cancel: CancellationToken,
    turn: Turn,
    cpu_time: Duration,
}

impl Bounds {
    /// Extends the time limits so that at least `min` is left from now on.
    fn extend(&mut self, min: Duration) {
        let now = Instant::now();
        let end = now + min;
        let so_far = self.patience.so_far(now);
        self.limits.wall_time =
            self.limits.wall_time.max((end - self.started).saturating_sub(so_far));
        self.limits.cpu_time = self.limits.cpu_time.max(self.cpu_time + min);
    }

    /// Drives the guest until it is done, out of time, or no longer wanted. The guest gives control
    /// back at every tick of the epoch and whenever it waits, and its turn with it.
    async fn drive(&mut self, call: impl Future<Output = wasmtime::Result<Ended>>) -> Ended {
        let Self { limits, started, patience, cancel, turn, cpu_time } = self;
        let deadline = *started + limits.wall_time;
        let mut call = pin!(call);
        let mut cancelled = pin!(cancel.cancelled());
        let mut timer = pin!(tokio::time::sleep_until(deadline.into()));
        std::future::poll_fn(move |context| {
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ended::Cancelled);
            }
            // The clock itself: a busy guest leaves the timer little time to fire.
            let now = Instant::now();
            let deadline = deadline + patience.so_far(now);
            if now >= deadline {
                return Poll::Ready(Ended::Limit(LimitKind::WallTime));
            }
            while timer.as_mut().poll(context).is_ready() {
                // The timer was set when nobody had been asked yet.
                timer.as_mut().reset(deadline.max(now + NEXT_LOOK).into());
            }
            let Poll::Ready(turn) = turn.poll(context) else { return Poll::Pending };
            let before = thread_cpu_time();
            let polled = call.as_mut().poll(context);
            *cpu_time += thread_cpu_time().saturating_sub(before);
            drop(turn);
            match polled {
                Poll::Ready(returned) => Poll::Ready(Ended::from(returned)),
                Poll::Pending if *cpu_time >= limits.cpu_time => {
                    Poll::Ready(Ended::Limit(LimitKind::CpuTime))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// A run's claim to the processor: while it waits for something else, it holds nobody up.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<FairSemaphore>,
    caller: Caller,
    /// The permit of a run that has not begun yet.
    first: Option<Permit>,
    waiting: Option<Acquire>,
}

impl Turn {
    pub(crate) fn new(turns: Arc<FairSemaphore>, caller: Caller, first: Permit) -> Self {
        Self { turns, caller, first: Some(first), waiting: None }
    }

    /// Waits for the permit to use the processor, which lasts until it is dropped.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Permit>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let waiting = match self.waiting.take() {
            Some(waiting) => Ok(waiting),
            None => self.turns.acquire(&self.caller),
        };
        // There is no limit for those who wait, so this is never refused.
        let Ok(mut waiting) = waiting else { return Poll::Ready(None) };
        let polled = Pin::new(&mut waiting).poll(context);
        if polled.is_pending() {
            self.waiting = Some(waiting);
        }
        polled.map(Some)
    }
}

impl From<wasmtime::Result<Ended>> for Ended {
    fn from(returned: wasmtime::Result<Ended>) -> Self {
        let error = match returned {
            Ok(ended) => return ended,
            Err(error) => error,
        };
        if let Some(Exceeded(kind)) = error.downcast_ref() {
            return Self::Limit(*kind);
        }
        if error.is::<I32Exit>() {
            return Self::Exited;
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => Self::Limit(LimitKind::Stack),
            Some(Trap::UnreachableCodeReached) => Self::Aborted,
            Some(trap) => Self::Trapped(trap.to_string()),
            None => Self::Trapped(error.to_string()),
        }
    }
}

impl IsolateState {
    pub(crate) fn files(&mut self) -> FileSystemView<'_> {
        FileSystemView { files: &mut self.files, table: &mut self.table }
    }

    fn link(&mut self) -> wasmtime::Result<&mut Link> {
        self.link.as_mut().ok_or_else(|| wasmtime::format_err!("no program is running"))
    }
}

impl WasiView for IsolateState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl wasmtime_wasi_io::IoView for IsolateState {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

/// Answers what a program asks of the host. The caller's side may be gone; then the run is about to be
/// stopped, and it does not matter what it is told.
impl interface::Host for IsolateState {
    fn submit(
        &mut self,
        tool: String,
        arguments: String,
        data: Vec<Vec<u8>>,
    ) -> wasmtime::Result<Result<u64, String>> {
        let link = self.link()?;
        if link.calls >= link.limits.tool_calls {
            let hit = LimitHit::of(LimitKind::ToolCalls, &link.limits);
            return Ok(Err(format!("the program reached the {hit}; {}", hit.advice())));
        }
        let waiting: usize = link.unanswered.values().sum();
        let size = arguments.len() + data.iter().map(Vec::len).sum::<usize>();
        if waiting + size > MAX_UNANSWERED_BYTES {
            let max = MAX_UNANSWERED_BYTES >> 20;
            return Ok(Err(format!(
                "the calls that are not answered yet carry more than {max} MB of arguments; \
                 await some of them first"
            )));
        }
        link.calls += 1;
        let number = u64::from(link.calls);
        link.unanswered.insert(number, size);
        let data = data.into_iter().map(Bytes::from).collect();
        let _ = link.events.send(Event::Call { number, tool, arguments, data });
        Ok(Ok(number))
    }

    async fn poll(
        &mut self,
        timeout_ns: Option<u64>,
    ) -> wasmtime::Result<Vec<(u64, bool, String)>> {
        const AT_ONCE: usize = 256;
        let link = self.link()?;
        let mut done = Vec::new();
        while done.len() < AT_ONCE
            && let Ok(completion) = link.completions.try_recv()
        {
            done.push(completion);
        }
        if done.is_empty() && timeout_ns != Some(0) {
            let received = link.completions.recv_many(&mut done, AT_ONCE);
            match timeout_ns {
                None => {
                    received.await;
                }
                // Time over is an answer too: nothing has finished.
                Some(nanoseconds) => {
                    let _ = tokio::time::timeout(Duration::from_nanos(nanoseconds), received).await;
                }
            }
        }
        Ok(done.into_iter().map(|completion| link.told(completion)).collect())
    }

    fn take(&mut self, number: u64) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.link()?.untaken.remove(&number).map(Vec::from))
    }

    fn abandon(&mut self, number: u64) -> wasmtime::Result<()> {
        let link = self.link()?;
        link.unanswered.remove(&number);
        let _ = link.events.send(Event::Abandon(number));
        Ok(())
    }

    async fn query(
        &mut self,
        name: String,
        arguments: String,
    ) -> wasmtime::Result<Result<String, String>> {
        let (reply, answer) = oneshot::channel();
        let _ = self.link()?.events.send(Event::Query { name, arguments, reply });
        Ok(answer.await?)
    }

    async fn module_source(&mut self, name: String) -> wasmtime::Result<Option<(String, bool)>> {
        let (reply, answer) = oneshot::channel();
        let _ = self.link()?.events.send(Event::Module { name, reply });
        let found = answer.await?;
        Ok(found.map(|module| (module.source, module.is_package)))
    }
}
