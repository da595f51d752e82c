//! What analyses are done with, and what is kept of their answers for a while.

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

/// What analyses are done with: one engine for all, made when it is first needed.
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

    /// Waits a moment for analyses that were given up to put their files away.
    pub(crate) async fn idle(&self) {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(engine) = engine {
            engine.idle().await;
        }
    }

    /// Keeps the table of an answer for later requests, and gives its name. `written` says when
    /// its file was, if there is one, and `flow` what was read for it.
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
