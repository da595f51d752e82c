"""Backtraces of stripped programs, with the debug file beside them.

Narrows has no command that panics, so a program of a few lines is stripped in the same way.
"""

import subprocess
from pathlib import Path

from .. import strip
from ..errors import run_command
from .report import Report, expect

PROGRAM = """\
#[inline(never)]
fn element(values: &[u32], index: usize) -> u32 {
    values[index]
}

fn main() {
    let index = std::env::args().count() + 3;
    std::process::exit(element(&[1], index) as i32);
}
"""


def check_all(report: Report, work: Path) -> None:
    """Runs all checks of this file."""
    report.check("debug file: a panic's backtrace names the lines", check_lines, work)


def check_lines(work: Path) -> None:
    source, built, place = work / "panics.rs", work / "panics", work / "backtrace"
    source.write_text(PROGRAM)
    place.mkdir()
    lines = ["-C", "opt-level=1", "-C", "debuginfo=line-tables-only"]
    run_command(["rustc", *lines, source, "-o", built], needs="install Rust", directory=work)
    program, debug = strip.split(built, place)
    expect("panics.rs:3" in frames(program), f"no line in the backtrace:\n{frames(program)}")
    debug.unlink()
    # The control: it was the debug file that knew.
    expect("panics.rs:3" not in frames(program), "lines are known without the debug file")


def frames(program: Path) -> str:
    """Returns the backtrace of a program that panics, without the message, which has a line too."""
    done = subprocess.run(
        [program], env={"RUST_BACKTRACE": "full"}, capture_output=True, text=True, check=False
    )
    message, _, backtrace = done.stderr.partition("stack backtrace:")
    expect("index out of bounds" in message, f"it did not panic: {done.stderr}")
    return backtrace
