//! Data files of the benchmarks.

use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;

/// Reads a JSON file of benchmark data.
pub(in crate::bench) fn read_json<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} does not have the expected form", path.display()))
}
