//! The thread that starts child processes.
//!
//! The kernel sends the parent-death signal when the thread ends that started a process, not when its
//! whole process does. Threads of the runtime end: one that did work apart has given its place to
//! another, and is gone when it had nothing to do for ten seconds. So a thread of its own, which lasts as
//! long as we do, starts all of them.

use std::{
    sync::{
        LazyLock,
        mpsc::{self, Sender},
    },
    thread,
};

use tokio::runtime::Handle;

type Start = Box<dyn FnOnce() + Send>;

/// The channel to the thread, or `None` where no thread can be had.
static STARTER: LazyLock<Option<Sender<Start>>> = LazyLock::new(|| {
    let (starter, starts) = mpsc::channel::<Start>();
    let start_all = move || starts.into_iter().for_each(|start| start());
    thread::Builder::new().name("child-starter".to_owned()).spawn(start_all).ok()?;
    Some(starter)
});

/// Starts a process on the thread that lasts, within the runtime of the caller.
pub(crate) fn start<T: Send + 'static>(start: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let runtime = Handle::try_current().ok();
    let (done, result) = mpsc::channel();
    let start: Start = Box::new(move || {
        let _within = runtime.as_ref().map(Handle::enter);
        let _ = done.send(start());
    });
    match &*STARTER {
        Some(starter) => starter.send(start).ok()?,
        None => start(),
    }
    result.recv().ok()
}
