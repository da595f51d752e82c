"""What the npm launcher promises: exit codes and signals pass through, errors say what to do."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

from ..errors import PackagingError
from .client import Client
from .dist import Dist, read_tar
from .install import environment
from .program import run
from .report import Report, expect, expect_equal


def check_all(report: Report, dist: Dist, work: Path) -> None:
    """Runs all checks of this file; the packages have been installed in `work/npm`."""
    installed = work / "npm"
    alone = work / "launcher"
    report.check("npm launcher: passes arguments and exit codes", check_codes, installed)
    report.check("npm launcher: passes signals to the binary", check_signals, installed)
    report.check("npm launcher: ends as the binary ended", check_killed, installed)
    report.check("npm launcher: says which package is missing", check_missing, dist, alone)
    report.check("npm launcher: says where there is no package", check_unknown, dist, alone)


def program_in(installed: Path) -> Path:
    return installed / "node_modules/.bin/narrows"


def check_codes(installed: Path) -> None:
    wrong = run(program_in(installed), installed, "no-such-command")
    expect_equal(wrong.returncode, 2, "the exit code of wrong use")
    failed = run(program_in(installed), installed, "run", "-c", "raise ValueError('from inside')")
    expect_equal(failed.returncode, 1, "the exit code of a program that fails")
    expect("from inside" in failed.stderr, f"standard error is lost: {failed.stderr!r}")


def check_signals(installed: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(installed) as client:
            child = child_of(client.process.pid)
            expect_equal(client.end_with(number), 0, f"the exit code after {number.name}")
            expect(not Path(f"/proc/{child}").exists(), f"the binary outlived {number.name}")


def check_killed(installed: Path) -> None:
    with serving(installed) as client:
        os.kill(child_of(client.process.pid), signal.SIGKILL)
        expect_equal(client.process.wait(60), -signal.SIGKILL, "the exit code")


def serving(installed: Path) -> Client:
    """Starts a server that has begun to talk: all of it is running."""
    client = Client([program_in(installed), "serve"], environment(installed), installed)
    client.initialize()
    return client


def child_of(process: int) -> int:
    """Returns the process that the launcher started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    expect_equal(len(children), 1, "the number of processes that the launcher started")
    return int(children[0])


def check_missing(dist: Dist, place: Path) -> None:
    done = run_alone(dist, place, {})
    name = f"narrows-{dist.platform.npm}"
    expect(f"the package {name} is not installed" in done.stderr, done.stderr)
    expect(f"npm install {name}@{dist.project.version}" in done.stderr, done.stderr)


def check_unknown(dist: Dist, place: Path) -> None:
    others = {"optionalDependencies": {"narrows-plan9-mips": dist.project.version}}
    done = run_alone(dist, place, others)
    expected = f"there is no package for {dist.platform.npm}, only for plan9-mips"
    expect(expected in done.stderr, done.stderr)
    expect("cargo install" in done.stderr, done.stderr)


def run_alone(dist: Dist, place: Path, changes: dict) -> subprocess.CompletedProcess:
    """Runs the launcher without the package that has the binary, which has to fail."""
    node = shutil.which("node")
    if node is None:
        raise PackagingError("node is not installed: install Node.js")
    files = read_tar(dist.npm_launcher.read_bytes())
    manifest = json.loads(files["package/package.json"].contents)
    (place / "bin").mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text(json.dumps({**manifest, **changes}))
    launcher = place / "bin/narrows.js"
    launcher.write_bytes(files["package/bin/narrows.js"].contents)
    done = run(Path(node), place, str(launcher), "--version")
    expect_equal(done.returncode, 1, "the exit code")
    return done
