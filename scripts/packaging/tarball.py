"""Writes tar archives that are the same in every run."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Of gzip: the highest takes four times as long and saves less than a hundredth.
LEVEL = 6


@dataclass(frozen=True)
class Entry:
    """A file of an archive."""

    name: str
    # The contents, or a file that has them.
    source: bytes | Path
    is_executable: bool = False


def write(path: Path, entries: Iterable[Entry], date: int) -> None:
    """Writes a `.tar.gz` in which nothing is of this machine: no owner, no time but `date`."""
    with path.open("wb") as file, gzip.GzipFile("", "wb", LEVEL, file, date) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for entry in entries:
                add(archive, entry, date)


def add(archive: tarfile.TarFile, entry: Entry, date: int) -> None:
    """Adds one file."""
    header = tarfile.TarInfo(entry.name)
    header.mode = 0o755 if entry.is_executable else 0o644
    header.mtime = date
    if isinstance(entry.source, Path):
        header.size = entry.source.stat().st_size
        with entry.source.open("rb") as contents:
            archive.addfile(header, contents)
    else:
        header.size = len(entry.source)
        archive.addfile(header, io.BytesIO(entry.source))
