"""`SHA256SUMS`, in the form that `sha256sum --check` reads."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(paths: list[Path], out: Path) -> Path:
    """Writes the checksums of all files of a release."""
    lines = []
    for path in sorted(paths, key=lambda path: path.name):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    sums = out / NAME
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def read(out: Path) -> dict[str, str]:
    """Returns the checksums by file name; none if there are no packages yet."""
    sums = out / NAME
    if not sums.exists():
        return {}
    pairs = (line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines())
    return {name: digest for digest, name in pairs}
