//! Programs as people write them: the sandbox prints what the machine's own Python prints.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::run;

/// Returns the machine's own interpreter, if it is new enough for the programs.
fn python() -> Option<PathBuf> {
    // What is on the path may be a shim that takes its time to find the interpreter.
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable); sys.exit(sys.version_info < (3, 11))"])
        .output()
        .ok()?;
    let path = String::from_utf8(asked.stdout).ok()?;
    asked.status.success().then(|| path.trim().into())
}

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .collect();
    found.sort();
    found
}

fn native(python: &Path, program: &Path) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(program)
        .current_dir(directory.path())
        .env_clear()
        .envs([("PYTHONUTF8", "1"), ("TZ", "UTC"), ("PYTHONDONTWRITEBYTECODE", "1")])
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Returns the first line that differs.
fn difference(theirs: &str, ours: &str) -> String {
    let (mut left, mut right) = (theirs.lines(), ours.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => return format!("line {number}: python3 has {a:?}, the sandbox {b:?}"),
        }
    }
    "the ends of lines differ".to_owned()
}

#[tokio::test]
async fn every_program_prints_what_python_prints() {
    let programs = programs();
    assert!(programs.len() >= 60, "only {} programs", programs.len());
    let Some(python) = python() else {
        narrows_testkit::skip("python3 to compare with", "install Python 3.11 or newer");
        return;
    };
    let mut differences = Vec::new();
    for path in &programs {
        let name = path.file_name().unwrap().to_string_lossy();
        let source = std::fs::read_to_string(path).unwrap();
        let outcome = run(&source).await;
        let problem = match (native(&python, path), outcome.failure()) {
            (Err(error), _) => Some(format!("python3 fails:\n{error}")),
            (Ok(_), Some(failure)) => Some(format!("the sandbox fails:\n{}", failure.traceback)),
            (Ok(theirs), None) => {
                (theirs != outcome.stdout).then(|| difference(&theirs, &outcome.stdout))
            }
        };
        differences.extend(problem.map(|problem| format!("{name}: {problem}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
