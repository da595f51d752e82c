//! The machine's own Python, to compare with.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Returns the path of the interpreter itself. `python3` may be a version manager's shim, which is ten
/// times slower.
pub(in crate::bench) fn executable() -> Option<PathBuf> {
    let asked = Command::new("python3")
        .args(["-I", "-c", "import sys; print(sys.executable)"])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let path = String::from_utf8(asked.stdout).ok()?;
    let path = PathBuf::from(path.trim());
    (asked.status.success() && path.is_file()).then_some(path)
}

/// Returns the Python of the test tools, which has the libraries to compare with, or else that of the
/// machine.
pub(in crate::bench) fn of_test_tools() -> Option<PathBuf> {
    let below_target = |target| PathBuf::from(target).join("test-tools");
    let tools = std::env::var_os("NARROWS_TEST_TOOLS")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(below_target))
        .unwrap_or_else(|| PathBuf::from("target/test-tools"));
    let python = tools.join("venv/bin/python");
    if python.is_file() { Some(python) } else { executable() }
}

/// Measures how long Python takes to start, compute and print.
pub(in crate::bench) fn start_once(python: &PathBuf) -> std::io::Result<Duration> {
    let started = Instant::now();
    Command::new(python).args(["-I", "-c", "print(2)"]).stdout(Stdio::null()).status()?;
    Ok(started.elapsed())
}
