//! A pool of isolates that are made in advance and have touched the memory that every run touches.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use narrows_model::FairBudget;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use wasmtime::Engine;

use crate::{
    guest::{self, Compiled, MemoryReuse, SandboxPre},
    isolate::{Isolate, IsolateState},
    ticker::Ticker,
};

/// How long an isolate will be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// For one program.
    Once,
    /// For the programs of a session. A place whose memory is kept would be taken for minutes by one
    /// that has no use for it.
    Session,
}

/// A pool that makes isolates and keeps some ready.
pub(crate) struct Pool {
    /// Places whose memory is kept for the next isolate: so many that what stays resident is bounded,
    /// whatever the number of programs was. Replaced when it is quiet.
    kept: Mutex<Arc<KeptPlaces>>,
    /// Places whose memory is returned to the system: for sessions, and for programs when all of `kept`
    /// are taken.
    returned: Places,
    compiled: Compiled,
    ticker: Arc<Ticker>,
    /// The memory of all isolates together.
    memory: Arc<FairBudget>,
    ready: Mutex<Vec<Isolate>>,
    count: watch::Sender<usize>,
    wanted: usize,
}

/// Places whose memory is kept.
struct KeptPlaces {
    places: Places,
    size: usize,
    free: Arc<Semaphore>,
    /// How many of them have been used: the same ones are used again and again, and the others hold
    /// nothing.
    used: AtomicUsize,
}

impl KeptPlaces {
    fn new(size: usize) -> wasmtime::Result<Self> {
        let places = Places::new(size.max(1), MemoryReuse::Kept)?;
        let free = Arc::new(Semaphore::new(size));
        Ok(Self { places, size, free, used: AtomicUsize::new(0) })
    }

    /// Takes a place, if one is free.
    fn take(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.free).try_acquire_owned().ok()?;
        self.used.fetch_max(self.size - self.free.available_permits(), Ordering::Relaxed);
        Some(place)
    }
}

/// Places for isolates, and the guest to put into them.
struct Places {
    engine: Engine,
    /// Made when the first isolate is.
    guest: OnceLock<SandboxPre<IsolateState>>,
    /// Locked while the guest is made.
    preparing: Mutex<()>,
}

impl Places {
    fn new(isolates: usize, afterwards: MemoryReuse) -> wasmtime::Result<Self> {
        let isolates = u32::try_from(isolates).unwrap_or(u32::MAX / 64);
        let engine = guest::engine(isolates, afterwards)?;
        Ok(Self { engine, guest: OnceLock::new(), preparing: Mutex::default() })
    }

    fn guest(&self, compiled: &Compiled) -> wasmtime::Result<&SandboxPre<IsolateState>> {
        if let Some(guest) = self.guest.get() {
            return Ok(guest);
        }
        let _preparing = self.preparing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guest) = self.guest.get() {
            return Ok(guest);
        }
        let prepared = guest::prepare(&self.engine, compiled)?;
        Ok(self.guest.get_or_init(|| prepared))
    }
}

/// How many isolates a pool has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSize {
    /// The most isolates at the same time.
    pub(crate) isolates: usize,
    /// How many of them keep their memory for the next one when they end.
    pub(crate) kept: usize,
    /// How many are made in advance.
    pub(crate) ready: usize,
}

impl Pool {
    pub(crate) fn new(
        size: PoolSize,
        memory: Arc<FairBudget>,
        ticker: Arc<Ticker>,
    ) -> wasmtime::Result<Self> {
        let kept = Arc::new(KeptPlaces::new(size.kept)?);
        let returned = Places::new(size.isolates, MemoryReuse::Returned)?;
        let compiled = Compiled::new();
        // Prepared at once, so that a guest that this machine cannot run is reported here.
        let first = if size.kept > 0 { &kept.places } else { &returned };
        first.guest(&compiled)?;
        ticker.add(&kept.places.engine);
        ticker.add(&returned.engine);
        Ok(Self {
            kept: Mutex::new(kept),
            returned,
            compiled,
            ticker,
            memory,
            ready: Mutex::default(),
            count: watch::Sender::new(0),
            wanted: size.ready,
        })
    }

