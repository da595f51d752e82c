//! Isolates that are made beforehand and have touched what every run touches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use wasmtime::Engine;

use crate::{
    guest::{self, SandboxPre},
    isolate::{Isolate, IsolateState},
    meter::MemoryBudget,
};

/// Makes isolates, and keeps some ready.
pub(crate) struct Pool {
    engine: Engine,
    pre: SandboxPre<IsolateState>,
    /// Of all isolates together.
    memory: Arc<MemoryBudget>,
    ready: Mutex<Vec<Isolate>>,
    count: watch::Sender<usize>,
    wanted: usize,
}

impl Pool {
    pub(crate) fn new(
        engine: &Engine,
        memory: Arc<MemoryBudget>,
        wanted: usize,
    ) -> wasmtime::Result<Self> {
        Ok(Self {
            engine: engine.clone(),
            pre: guest::prepare(engine)?,
            memory,
            ready: Mutex::default(),
            count: watch::Sender::new(0),
            wanted,
        })
    }

    fn ready(&self) -> MutexGuard<'_, Vec<Isolate>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A warm isolate if there is one, else a new one.
    pub(crate) async fn take(&self) -> wasmtime::Result<Isolate> {
        let ready = {
            let mut ready = self.ready();
            let isolate = ready.pop();
            self.count.send_replace(ready.len());
            isolate
        };
        match ready {
            Some(isolate) => Ok(isolate),
            None => self.make().await,
        }
    }

    async fn make(&self) -> wasmtime::Result<Isolate> {
        Isolate::new(&self.engine, &self.pre, Arc::clone(&self.memory)).await
    }

    /// Adds one warm isolate if one is wanted, and tells whether it did.
    pub(crate) async fn fill(&self) -> wasmtime::Result<bool> {
        if self.ready().len() >= self.wanted {
            return Ok(false);
        }
        let mut isolate = self.make().await?;
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
