//! The same operations with pandas and Polars, in a Python of their own.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::{Operation, Seconds, Source};
use crate::bench::python as machine;

const SCRIPT: &str = include_str!("../analysis.py");
/// Sums are added up in different orders.
const TOLERANCE: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Pandas,
    Polars,
}

/// What a library took, and what it found.
pub(super) struct Compared {
    pub(super) library: Library,
    document: Document,
}

#[derive(Deserialize)]
struct Document {
    version: String,
    measured: Vec<Found>,
}

#[derive(Deserialize)]
pub(super) struct Found {
    source: Source,
    operation: Operation,
    seconds: Vec<f64>,
    result: Vec<Vec<Value>>,
}

/// That of the test tools, which has the libraries, or that of the machine.
pub(super) fn python() -> Option<PathBuf> {
    let below_target = |target| PathBuf::from(target).join("test-tools");
    let tools = std::env::var_os("NARROWS_TEST_TOOLS")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(below_target))
        .unwrap_or_else(|| PathBuf::from("target/test-tools"));
    let python = tools.join("venv/bin/python");
    if python.is_file() { Some(python) } else { machine::executable() }
}

/// None if the library is not installed.
pub(super) fn measure(
    python: Option<&Path>,
    library: Library,
    dir: &Path,
    repetitions: u32,
) -> anyhow::Result<Option<Compared>> {
    let Some(python) = python else { return Ok(None) };
    let output = Command::new(python)
        .args(["-c", SCRIPT, library.name()])
        .arg(dir)
        .arg(repetitions.to_string())
        .output()
        .with_context(|| format!("{} cannot be started", python.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("ModuleNotFoundError") {
        return Ok(None);
    }
    if !output.status.success() {
        bail!("{} failed: {errors}", library.name());
    }
    let document = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{} printed something else", library.name()))?;
    Ok(Some(Compared { library, document }))
}

impl Library {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pandas => "pandas",
            Self::Polars => "polars",
        }
    }
}

impl Compared {
    pub(super) fn find(&self, source: Source, operation: Operation) -> Option<&Found> {
        let is_it = |found: &&Found| found.source == source && found.operation == operation;
        self.document.measured.iter().find(is_it)
    }

    /// What is fast and wrong is not fast.
    pub(super) fn ensure_same(
        &self,
        source: Source,
        operation: Operation,
        ours: &[Vec<Value>],
    ) -> anyhow::Result<()> {
        let found = self
            .find(source, operation)
            .with_context(|| format!("{self} did not do {operation} from {source}"))?;
        let theirs = &found.result;
        ensure!(
            ours.len() == theirs.len(),
            "{operation} from {source}: {} rows, but {self} has {}",
            ours.len(),
            theirs.len()
        );
        for (ours, theirs) in ours.iter().zip(theirs) {
            let alike = ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs));
            ensure!(alike, "{operation} from {source}: {ours:?}, but {self} has {theirs:?}");
        }
        Ok(())
    }
}

fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(ours), Some(theirs)) => {
            (ours - theirs).abs() <= TOLERANCE * ours.abs().max(theirs.abs())
        }
        _ => ours == theirs,
    }
}

impl Found {
    pub(super) fn seconds(&self) -> Seconds {
        Seconds::of(self.seconds.clone())
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.library.name(), self.document.version)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_the_same_but_for_the_order_of_sums() {
        for (ours, theirs, same) in [
            (json!(1), json!(1.0), true),
            (json!(0.1 + 0.2), json!(0.3), true),
            (json!(1.0), json!(1.000_001), false),
            (json!(0), json!(0.0), true),
            (json!("a"), json!("a"), true),
            (json!("1"), json!(1), false),
            (json!(null), json!(0), false),
            (json!(null), json!(null), true),
        ] {
            assert_eq!(is_same(&ours, &theirs), same, "{ours} {theirs}");
        }
    }
}
