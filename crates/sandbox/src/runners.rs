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

type Job = Box<dyn FnOnce(&Runtime) + Send>;
/// Work for when there is no job; tells whether there may be more of it.
type Chore = Box<dyn Fn(&Runtime) -> bool + Send + Sync>;

/// How long there was no new job before chores are done while other jobs run. A chore takes about as long
/// as the run that it makes faster: when nothing runs, that is time which nobody needs; under load, it
/// would only slow down the others.
const QUIET: Duration = Duration::from_millis(10);

/// A bounded number of threads, started when they are needed.
pub(crate) struct Runners {
    shared: Arc<Shared>,
    most: usize,
}

struct Shared {
    state: Mutex<State>,
    chore: Chore,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    busy: usize,
    /// Threads that sleep. The last one to fall asleep is woken first: what it needs is still in the
    /// caches of its processor.
    asleep: Vec<Thread>,
    closed: bool,
    /// When the last job came.
    submitted: Option<Instant>,
}

impl State {
    /// How long it takes until chores may be done, if no job comes.
    fn until_quiet(&self) -> Duration {
        if self.busy == 0 {
            return Duration::ZERO;
        }
        let quiet = self.submitted.map(|last| last + QUIET);
        quiet.map_or(Duration::ZERO, |quiet| quiet.saturating_duration_since(Instant::now()))
    }
}

impl Runners {
    pub(crate) fn new(most: usize, chore: Chore) -> Self {
        let shared = Shared { state: Mutex::default(), chore };
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
        if let Some(thread) = state.asleep.pop() {
            thread.unpark();
        }
        Ok(())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, runtime: &Runtime) {
        while let Some(job) = self.next(runtime) {
            // Whoever waits for the job sees its channel close.
            let _ = catch_unwind(AssertUnwindSafe(|| job(runtime)));
            self.state().busy -= 1;
        }
        self.state().threads -= 1;
    }

    /// Waits for a job, doing chores meanwhile; `None` when there will be no more.
    fn next(&self, runtime: &Runtime) -> Option<Job> {
        let mut chores = true;
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.busy += 1;
                return Some(job);
            }
            if state.closed {
                return None;
            }
            let wait = state.until_quiet();
            if chores && !wait.is_zero() {
                state = self.sleep(state, Some(wait));
            } else if chores {
                drop(state);
                chores = catch_unwind(AssertUnwindSafe(|| (self.chore)(runtime))).unwrap_or(false);
                state = self.state();
            } else {
                state = self.sleep(state, None);
            }
        }
    }

    /// Sleeps until there is a job for this thread, or for so long.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        max_time: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        let thread = thread::current();
        let id = thread.id();
        state.asleep.push(thread);
        drop(state);
        match max_time {
            Some(time) => thread::park_timeout(time),
            None => thread::park(),
        }
        let mut state = self.state();
        // Whoever woke it took it from the list.
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
        let runners = Runners::new(8, Box::new(|_| false));
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
}
