//! Moves the engines' epochs on while programs run, which is what interrupts them.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use wasmtime::{Engine, EngineWeak};

/// How often a running program can be interrupted. Cancelling takes at most about twice this.
const TICK: Duration = Duration::from_millis(4);

/// How many ticks it goes on when nobody needs it any more, because waking it takes longer than a short
/// run.
const IDLE_TICKS: u32 = 50;

/// A thread that ticks only while somebody needs it, and sleeps otherwise.
pub(crate) struct Ticker {
    shared: Arc<TickerShared>,
}

#[derive(Default)]
struct TickerShared {
    users: Mutex<Users>,
    changed: Condvar,
    engines: Mutex<Vec<EngineWeak>>,
}

#[derive(Debug, Default)]
struct Users {
    count: usize,
    asleep: bool,
    closed: bool,
}

/// A guard: while it exists, the epochs move.
pub(crate) struct TickerGuard(Arc<TickerShared>);

impl Ticker {
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared = Arc::<TickerShared>::default();
        let theirs = shared.clone();
        thread::Builder::new().name("narrows-ticker".into()).spawn(move || {
            let mut idle = 0;
            while theirs.is_needed(&mut idle) {
                thread::sleep(TICK);
                theirs.move_on();
            }
        })?;
        Ok(Self { shared })
    }

    /// Ticks for an engine as well, as long as it is there.
    pub(crate) fn add(&self, engine: &Engine) {
        self.shared.engines().push(engine.weak());
    }

    pub(crate) fn tick(&self) -> TickerGuard {
        self.shared.change(|users| users.count += 1);
        TickerGuard(self.shared.clone())
    }
}

impl TickerShared {
    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engines(&self) -> MutexGuard<'_, Vec<EngineWeak>> {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_on(&self) {
        self.engines().retain(|engine| match engine.upgrade() {
            Some(engine) => {
                engine.increment_epoch();
                true
            }
            None => false,
        });
    }

    fn change(&self, change: impl FnOnce(&mut Users)) {
        let mut users = self.users();
        change(&mut users);
        if users.asleep {
            self.changed.notify_one();
        }
    }

    /// Tells whether to tick, after a sleep if nobody needed it for long; `false` when nobody will.
    fn is_needed(&self, idle: &mut u32) -> bool {
        let mut users = self.users();
        *idle = if users.count > 0 { 0 } else { *idle + 1 };
        if *idle > IDLE_TICKS {
            users.asleep = true;
            users = self
                .changed
                .wait_while(users, |users| users.count == 0 && !users.closed)
                .unwrap_or_else(PoisonError::into_inner);
            users.asleep = false;
            *idle = 0;
        }
        users.count > 0 || !users.closed
    }
}

impl Drop for TickerGuard {
    fn drop(&mut self) {
        self.0.change(|users| users.count -= 1);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.change(|users| users.closed = true);
    }
}

impl std::fmt::Debug for Ticker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticker").finish_non_exhaustive()
    }
}
