//! Work that nobody waits for: counting, writing down what was learnt. It is done one after the
//! other, on a thread of its own, so that no call and no answer is delayed by it.

use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{self, Sender},
    },
    time::Duration,
};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that starts with its first job.
#[derive(Clone, Debug, Default)]
pub struct Background {
    jobs: Arc<OnceLock<Option<Sender<Job>>>>,
}

impl Background {
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(jobs) = self.jobs.get_or_init(start) {
            let _ = jobs.send(Box::new(job));
        }
    }

    /// Waits until everything so far is done, but not for ever.
    pub fn flush(&self, patience: Duration) {
        if self.jobs.get().is_none() {
            return;
        }
        let (done, wait) = mpsc::channel();
        self.run(move || {
            let _ = done.send(());
        });
        let _ = wait.recv_timeout(patience);
    }
}

fn start() -> Option<Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let work = move || jobs.into_iter().for_each(|job| job());
    match std::thread::Builder::new().name("background".into()).spawn(work) {
        Ok(_) => Some(sender),
        Err(error) => {
            tracing::warn!(%error, "nothing is counted and learnt: no thread for it");
            None
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
}
