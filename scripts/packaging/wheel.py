"""The Python wheel: the binary as a script, so that `pip install` puts it on PATH."""

import base64
import hashlib
import time
import zipfile
from pathlib import Path

from .errors import PackagingError
from .release import Release
from .tarball import LEVEL

# Libraries that every manylinux system has (PEP 600), as far as Rust uses them.
SYSTEM_LIBRARIES = {
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
}

# Installers know no older tag of this form than that of CentOS 7.
OLDEST_GLIBC = (2, 17)


def write(release: Release, out: Path) -> Path:
    """Writes the wheel."""
    tag = f"py3-none-{platform_tag(release)}"
    stem = f"narrows-{release.project.python_version}"
    info = f"{stem}.dist-info"
    licences = {f"{info}/licenses/{name}": text for name, text in release.licences.items()}
    files: dict[str, bytes | Path] = {
        f"{stem}.data/scripts/narrows": release.binary,
        f"{info}/METADATA": metadata(release),
        f"{info}/WHEEL": wheel_file(tag),
        **licences,
    }
    path = out / f"{stem}-{tag}.whl"
    date = time.gmtime(max(release.project.date, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        records = []
        for name, source in files.items():
            contents = source.read_bytes() if isinstance(source, Path) else source
            add(archive, name, contents, date, is_executable=isinstance(source, Path))
            records.append(f"{name},sha256={digest(contents)},{len(contents)}\n")
        records.append(f"{info}/RECORD,,\n")
        add(archive, f"{info}/RECORD", "".join(records).encode(), date)
    return path


def platform_tag(release: Release) -> str:
    """Returns the tag of the oldest systems that the binary runs on."""
    if others := sorted(set(release.elf.libraries) - SYSTEM_LIBRARIES):
        raise PackagingError(
            f"the binary is linked with {', '.join(others)}, which not every system has;"
            " a wheel must not need it"
        )
    major, minor = max(release.glibc, OLDEST_GLIBC)[:2]
    return f"manylinux_{major}_{minor}_{release.elf.platform.wheel}"


def add(archive: zipfile.ZipFile, name: str, contents: bytes, date, is_executable=False) -> None:
    """Adds a file with its mode, which installers keep."""
    entry = zipfile.ZipInfo(name, date)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix: the upper half of the attributes is the mode.
    entry.external_attr = (0o100755 if is_executable else 0o100644) << 16
    archive.writestr(entry, contents)


def digest(contents: bytes) -> str:
    """Returns a hash as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).decode().rstrip("=")


def wheel_file(tag: str) -> bytes:
    """Returns what the wheel says of its own form."""
    return (
        "Wheel-Version: 1.0\n"
        "Generator: narrows scripts/package\n"
        "Root-Is-Purelib: false\n"
        f"Tag: {tag}\n"
    ).encode()


def metadata(release: Release) -> bytes:
    """Returns what package indexes show."""
    project = release.project
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", "narrows"),
        ("Version", project.python_version),
        ("Summary", project.description),
        ("License-Expression", project.licence),
        *(("License-File", name) for name in release.licences),
        ("Requires-Python", ">=3.8"),
        ("Classifier", "Environment :: Console"),
        ("Classifier", "Operating System :: POSIX :: Linux"),
        ("Classifier", "Programming Language :: Rust"),
        ("Description-Content-Type", "text/markdown; charset=UTF-8"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n".encode() + release.documents["README.md"]
