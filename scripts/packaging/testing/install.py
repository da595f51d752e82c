"""Installs a package into an empty directory, and returns the command `narrows` there.

Nothing is taken from the network, and nothing outside of the directory is read or written.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import PackagingError, run_command
from .dist import Dist


def environment(place: Path) -> dict[str, str]:
    """Returns all variables that installed programs see: a home of their own, and system paths."""
    home = place / "home"
    home.mkdir(parents=True, exist_ok=True)
    path = ["/usr/local/bin", "/usr/bin", "/bin"]
    if node := shutil.which("node"):
        path.insert(0, str(Path(node).resolve().parent))
    return {"HOME": str(home), "PATH": os.pathsep.join(path), "LANG": "C.UTF-8"}


def run_installer(command: list[str | Path], place: Path, needs: str) -> None:
    """Runs a package manager with an empty environment."""
    clean = ["env", "--ignore-environment"]
    clean += [f"{name}={value}" for name, value in environment(place).items()]
    run_command([*clean, *command], needs=needs, directory=place)


def wheel(dist: Dist, place: Path) -> Path:
    """Installs the wheel with pip into a new virtual environment."""
    venv = place / "venv"
    run_installer([sys.executable, "-m", "venv", venv], place, "install python3-venv")
    pip = [venv / "bin/python", "-m", "pip", "--disable-pip-version-check", "--isolated"]
    run_installer([*pip, "install", "--quiet", "--no-index", dist.wheel], place, "install pip")
    return venv / "bin/narrows"


def npm(dist: Dist, place: Path) -> Path:
    """Installs both npm packages."""
    program = shutil.which("npm")
    if program is None:
        raise PackagingError("npm is not installed: install Node.js with npm")
    flags = ["--offline", "--no-audit", "--no-fund", "--loglevel=error", f"--cache={place}/cache"]
    packages = [dist.npm_launcher, dist.npm_binary]
    run_installer(
        [program, "install", *flags, f"--prefix={place}", *packages], place, "install npm"
    )
    return place / "node_modules/.bin/narrows"


def deb(dist: Dist, place: Path) -> Path:
    """Unpacks the Debian package into an empty root."""
    root = place / "root"
    run_installer(["dpkg-deb", "--extract", dist.deb, root], place, "install dpkg")
    return root / "usr/bin/narrows"


def archive(dist: Dist, place: Path) -> Path:
    """Unpacks the tar archive."""
    run_installer(["tar", "--extract", "--gzip", "--file", dist.archive], place, "install tar")
    return place / f"{dist.prefix}-{dist.platform.triple}" / "narrows"


INSTALLERS: dict[str, Callable[[Dist, Path], Path]] = {
    "wheel": wheel,
    "npm": npm,
    "deb": deb,
    "archive": archive,
}
