//! The threads that programs run on.
//!
//! A program can keep a processor busy for as long as its limits allow. On threads of its own
//! it shares the machine by the system's scheduler and never delays the tasks of the caller's
//! runtime.

use std::{
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;

type RunnerTask = Box<dyn FnOnce(&Runtime) + Send>;
/// Work for when there is no job; tells whether there may be more of it.
type Chore = Box<dyn Fn(&Runtime) -> bool + Send + Sync>;

/// How long there was no new job before chores are done while other jobs run. A chore takes about as long
/// as the run that it makes faster: when nothing runs, that is time which nobody needs; under load, it
/// would only slow down the others.
const QUIET: Duration = Duration::from_millis(10);

/// Work for when there has been no job for long.
type Rest = Box<dyn Fn() + Send + Sync>;

/// How long there must be no job before the memory of past jobs is given back: longer than the pauses
/// within a piece of work. What is made in advance stays warm.
const REST_TIME: Duration = Duration::from_secs(5);

/// How long threads stay after they were needed. Each has a heap of its own, of megabytes: those that a
/// crowd of programs needed must not stay for good.
const NEEDED_TIME: Duration = Duration::from_secs(5);

/// How many threads stay beyond those that were needed lately.
const SPARE_THREADS: usize = 4;

/// A pool with a bounded number of threads, which start when they are needed and end when they are not.
pub(crate) struct Runners {
    shared: Arc<RunnersShared>,
    most: usize,
}

struct RunnersShared {
    state: Mutex<RunnersState>,
    chore: Chore,
    rest: Rest,
    times: IdleTimes,
}

/// How long to wait before doing what nobody waits for.
#[derive(Clone, Copy, Debug)]
struct IdleTimes {
    needed: Duration,
    rest: Duration,
}

#[derive(Default)]
struct RunnersState {
    jobs: VecDeque<RunnerTask>,
    threads: usize,
    busy: usize,
    /// Threads that sleep. The last one to fall asleep is woken first: what it needs is still in the
    /// caches of its processor.
    asleep: Vec<Thread>,
    closed: bool,
    /// When the last job came.
    submitted: Option<Instant>,
    /// When the last one came or ended.
    active: Option<Instant>,
    /// Whether there was a job since the last rest.
    is_restless: bool,
    needed: NeededThreads,
}

/// How many threads were busy at once, within the current stretch of time and the one before.
#[derive(Debug, Default)]
struct NeededThreads {
    since: Option<Instant>,
    now: usize,
    before: usize,
}

impl NeededThreads {
    fn see(&mut self, busy: usize, time: Duration) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= time {
            self.since = Some(Instant::now());
            self.before = self.now;
            self.now = 0;
        }
        self.now = self.now.max(busy);
    }

    fn threads(&self) -> usize {
        self.now.max(self.before) + SPARE_THREADS
    }
}

impl RunnersState {
    /// Returns how long it takes until chores may be done, if no job comes.
    fn until_quiet(&self) -> Duration {
        if self.busy == 0 {
            return Duration::ZERO;
        }
        let quiet = self.submitted.map(|last| last + QUIET);
        quiet.map_or(Duration::ZERO, |quiet| quiet.saturating_duration_since(Instant::now()))
    }

    /// Returns how long it takes until it is time for a rest, if no job comes.
    fn until_rest(&self, time: Duration) -> Duration {
        // A program that takes its time holds what is warm.
        if self.busy > 0 {
            return time;
        }
        let rest = self.active.map(|last| last + time);
        rest.map_or(Duration::ZERO, |rest| rest.saturating_duration_since(Instant::now()))
    }

    /// Returns how long a thread waits for a job before it looks around, or `None` if there is nothing
    /// to do then.
    fn until_next(&self, times: IdleTimes) -> Option<Duration> {
        let spare = (self.threads > SPARE_THREADS).then_some(times.needed);
        let rest = self.is_restless.then(|| self.until_rest(times.rest));
        spare.into_iter().chain(rest).min()
    }
}

impl Runners {
    pub(crate) fn new(most: usize, chore: Chore, rest: Rest) -> Self {
        Self::with_times(most, chore, rest, IdleTimes { needed: NEEDED_TIME, rest: REST_TIME })
    }

    fn with_times(most: usize, chore: Chore, rest: Rest, times: IdleTimes) -> Self {
        let shared = RunnersShared { state: Mutex::default(), chore, rest, times };
        Self { shared: Arc::new(shared), most }
    }

    /// Runs a job on the next free thread.
    pub(crate) fn submit(&self, job: impl FnOnce(&Runtime) + Send + 'static) -> io::Result<()> {
        let mut state = self.shared.state();
        // Each job that waits already has one of the free threads.
        let free = state.threads - state.busy;
        if state.jobs.len() >= free && state.threads < self.most {
            let shared = self.shared.clone();
            // A runtime for each thread, so that its timers wake it directly.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
            thread::Builder::new()
                .name("narrows-runner".into())
                .spawn(move || shared.work(&runtime))?;
            state.threads += 1;
        }
        state.jobs.push_back(Box::new(job));
        state.submitted = Some(Instant::now());
        state.active = state.submitted;
        state.is_restless = true;
        if let Some(thread) = state.asleep.pop() {
            thread.unpark();
        }
        Ok(())
    }
}

