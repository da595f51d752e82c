"""Takes a binary apart: what is shipped, and the debug lines in a file of their own.

The stripped binary names the debug file (`.gnu_debuglink`). Rust's standard library looks for it in
the directory of the binary when it prints a backtrace, and so do gdb and perf.
"""

import shutil
import zlib
from pathlib import Path

from .elf import Elf
from .errors import PackagingError, run_command

DEBUG_NAME = "narrows.debug"
NEEDS_BINUTILS = "install binutils"


def split(binary: Path, work: Path) -> tuple[Path, Path]:
    """Writes the stripped binary and its debug file into `work`, and returns both."""
    stripped, debug = work / "narrows", work / DEBUG_NAME
    elf = Elf.read(binary)
    if elf.has_debug_lines:
        run_command(["objcopy", "--only-keep-debug", binary, debug], needs=NEEDS_BINUTILS)
        # Not executable: `narrows.debug` is no program, and a shell must not complete it to one.
        debug.chmod(0o644)
        link = ["--strip-all", f"--add-gnu-debuglink={debug}"]
        run_command(["objcopy", *link, binary, stripped], needs=NEEDS_BINUTILS)
    else:
        take_split_already(binary, elf, stripped, debug)
    stripped.chmod(0o755)
    if not Elf.read(stripped).is_stripped:
        raise PackagingError(f"{binary} has symbols left after objcopy --strip-all")
    return stripped, debug


def take_split_already(binary: Path, elf: Elf, stripped: Path, debug: Path) -> None:
    """Copies a binary that was split before, with the debug file beside it."""
    beside = binary.with_name(elf.debug_link[0] if elf.debug_link else DEBUG_NAME)
    if not elf.debug_link or not beside.is_file():
        raise PackagingError(
            f"{binary} has no debug lines and no debug file beside it;"
            ' build it with `debug = "line-tables-only"` and without `strip`'
        )
    if crc32(beside) != elf.debug_link[1]:
        raise PackagingError(f"{beside} belongs to another build than {binary}")
    run_command(["objcopy", "--strip-all", binary, stripped], needs=NEEDS_BINUTILS)
    shutil.copyfile(beside, debug)


def crc32(path: Path) -> int:
    """Returns the checksum by which a binary knows its debug file."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            crc = zlib.crc32(chunk, crc)
    return crc
