"""The archive for those who use no package manager, and the one with the debug lines."""

from pathlib import Path

from . import tarball
from .release import Release
from .tarball import Entry


def write(release: Release, out: Path) -> Path:
    """Writes the binary with completions, manual pages, README and licences."""
    folder = release.name
    entries = [Entry(f"{folder}/narrows", release.binary, is_executable=True)]
    parts = {
        "": release.documents,
        "completions/": release.completions,
        "man/man1/": release.man_pages,
    }
    for below, files in parts.items():
        entries += [Entry(f"{folder}/{below}{name}", files[name]) for name in sorted(files)]
    path = out / f"{release.name}.tar.gz"
    tarball.write(path, entries, release.project.date)
    return path


def write_debug(release: Release, out: Path) -> Path:
    """Writes the debug lines, to be unpacked beside the binary."""
    path = out / f"{release.name}.debug.tar.gz"
    tarball.write(path, [Entry(release.debug.name, release.debug)], release.project.date)
    return path