impl RunnersShared {
    fn state(&self) -> MutexGuard<'_, RunnersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, runtime: &Runtime) {
        while let Some(job) = self.next(runtime) {
            // Whoever waits for the job sees its channel close.
            let _ = catch_unwind(AssertUnwindSafe(|| job(runtime)));
            let mut state = self.state();
            state.busy -= 1;
            state.active = Some(Instant::now());
        }
    }

    /// Waits for a job, doing chores meanwhile; `None` when there will be no more, or enough other
    /// threads for them: then this one does not count any more.
    fn next(&self, runtime: &Runtime) -> Option<RunnerTask> {
        let mut chores = true;
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.busy += 1;
                let busy = state.busy;
                state.needed.see(busy, self.times.needed);
                return Some(job);
            }
            let busy = state.busy;
            state.needed.see(busy, self.times.needed);
            if state.closed || state.threads > state.needed.threads() {
                state.threads -= 1;
                return None;
            }
            let wait = state.until_quiet();
            if chores && !wait.is_zero() {
                state = self.sleep(state, Some(wait));
            } else if chores {
                drop(state);
                chores = catch_unwind(AssertUnwindSafe(|| (self.chore)(runtime))).unwrap_or(false);
                state = self.state();
            } else if state.is_restless && state.until_rest(self.times.rest).is_zero() {
                state.is_restless = false;
                drop(state);
                // What was ready may have been given back, and chores make it ready again.
                chores = catch_unwind(AssertUnwindSafe(|| (self.rest)())).is_ok();
                state = self.state();
            } else if let Some(wait) = state.until_next(self.times) {
                state = self.sleep(state, Some(wait));
            } else {
                state = self.sleep(state, None);
            }
        }
    }

    /// Sleeps until there is a job for this thread, or for so long.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, RunnersState>,
        max_time: Option<Duration>,
    ) -> MutexGuard<'a, RunnersState> {
        let thread = thread::current();
        let id = thread.id();
        state.asleep.push(thread);
        drop(state);
        match max_time {
            Some(time) => thread::park_timeout(time),
            None => thread::park(),
        }
        let mut state = self.state();
        // A call that woke this thread took it from the list already.
        state.asleep.retain(|thread| thread.id() != id);
        state
    }
}

impl Drop for Runners {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.asleep.drain(..).for_each(|thread| thread.unpark());
    }
}

impl std::fmt::Debug for Runners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runners").field("most", &self.most).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Duration};

    /// How long is waited for what has to happen, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(300);

    #[test]
    fn a_job_that_waits_for_the_next_one_does_not_block_it() {
        let runners = Runners::new(8, Box::new(|_| false), Box::new(|| ()));
        for _ in 0..200 {
            // The first of both takes the thread that the last round left free.
            let (told, heard) = mpsc::channel();
            let (done, ended) = mpsc::channel();
            runners
                .submit(move |_| {
                    let _ = heard.recv_timeout(2 * PATIENCE);
                    let _ = done.send(());
                })
                .unwrap();
            runners
                .submit(move |_| {
                    let _ = told.send(());
                })
                .unwrap();
            assert!(ended.recv_timeout(PATIENCE).is_ok(), "the second job did not run");
        }
    }

    #[test]
    fn threads_that_a_crowd_needed_end_and_the_next_crowd_gets_new_ones() {
        const CROWD: usize = 16;
        let time = Duration::from_millis(20);
        let times = IdleTimes { needed: time, rest: PATIENCE };
        let runners = Runners::with_times(CROWD, Box::new(|_| false), Box::new(|| ()), times);
        for _ in 0..2 {
            let (done, ended) = mpsc::channel();
            let meeting = Arc::new(std::sync::Barrier::new(CROWD));
            for _ in 0..CROWD {
                let (done, meeting) = (done.clone(), Arc::clone(&meeting));
                // Each needs a thread until all have one.
                let job = move |_: &Runtime| {
                    meeting.wait();
                    let _ = done.send(());
                };
                runners.submit(job).unwrap();
            }
            for _ in 0..CROWD {
                ended.recv_timeout(PATIENCE).expect("a job did not run");
            }
            let start = Instant::now();
            while runners.shared.state().threads > SPARE_THREADS {
                assert!(start.elapsed() < PATIENCE, "the threads stay");
                thread::sleep(time / 4);
            }
        }
    }

    #[test]
    fn there_is_one_rest_after_jobs_and_none_before() {
        let (rest, rested) = mpsc::channel();
        let rest = move || {
            let _ = rest.send(());
        };
        let times = IdleTimes { needed: PATIENCE, rest: Duration::from_millis(20) };
        let runners = Runners::with_times(4, Box::new(|_| false), Box::new(rest), times);
        for _ in 0..2 {
            assert!(rested.try_recv().is_err());
            let (go_on, is_free) = mpsc::channel::<()>();
            let job = move |_: &Runtime| {
                let _ = is_free.recv();
            };
            runners.submit(job).unwrap();
            // Not while a job is at work, however long that takes.
            assert!(rested.recv_timeout(4 * times.rest).is_err());
            drop(go_on);
            rested.recv_timeout(PATIENCE).expect("no rest");
            assert!(rested.recv_timeout(4 * times.rest).is_err(), "it rests again");
        }
    }
}
