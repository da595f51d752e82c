//! Runs the same operations with pandas and Polars, in a Python process of their own.

use std::{
    fmt,
    fs::File,
    io::{BufRead, BufReader, Read, Seek, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Source, TableOperation};

const SCRIPT: &str = include_str!("libraries.py");
/// How much figures may differ, because sums are added up in different orders.
const TOLERANCE: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Pandas,
    Polars,
}

/// A Python process with a library, ready to be asked.
pub(super) struct Compared {
    pub(super) library: Library,
    version: String,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: File,
}

#[derive(Deserialize)]
struct Ready {
    version: String,
}

/// The time that a library took for an operation, and its result.
#[derive(Deserialize)]
pub(super) struct LibraryResult {
    pub(super) seconds: f64,
    result: Vec<Vec<Value>>,
}

/// Starts a process with a library. Returns none if the library is not installed.
pub(super) fn start(
    python: Option<&Path>,
    library: Library,
    dir: &Path,
) -> anyhow::Result<Option<Compared>> {
    let Some(python) = python else { return Ok(None) };
    let stderr = tempfile::tempfile()?;
    let mut child = Command::new(python)
        .args(["-c", SCRIPT, library.name()])
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr.try_clone()?)
        .spawn()
        .with_context(|| format!("{} cannot be started", python.display()))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (stdin, stdout) = stdin.zip(stdout).context("there are no pipes")?;
    let (version, stdout) = (String::new(), BufReader::new(stdout));
    let mut started = Compared { library, version, child, stdin, stdout, stderr };
    match started.answer::<Ready>() {
        Ok(Ready { version }) => {
            started.version = version;
            Ok(Some(started))
        }
        Err(error) if error.to_string().contains("ModuleNotFoundError") => Ok(None),
        Err(error) => Err(error),
    }
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
    /// Runs an operation once.
    pub(super) fn ask(
        &mut self,
        source: Source,
        operation: TableOperation,
    ) -> anyhow::Result<LibraryResult> {
        let asked = json!({ "source": source, "operation": operation });
        // If the process has ended, reading its answer fails with the reason.
        let _ = writeln!(self.stdin, "{asked}");
        self.answer()
    }

    fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.is_empty() {
            let mut errors = String::new();
            self.stderr.rewind()?;
            self.stderr.read_to_string(&mut errors)?;
            bail!("{} failed: {errors}", self.library.name());
        }
        serde_json::from_str(&line)
            .with_context(|| format!("{} printed something else", self.library.name()))
    }

    /// Fails if a library's result differs from ours: only equal results can be compared in speed.
    pub(super) fn ensure_same(
        &self,
        source: Source,
        operation: TableOperation,
        ours: &[Vec<Value>],
        found: &LibraryResult,
    ) -> anyhow::Result<()> {
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

impl Drop for Compared {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.library.name(), self.version)
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
