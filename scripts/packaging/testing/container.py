"""The container image, as far as it can be checked without a container engine: its text, and the
health check, which is a program of its own.
"""

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

from .client import TIMEOUT
from .dist import Dist
from .install import environment
from .report import CheckFailed, Report, expect, expect_equal

INSTRUCTIONS = set(
    "ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK RUN USER VOLUME WORKDIR".split()
)


def check_all(report: Report, dist: Dist, work: Path) -> None:
    """Runs all checks of this file; the archive has been unpacked in `work/archive`."""
    root = dist.project.root
    report.check("Dockerfile: builds and runs what is here", check_dockerfile, root)
    folder = work / "archive" / f"{dist.prefix}-{dist.platform.triple}"
    healthcheck = root / "deploy/healthcheck"
    report.check("health check: tells whether it answers", check_health, folder, healthcheck)


def read_instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Returns the instructions with their arguments, lines joined."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE)
    lines = [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def check_dockerfile(root: Path) -> None:
    instructions = read_instructions(root / "deploy/Dockerfile")
    unknown = {name for name, _ in instructions} - INSTRUCTIONS
    expect(not unknown, f"unknown instructions: {unknown}")
    for name, arguments in instructions:
        if name == "COPY" and "--from" not in arguments:
            *sources, _ = (word for word in shlex.split(arguments) if not word.startswith("--"))
            for source in sources:
                expect((root / source).exists(), f"COPY {source}: there is no such file")
    starts = [index for index, (name, _) in enumerate(instructions) if name == "FROM"]
    expect_equal(len(starts), 2, "the number of stages")
    final = dict(instructions[starts[-1] :])
    expect(re.fullmatch(r"[1-9]\d*:[1-9]\d*", final["USER"]), "the user is root, or not a number")
    for name in ("HEALTHCHECK", "VOLUME", "EXPOSE", "CMD"):
        expect(name in final, f"the image has no {name}")
    expect_equal(final["ENTRYPOINT"], '["narrows"]', "what is started")
    toolchain = re.search(
        r'^rust-version = "(.+)"$', (root / "Cargo.toml").read_text(), re.MULTILINE
    )
    arguments = dict(value.split("=", 1) for name, value in instructions if name == "ARG")
    expect_equal(arguments["RUST_VERSION"], toolchain[1], "the version of Rust")


def check_health(folder: Path, healthcheck: Path) -> None:
    place = folder.parent
    errors = place / "serve-errors"
    with errors.open("wb") as stderr:
        server = subprocess.Popen(
            [folder / "narrows", "serve", "--http", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment(place),
            cwd=place,
        )
    try:
        port = wait_for_port(server, errors)
        healthy = ask(healthcheck, port)
        expect_equal(healthy.returncode, 0, f"the exit code while it runs ({healthy.stderr})")
    finally:
        server.terminate()
        server.wait(TIMEOUT)
    expect(ask(healthcheck, port).returncode != 0, "it is healthy after its end")


def wait_for_port(server: subprocess.Popen, errors: Path) -> str:
    """Returns the port that the server says it listens on."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)/", errors.read_text()):
            return found[1]
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise CheckFailed(f"the server does not listen: {errors.read_text()}")


def ask(healthcheck: Path, port: str) -> subprocess.CompletedProcess:
    """Runs the health check."""
    variables = {"NARROWS_HEALTH_PORT": port, "PATH": os.environ["PATH"]}
    return subprocess.run(
        [healthcheck], env=variables, capture_output=True, text=True, timeout=60, check=False
    )
