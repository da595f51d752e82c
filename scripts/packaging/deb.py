"""The Debian package."""

import gzip
import hashlib
import os
import shutil
import time
from pathlib import Path

from .errors import run_command
from .release import Release

# The package in which a library is, and the prefix of its symbols' versions.
LIBRARY_PACKAGES = {
    "libc.so.6": ("libc6", "GLIBC_"),
    "libgcc_s.so.1": ("libgcc-s1", "GCC_"),
}

COMPLETION_DIRECTORIES = {
    "narrows.bash": "usr/share/bash-completion/completions/narrows",
    "_narrows": "usr/share/zsh/vendor-completions/_narrows",
    "narrows.fish": "usr/share/fish/vendor_completions.d/narrows.fish",
}

DOCUMENTATION = "usr/share/doc/narrows"

LINTIAN_OVERRIDES = b"""\
# One binary with all that it needs is what this package is.
narrows: embedded-library *
# It is made beside Debian's archive, where no bug asked for it.
narrows: initial-upload-closes-no-bugs *
"""


def write(release: Release, out: Path, work: Path) -> Path:
    """Lays the files out in `work`, and has dpkg-deb pack them."""
    root = work / "debian"
    install(root, "usr/bin/narrows", release.binary, mode=0o755)
    for name, contents in release.completions.items():
        install(root, COMPLETION_DIRECTORIES[name], contents)
    for name, contents in release.man_pages.items():
        install(root, f"usr/share/man/man1/{name}.gz", compressed(contents))
    documents = release.documents
    third_party = documents["THIRD-PARTY-LICENSES"]
    install(root, f"{DOCUMENTATION}/copyright", copyright_file(release))
    install(root, f"{DOCUMENTATION}/THIRD-PARTY-LICENSES.gz", compressed(third_party))
    install(root, f"{DOCUMENTATION}/README.md.gz", compressed(documents["README.md"]))
    install(root, f"{DOCUMENTATION}/changelog.Debian.gz", compressed(changelog(release)))
    if "CHANGELOG.md" in documents:
        install(root, f"{DOCUMENTATION}/changelog.gz", compressed(documents["CHANGELOG.md"]))
    install(root, "usr/share/lintian/overrides/narrows", LINTIAN_OVERRIDES)
    installed = sorted(path for path in root.rglob("*") if path.is_file())
    install(root, "DEBIAN/md5sums", md5sums(root, installed))
    install(root, "DEBIAN/control", control(release, installed))
    set_dates(root, release.project.date)

    architecture = release.elf.platform.debian
    path = out / f"narrows_{release.project.debian_version}_{architecture}.deb"
    run_command(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path],
        needs="install dpkg, or leave the Debian package out with --only",
        environment={"SOURCE_DATE_EPOCH": str(release.project.date)},
    )
    return path


def install(root: Path, name: str, source: bytes | Path, mode: int = 0o644) -> None:
    """Puts a file where it will be installed."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, Path):
        shutil.copyfile(source, path)
    else:
        path.write_bytes(source)
    path.chmod(mode)


def compressed(contents: bytes) -> bytes:
    """Compresses as Debian's policy asks for: with no name and no time."""
    return gzip.compress(contents, 9, mtime=0)


def md5sums(root: Path, files: list[Path]) -> bytes:
    """Returns what `dpkg --verify` compares with."""
    lines = []
    for path in files:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "md5").hexdigest()
        lines.append(f"{digest}  {path.relative_to(root)}\n")
    return "".join(lines).encode()


def control(release: Release, files: list[Path]) -> bytes:
    """Returns the description of the package."""
    # In units of 1024 bytes, each file rounded up.
    size = sum((path.stat().st_size + 1023) // 1024 for path in files)
    return f"""\
Package: narrows
Version: {release.project.debian_version}
Architecture: {release.elf.platform.debian}
Maintainer: {maintainer()}
Installed-Size: {size}
Depends: {", ".join(dependencies(release))}
Section: utils
Priority: optional
Description: MCP gateway that runs the Python of agents in a sandbox
 Narrows is one MCP server in front of many. An agent writes Python, which
 runs in a WebAssembly sandbox and calls the tools of all other servers as
 async functions; only what it prints or returns goes back to the model.
 .
 CPython is inside of the binary: no Python has to be installed.
""".encode()


def dependencies(release: Release) -> list[str]:
    """Returns the packages with the libraries that the binary needs, in the versions it needs."""
    found = []
    for library, (package, prefix) in LIBRARY_PACKAGES.items():
        if library in release.elf.libraries:
            version = release.elf.newest_version(prefix)
            number = ".".join(str(part) for part in version[:2]) if version else None
            found.append(f"{package} (>= {number})" if number else package)
    return found


def maintainer() -> str:
    """Returns who answers for the package, as Debian's own tools are told."""
    name = os.environ.get("DEBFULLNAME", "The Narrows contributors")
    return f"{name} <{os.environ.get('DEBEMAIL', 'narrows@localhost')}>"


def changelog(release: Release) -> bytes:
    """Returns the history of the package, which has one entry: the release that is in it."""
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(release.project.date))
    return f"""\
narrows ({release.project.debian_version}) unstable; urgency=medium

  * Package of narrows {release.project.version}.

 -- {maintainer()}  {date}
""".encode()


def copyright_file(release: Release) -> bytes:
    """Returns the licences in Debian's machine-readable form."""
    mit = release.documents["LICENSE-MIT"].decode()
    # Without its title and the copyright line, which are fields of their own.
    terms = mit[mit.index("Permission is hereby granted") :].rstrip("\n")
    indented = "\n".join(f" {line}" if line else " ." for line in terms.splitlines())
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: narrows
Comment:
 The binary contains software of others. Their licences are in the file
 THIRD-PARTY-LICENSES.gz beside this one.

Files: *
Copyright: {release.project.copyright}
License: Expat or Apache-2.0

License: Expat
{indented}

License: Apache-2.0
 On Debian systems, the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
""".encode()


def set_dates(root: Path, date: int) -> None:
    """Gives all files and directories one date, and directories the usual mode."""
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (date, date))
