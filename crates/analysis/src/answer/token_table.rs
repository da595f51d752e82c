//! The table of the o200k encoding: loaded when tokens are counted, dropped when none were for a while.
//!
//! Together with the memory that is freed while it is made but stays with the thread, it takes 50 MB,
//! for which an idle process has no use. Making it takes about a tenth of a second.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use tiktoken::CoreBpe;

/// How long the table stays after its last use, so that it survives from one request to the next. Making
/// it again adds a tenth of a second to one answer; keeping it would take memory from others on the
/// machine.
const IDLE_TIME: Duration = Duration::from_secs(5);

static O200K: LoadedTable<CoreBpe> = LoadedTable::new();

/// Counts the tokens of a text. The encoding is named directly and not looked up by name, so that the
/// tables of all other encodings (9 MB) are not part of the binary.
pub fn count_tokens(text: &str) -> usize {
    O200K.get(tiktoken::encoding::o200k_base).count(text)
}

/// A value that is made when it is needed, and dropped when it is unused.
struct LoadedTable<T>(Mutex<Option<LoadedEntry<T>>>);

struct LoadedEntry<T> {
    table: Arc<T>,
    used: Instant,
}

impl<T> LoadedTable<T> {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn entry(&self) -> MutexGuard<'_, Option<LoadedEntry<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the table if it was not used for `idle_time`. Otherwise returns how long to wait until it
    /// may be dropped.
    fn drop_unused(&self, now: Instant, idle_time: Duration) -> Option<Duration> {
        let mut entry = self.entry();
        let unused = now.saturating_duration_since(entry.as_ref()?.used);
        if unused < idle_time {
            return Some(idle_time - unused);
        }
        // Freed after the lock is released.
        let dropped = entry.take();
        drop(entry);
        drop(dropped);
        None
    }
}

impl<T: Send + Sync + 'static> LoadedTable<T> {
    /// Returns the table, and makes it first if it is missing. Other threads wait for it meanwhile.
    fn get(&'static self, make: fn() -> T) -> Arc<T> {
        let mut entry = self.entry();
        if let Some(entry) = &mut *entry {
            entry.used = Instant::now();
            return Arc::clone(&entry.table);
        }
        let table = self.make_apart(make).unwrap_or_else(|_| Arc::new(make()));
        *entry = Some(LoadedEntry { table: Arc::clone(&table), used: Instant::now() });
        table
    }

    /// Makes the table on a thread of its own, which drops it when it is unused and then ends. Memory
    /// that was allocated and freed while the table was made belongs to that thread and goes back to the
    /// system with it; on another thread it would stay as long as that thread.
    fn make_apart(&'static self, make: fn() -> T) -> io::Result<Arc<T>> {
        let (made, table) = mpsc::channel();
        thread::Builder::new().name("token-table".into()).spawn(move || {
            // The receiver has the lock, and stores the table.
            if made.send(Arc::new(make())).is_err() {
                return;
            }
            while let Some(rest) = self.drop_unused(Instant::now(), IDLE_TIME) {
                thread::sleep(rest);
            }
        })?;
        table.recv().map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_table_that_is_not_used_is_dropped_and_made_again() {
        static TABLE: LoadedTable<Vec<u8>> = LoadedTable::new();
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let table = || {
            TABLE.get(|| {
                MADE.fetch_add(1, Ordering::Relaxed);
                vec![7]
            })
        };
        assert_eq!(*table(), [7]);
        let weak = Arc::downgrade(&table());
        assert_eq!(MADE.load(Ordering::Relaxed), 1, "it is there until it is dropped");
        let now = Instant::now();
        let rest = TABLE.drop_unused(now, IDLE_TIME);
        assert!(rest.is_some_and(|rest| rest <= IDLE_TIME), "{rest:?}");
        assert!(weak.upgrade().is_some());
        assert_eq!(TABLE.drop_unused(now + IDLE_TIME, IDLE_TIME), None);
        assert!(weak.upgrade().is_none());
        assert_eq!((table()[0], MADE.load(Ordering::Relaxed)), (7, 2));
    }

    #[test]
    fn who_counts_while_the_table_is_dropped_keeps_it() {
        static TABLE: LoadedTable<u8> = LoadedTable::new();
        let table = TABLE.get(|| 7);
        TABLE.drop_unused(Instant::now() + IDLE_TIME, IDLE_TIME);
        assert_eq!(*table, 7);
    }
}
