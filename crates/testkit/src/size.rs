//! Sizes of tests: a little of what is dangerous in CI, all of it in `make soak`.

use std::{env, io::Write};

/// The environment variable that gives tests their full sizes.
const FULL_SIZE: &str = "NARROWS_FULL_SIZE";

/// Tells whether tests have their full sizes, at which times and memory are judged too.
pub fn is_full_size() -> bool {
    env::var_os(FULL_SIZE).is_some()
}

/// Returns how much a test is to take: so little that it runs with all others, or as much as an attacker
/// would.
pub fn size<T>(small: T, full: T) -> T {
    if is_full_size() { full } else { small }
}

/// Says what was measured, at full size only. Not with `println!`, which the test harness captures.
pub fn report_figures(line: &str) {
    if is_full_size() {
        let _ = std::io::stderr().write_all(format!("measured: {line}\n").as_bytes());
    }
}
