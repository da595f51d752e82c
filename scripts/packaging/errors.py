"""The one error that packaging reports to its user, and commands that report with it."""

import os
import subprocess
from pathlib import Path


class PackagingError(Exception):
    """Something that the user can put right: the message says what, and how."""


def run_command(
    command: list[str | Path],
    *,
    needs: str,
    directory: Path | None = None,
    environment: dict[str, str] | None = None,
) -> bytes:
    """Returns what a command prints. `needs` says where to get it if it is not installed."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=directory,
            env=None if environment is None else {**os.environ, **environment},
            check=False,
        )
    except FileNotFoundError:
        raise PackagingError(f"{name} is not installed: {needs}") from None
    except OSError as error:
        raise PackagingError(f"{name} cannot be started: {error}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        shown = " ".join(str(part) for part in command)
        raise PackagingError(f"`{shown}` failed with {done.returncode}:\n{said}")
    return done.stdout