    fn kept(&self) -> MutexGuard<'_, Arc<KeptPlaces>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the memory that places keep back to the system, except for what is needed to be ready. To
    /// be called when it has been quiet for long. wasmtime gives nothing back as long as an engine is
    /// there, so a new one takes its place; the old one goes with the last of its isolates.
    pub(crate) fn give_back(&self) -> wasmtime::Result<()> {
        let size = {
            let kept = self.kept();
            // One more than those that are ready is used by programs that run one after the other.
            if kept.used.load(Ordering::Relaxed) <= self.wanted + 1 {
                return Ok(());
            }
            kept.size
        };
        let fresh = KeptPlaces::new(size)?;
        fresh.places.guest(&self.compiled)?;
        self.ticker.add(&fresh.places.engine);
        let old = mem::replace(&mut *self.kept(), Arc::new(fresh));
        let ready = mem::take(&mut *self.ready());
        self.count.send_replace(0);
        drop((ready, old));
        Ok(())
    }

    fn ready(&self) -> MutexGuard<'_, Vec<Isolate>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a warm isolate if there is one, else a new one.
    pub(crate) async fn take(&self, needed: Use) -> wasmtime::Result<Isolate> {
        let ready = {
            let mut ready = self.ready();
            let isolate = if needed == Use::Once { ready.pop() } else { None };
            self.count.send_replace(ready.len());
            isolate
        };
        match ready {
            Some(isolate) => Ok(isolate),
            None => self.make(needed).await,
        }
    }

    async fn make(&self, needed: Use) -> wasmtime::Result<Isolate> {
        let kept = Arc::clone(&self.kept());
        let place = match needed {
            Use::Once => kept.take(),
            Use::Session => None,
        };
        let places = if place.is_some() { &kept.places } else { &self.returned };
        let guest = places.guest(&self.compiled)?;
        Isolate::new(&places.engine, guest, Arc::clone(&self.memory), place).await
    }

    /// Adds one warm isolate if one is wanted, and tells whether it did.
    pub(crate) async fn fill(&self) -> wasmtime::Result<bool> {
        if self.ready().len() >= self.wanted {
            return Ok(false);
        }
        let mut isolate = self.make(Use::Once).await?;
        isolate.warm().await?;
        let mut ready = self.ready();
        // Two threads may have filled the last place at once.
        if ready.len() < self.wanted {
            ready.push(isolate);
        }
        self.count.send_replace(ready.len());
        Ok(true)
    }

    /// Waits until all wanted isolates are ready.
    pub(crate) async fn filled(&self) {
        let mut count = self.count.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = count.wait_for(|count| *count >= self.wanted).await;
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ISOLATES: usize = 16;

    /// Held by the test that measures the process.
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    /// Returns the memory that the process has for itself.
    fn memory_bytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    async fn use_all(pool: &Pool) {
        let mut isolates = Vec::new();
        for _ in 0..ISOLATES {
            let mut isolate = pool.take(Use::Once).await.unwrap();
            isolate.warm().await.unwrap();
            isolates.push(isolate);
        }
    }

    #[tokio::test]
    async fn memory_of_places_goes_back_when_it_is_quiet_and_they_can_be_used_again() {
        let _alone = ALONE.lock().await;
        let size = PoolSize { isolates: ISOLATES, kept: ISOLATES, ready: 0 };
        let ticker = Arc::new(Ticker::start().unwrap());
        let _ticking = ticker.tick();
        let pool = Pool::new(size, FairBudget::new(u64::MAX, u64::MAX), ticker).unwrap();
        let before = memory_bytes();
        use_all(&pool).await;
        let growth = || memory_bytes().saturating_sub(before);
        // The control: until then they keep it.
        let kept = growth();
        assert!(kept > ISOLATES as u64 * (2 << 20), "{kept}");
        pool.give_back().unwrap();
        assert!(growth() < kept / 2, "{} of {kept}", growth());
        use_all(&pool).await;
        assert!(growth() > kept / 2, "the new places keep it too");
    }

    #[tokio::test]
    async fn what_is_needed_to_be_ready_is_not_given_back() {
        let _alone = ALONE.lock().await;
        let size = PoolSize { isolates: 2, kept: 2, ready: 1 };
        let ticker = Arc::new(Ticker::start().unwrap());
        let _ticking = ticker.tick();
        let pool = Pool::new(size, FairBudget::new(u64::MAX, u64::MAX), ticker).unwrap();
        assert!(pool.fill().await.unwrap());
        pool.give_back().unwrap();
        assert_eq!(pool.ready().len(), 1);
    }
}
