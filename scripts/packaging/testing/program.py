"""Checks that run what was installed, as its users would."""

import subprocess
from pathlib import Path

from .client import TIMEOUT, Client
from .dist import Dist
from .install import INSTALLERS, environment
from .report import Report, expect, expect_equal


def check_all(report: Report, dist: Dist, work: Path) -> None:
    """Installs each package, and runs it."""
    for name, install in INSTALLERS.items():
        place = work / name
        place.mkdir()
        program = report.check(f"{name}: installs into an empty place", install, dist, place)
        if program is None:
            continue
        report.check(f"{name}: narrows --version", check_version, program, place, dist)
        report.check(f"{name}: narrows demo", check_demo, program, place)
        report.check(f"{name}: answers a client", check_client, program, place)


def run(program: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs a command."""
    return subprocess.run(
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(place),
        cwd=place,
        timeout=TIMEOUT,
        check=False,
    )


def check_version(program: Path, place: Path, dist: Dist) -> None:
    done = run(program, place, "--version")
    expect_equal(done.stdout, f"narrows {dist.project.version}\n", "what it prints")


def check_demo(program: Path, place: Path) -> None:
    done = run(program, place, "demo")
    expect_equal(done.returncode, 0, f"the exit code (it printed {done.stderr})")
    for phrase in ("of 10000 expenses are over 5,000", "times less", "Now your own"):
        expect(phrase in done.stdout, f"{phrase!r} is not in what it prints: {done.stdout}")


def check_client(program: Path, place: Path) -> None:
    with Client([program, "serve"], environment(place), place) as client:
        expect_equal(client.initialize()["serverInfo"]["name"], "narrows", "the server")
        tools = {tool["name"] for tool in client.request("tools/list", {})["tools"]}
        expect("execute_code" in tools, f"execute_code is not among {sorted(tools)}")
        call = {"name": "execute_code", "arguments": {"code": "result = 1 + 1"}}
        answer = client.request("tools/call", call)
        expect(not answer.get("isError"), f"the program failed: {answer}")
        expect_equal(answer["structuredContent"]["result"], 2, "the answer")
        expect_equal(client.close(), 0, "the exit code")
