//! A background thread for work that nobody waits for, such as counting tokens and writing what was
//! learnt. Jobs run one after another, so that no call and no answer is delayed.

use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

type Job = Box<dyn FnOnce() + Send>;

/// A handle of the background thread, which starts with its first job.
#[derive(Clone, Debug, Default)]
pub struct Background {
    orders: Arc<OnceLock<Option<Sender<Order>>>>,
}

enum Order {
    Now(Job),
    /// Run the job at this time, or earlier if somebody waits for all jobs.
    Later(Instant, Job),
    /// Run all jobs that wait, then answer.
    Flush(Sender<()>),
}

impl Background {
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.send(Order::Now(Box::new(job)));
    }

    /// Runs a job after a while, so that much of the same kind can be done at once.
    pub(crate) fn run_later(&self, delay: Duration, job: impl FnOnce() + Send + 'static) {
        self.send(Order::Later(Instant::now() + delay, Box::new(job)));
    }

    /// Waits until all jobs so far are done, for at most `patience`.
    pub fn flush(&self, patience: Duration) {
        if self.orders.get().is_none() {
            return;
        }
        let (done, wait) = mpsc::channel();
        self.send(Order::Flush(done));
        let _ = wait.recv_timeout(patience);
    }

    fn send(&self, order: Order) {
        if let Some(orders) = self.orders.get_or_init(start) {
            let _ = orders.send(order);
        }
    }
}

fn start() -> Option<Sender<Order>> {
    let (sender, orders) = mpsc::channel();
    match std::thread::Builder::new().name("background".into()).spawn(move || work(&orders)) {
        Ok(_) => Some(sender),
        Err(error) => {
            tracing::warn!(%error, "there is no thread that counts and learns, so nothing is counted");
            None
        }
    }
}

/// Gives this thread the lowest priority: a thread that queues a job is about to answer a client, and
/// must not lose the processor to the job.
fn yield_to_others() {
    // On other systems this would change the priority of the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, LOWEST_PRIORITY);
}

#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;

/// Runs jobs until the channel is closed, and then those that are left.
fn work(orders: &Receiver<Order>) {
    yield_to_others();
    let mut delayed: Vec<(Instant, Job)> = Vec::new();
    // The senders for those who wait for all jobs, including jobs that other jobs queue.
    let mut flushes: Vec<Sender<()>> = Vec::new();
    loop {
        let order = match delayed.iter().map(|(due, _)| *due).min() {
            _ if !flushes.is_empty() => orders.recv_timeout(Duration::ZERO),
            Some(due) => orders.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => orders.recv().map_err(RecvTimeoutError::from),
        };
        match order {
            Ok(Order::Now(job)) => job(),
            Ok(Order::Later(due, job)) => delayed.push((due, job)),
            Ok(Order::Flush(done)) => flushes.push(done),
            Err(RecvTimeoutError::Timeout) if !flushes.is_empty() && delayed.is_empty() => {
                for done in flushes.drain(..) {
                    let _ = done.send(());
                }
            }
            Err(RecvTimeoutError::Timeout) if !flushes.is_empty() => {
                delayed.drain(..).for_each(|(_, job)| job());
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                let due = delayed.extract_if(.., |(due, _)| *due <= now).collect::<Vec<_>>();
                due.into_iter().for_each(|(_, job)| job());
            }
            Err(RecvTimeoutError::Disconnected) => {
                delayed.drain(..).for_each(|(_, job)| job());
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    #[test]
    fn jobs_are_done_in_their_order_and_can_be_waited_for() {
        let background = Background::default();
        let done = Arc::new(Mutex::new(Vec::new()));
        for number in 0..100 {
            let done = Arc::clone(&done);
            background
                .run(move || done.lock().unwrap_or_else(PoisonError::into_inner).push(number));
        }
        background.flush(Duration::from_secs(300));
        let done = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(done, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_delayed_job_is_done_when_somebody_waits_for_all() {
        let background = Background::default();
        let done = Arc::new(Mutex::new(Vec::new()));
        let job = |number| {
            let done = Arc::clone(&done);
            move || done.lock().unwrap_or_else(PoisonError::into_inner).push(number)
        };
        background.run_later(Duration::from_secs(3_600), job(1));
        background.run_later(Duration::ZERO, job(2));
        let (orders, last) = (background.clone(), job(3));
        background.run(move || orders.run_later(Duration::from_secs(3_600), last));
        background.flush(Duration::from_secs(300));
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        done.sort_unstable();
        assert_eq!(done, [1, 2, 3], "also what a job ordered after somebody began to wait");
    }
}
