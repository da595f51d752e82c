"""Version, description and date of what is packaged, from the files that say so already."""

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .errors import PackagingError, run_command

# A semantic version, as far as every format of packages can say it too.
VERSION = re.compile(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?")

PYTHON_PRERELEASES = {"alpha": "a", "beta": "b", "rc": "rc"}


@dataclass(frozen=True)
class Project:
    """What Cargo.toml, the licences and the history say of Narrows."""

    root: Path
    version: str
    description: str
    licence: str
    copyright: str
    # Seconds since 1970: the date of all files in packages.
    date: int

    @classmethod
    def load(cls, root: Path) -> "Project":
        """Reads the workspace at `root`."""
        workspace = read_toml(root / "Cargo.toml")["workspace"]["package"]
        package = read_toml(root / "crates/gateway/Cargo.toml")["package"]
        version = workspace["version"]
        if not VERSION.fullmatch(version):
            raise PackagingError(
                f"version {version!r} in Cargo.toml cannot be said in all package formats;"
                " use X.Y.Z or X.Y.Z-(alpha|beta|rc).N"
            )
        return cls(
            root=root,
            version=version,
            description=package["description"],
            licence=workspace["license"],
            copyright=read_copyright(root / "LICENSE-MIT"),
            date=source_date(root),
        )

    @property
    def python_version(self) -> str:
        """Returns the version as PEP 440 has it: `0.2.0rc1`."""
        release, kind, number = VERSION.fullmatch(self.version).groups()
        return release if kind is None else f"{release}{PYTHON_PRERELEASES[kind]}{number}"

    @property
    def debian_version(self) -> str:
        """Returns the version as Debian has it: `0.2.0~rc.1-1`."""
        return self.version.replace("-", "~") + "-1"


def read_toml(path: Path) -> dict:
    """Reads a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PackagingError(f"cannot read {path}: {error.strerror}") from None


def read_copyright(path: Path) -> str:
    """Returns the holders from the licence's own line, such as `2026 The Narrows contributors`."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"Copyright \(c\) (.+)", line.strip()):
            return found[1]
    raise PackagingError(f"{path} has no line `Copyright (c) ...`")


def source_date(root: Path) -> int:
    """Returns `SOURCE_DATE_EPOCH`, or else the date of the commit that is packaged."""
    if named := os.environ.get("SOURCE_DATE_EPOCH"):
        if not named.isdecimal():
            raise PackagingError(f"SOURCE_DATE_EPOCH is {named!r}, expected seconds since 1970")
        return int(named)
    try:
        said = run_command(
            ["git", "log", "-1", "--format=%ct"],
            needs="install git, or set SOURCE_DATE_EPOCH",
            directory=root,
        )
        return int(said)
    except (PackagingError, ValueError) as error:
        raise PackagingError(
            "the date of the sources is not known: this is no git checkout with a commit;"
            f" set SOURCE_DATE_EPOCH ({error})"
        ) from None
