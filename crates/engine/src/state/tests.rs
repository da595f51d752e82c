//! What lasts, for tests of all that uses it.

use std::{path::Path, sync::Arc, time::Duration};

use narrows_model::Limits;
use narrows_store::StoreUrl;

use super::{SessionSettings, State, StateSettings};
use crate::safety::{Safety, SafetySettings};

/// What lasts in a directory, as nobody configured it.
pub(crate) fn state(home: &Path) -> Arc<State> {
    state_under(home, SafetySettings::default())
}

/// The same, under these rules.
pub(crate) fn state_under(home: &Path, rules: SafetySettings) -> Arc<State> {
    state_with(home, Safety::new(rules, Arc::new(|| Ok([7; 32]))).unwrap())
}

/// The same, with all that keeps it safe.
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
