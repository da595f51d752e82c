//! Tests that cannot run on this machine.

use std::{env, fs::OpenOptions, io::Write, path::Path, thread};

/// The file that skipped tests are written to, one line each. The path should be absolute: each
/// test program runs in the directory of its crate.
const LOG: &str = "NARROWS_SKIPPED_LOG";

/// Reports that the current test is skipped because something is missing, and how to get it. The
/// caller returns after this. Under CI, where everything has to be installed, it panics instead.
///
/// Call it in the test's own thread, whose name is that of the test.
pub fn skip(missing: &str, remedy: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("skipped: {test}: for want of {missing}; {remedy}\n");
    assert!(env::var_os("CI").is_none(), "{line}");
    // Not `eprint!`, which the test harness captures.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(log) = env::var_os(LOG) {
        append(Path::new(&log), &line);
    }
}

/// Adds a line to a file that several processes may write to.
fn append(log: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(log);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "cannot write to {}: {written:?}", log.display());
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        process::{Command, Output},
    };

    use super::*;

    /// A test that is skipped, for the tests below: they run it as a process of its own.
    #[test]
    #[ignore = "other tests run it"]
    fn skipped() {
        skip("a unicorn", "look in the woods");
    }

    fn run_skipped(log: &Path, is_ci: bool) -> Output {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "skip::tests::skipped", "--ignored"]).env(LOG, log);
        if is_ci {
            command.env("CI", "true");
        } else {
            command.env_remove("CI");
        }
        command.output().unwrap()
    }

    #[test]
    fn a_skipped_test_says_so_and_is_written_to_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("skipped.log");
        let line = "skipped: skip::tests::skipped: for want of a unicorn; look in the woods\n";
        for times in 1..=2 {
            let output = run_skipped(&log, false);
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stderr).contains(line), "{output:?}");
            assert_eq!(fs::read_to_string(&log).unwrap(), line.repeat(times));
        }
    }

    #[test]
    fn a_skipped_test_fails_under_ci() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("skipped.log");
        let output = run_skipped(&log, true);
        assert!(!output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("for want of a unicorn"));
        assert!(!log.exists());
    }
}
