//! Lasting state for tests.

use std::{path::Path, sync::Arc, time::Duration};

use narrows_model::Limits;
use narrows_store::StoreUrl;

use super::{SessionSettings, State, StateSettings};
use crate::safety::{Safety, SafetySettings};

/// Creates state in a directory, with default settings.
pub(crate) fn state(home: &Path) -> Arc<State> {
    state_under(home, SafetySettings::default())
}

/// Creates state in a directory, under these rules.
pub(crate) fn state_under(home: &Path, rules: SafetySettings) -> Arc<State> {
    state_with(home, Safety::new(rules, Arc::new(|| Ok([7; 32]))).unwrap())
}

/// Creates state in a directory, with these safety settings.
pub(crate) fn state_with(home: &Path, safety: Arc<Safety>) -> Arc<State> {
    State::new(StateSettings {
        store: StoreUrl::Sqlite(home.join("narrows.db")),
        workspaces: home.join("workspaces"),
        place: "here".to_owned(),
        limits: Limits::default(),
        output_age: Duration::from_secs(60),
        output_bytes: 1 << 20,
        sessions: SessionSettings::default(),
        safety,
        analysis: narrows_analysis::Settings::default(),
    })
}
