//! The analysis engine of a gateway, and the recent results that requests can name.

mod results;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use narrows_analysis::{Analysis, Answer, Settings};
use narrows_model::Principal;

use narrows_policy::Flow;
use results::Results;

pub(crate) use results::EarlierResult;

/// The analysis engine, created when it is first needed, and the recent results.
#[derive(Debug)]
pub(crate) struct AnalysisService {
    settings: Settings,
    engine: Mutex<Option<Arc<Analysis>>>,
    results: Mutex<Results>,
}

impl AnalysisService {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, engine: Mutex::default(), results: Mutex::default() }
    }

    pub(crate) fn engine(&self) -> Result<Arc<Analysis>, String> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*engine {
            return Ok(Arc::clone(engine));
        }
        let made = Analysis::new(self.settings.clone()).map_err(|error| error.to_string())?;
        Ok(Arc::clone(engine.insert(Arc::new(made))))
    }

    /// Waits a moment for cancelled analyses to remove their files.
    pub(crate) async fn idle(&self) {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(engine) = engine {
            engine.idle().await;
        }
    }

    /// Keeps the table of an answer for later requests, and returns its name. `written` is when its
    /// file was written, if it has one, and `flow` is what was read for it.
    pub(crate) fn keep(
        &self,
        principal: &Principal,
        answer: &Answer,
        written: Option<SystemTime>,
        flow: Flow,
    ) -> Option<String> {
        let table = answer.table.clone()?;
        Some(self.results().keep(principal, EarlierResult { table, written, flow }))
    }

    pub(crate) fn results(&self) -> std::sync::MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
