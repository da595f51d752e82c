//! A partial set of limits: the ones that a configuration sets.

use std::collections::BTreeMap;

use super::{LimitKind, LimitSpec};

/// Limits that somebody has set, with their amounts: nanoseconds, bytes or pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSettings(BTreeMap<LimitKind, u64>);

impl LimitSettings {
    pub fn get(&self, spec: &LimitSpec) -> Option<u64> {
        self.0.get(&spec.kind).copied()
    }

    pub fn set(&mut self, spec: &LimitSpec, amount: u64) {
        self.0.insert(spec.kind, amount);
    }

    /// Sets a limit unless it is set already.
    pub fn set_default(&mut self, spec: &LimitSpec, amount: u64) {
        self.0.entry(spec.kind).or_insert(amount);
    }
}

impl FromIterator<(LimitKind, u64)> for LimitSettings {
    fn from_iter<T: IntoIterator<Item = (LimitKind, u64)>>(limits: T) -> Self {
        Self(limits.into_iter().collect())
    }
}
