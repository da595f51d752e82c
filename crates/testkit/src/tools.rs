//! The pinned real servers, clients and suites.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::{data::repository, skip};

/// The programs that `scripts/install-test-tools` installs.
#[derive(Clone, Debug)]
pub struct Tools(PathBuf);

impl Tools {
    /// Finds the tools. If they are not installed, the current test is skipped.
    pub fn find() -> Option<Self> {
        let below_target = |target: std::ffi::OsString| PathBuf::from(target).join("test-tools");
        let directory = std::env::var_os("NARROWS_TEST_TOOLS")
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(below_target))
            .unwrap_or_else(|| repository().join("target/test-tools"));
        let stamps = ["venv.stamp", "venv-mcp1.stamp", "node_modules.stamp"];
        let is_complete = stamps.iter().all(|stamp| directory.join(stamp).exists());
        if is_complete {
            return Some(Self(directory));
        }
        let missing = format!("the test tools in {}", directory.display());
        skip(&missing, "run scripts/install-test-tools");
        None
    }

    /// Returns where they are; see `tests/README.md`.
    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// Returns a Python with the clients, the Python servers and mypy.
    pub fn python(&self) -> PathBuf {
        self.0.join("venv/bin/python")
    }

    /// Runs a Python script of `tests/` and returns what it prints: JSON, one value a line.
    pub fn lines(&self, script: &str, args: &[&str]) -> Vec<Value> {
        let script = repository().join("tests").join(script);
        let output = Command::new(self.python()).arg(&script).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", script.display());
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// Returns a program of an npm package.
    pub fn npm(&self, name: &str) -> PathBuf {
        self.0.join("node_modules/.bin").join(name)
    }

    /// Runs the scenarios of one revision of the official conformance suite against the committed
    /// baseline, and returns what it says. Any other failure than those of the baseline is a panic.
    ///
    /// One suite at a time, and what fails is run once more alone: some scenarios measure
    /// milliseconds (`sse-retry`), while the suite runs all of them beside each other.
    pub fn conformance(&self, revision: &str, args: &[&str]) -> String {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut said = match self.run_conformance(&[args, &["--requirements", revision]].concat()) {
            Ok(said) => return said,
            Err(said) => said,
        };
        let failed = unexpected(&said);
        assert!(!failed.is_empty(), "{said}");
        for scenario in failed {
            let one = ["--scenario", &scenario, "--spec-version", revision];
            match self.run_conformance(&[args, &one].concat()) {
                Ok(alone) if !alone.contains("SKIPPED") => {}
                Ok(alone) | Err(alone) => panic!("{said}\nAND ALONE\n{alone}"),
            }
            said.push_str(&format!("\n✓ {scenario}, alone"));
        }
        said
    }

    fn run_conformance(&self, args: &[&str]) -> Result<String, String> {
        let out = tempfile::tempdir().unwrap();
        let output = Command::new(self.npm("conformance"))
            .args(args)
            .arg("-o")
            .arg(out.path())
            .arg("--expected-failures")
            .arg(repository().join("tests/conformance/expected-failures.yaml"))
            .env("PATH", self.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        Err(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Returns a search path on which the npm programs find their own Node.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.0.join("node_modules/.bin").display())
    }
}

/// Returns the scenarios that failed and are not in the baseline.
fn unexpected(said: &str) -> Vec<String> {
    let lines = said.lines().skip_while(|line| !line.contains("Unexpected failures (not in"));
    lines.skip(1).map_while(|line| line.strip_prefix("  ✗ ")).map(str::to_owned).collect()
}
