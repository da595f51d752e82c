"""Finds the crates that are linked into a binary, with their sources in the cargo home."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import PackagingError, run_command
from .project import read_toml

NEEDS_CARGO = "install Rust"

# A line of `cargo tree --format {p}`: `serde v1.0.0`, `narrows v0.1.0 (/path)`, `syn v2.0.0 (*)`.
TREE_LINE = re.compile(r"(\S+) v(\S+)(?: .*)?")


@dataclass(frozen=True, order=True)
class CrateId:
    """A crate's name and version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Crate:
    """A crate that is part of the binary."""

    id: CrateId
    description: str | None
    # An SPDX expression, if the crate has one.
    licence: str | None
    directory: Path
    # Of this repository, and not from a registry.
    is_local: bool
    # SHA-256 of the package in the registry.
    checksum: str | None
    # Crates that it is linked with.
    dependencies: tuple[CrateId, ...]


def linked_crates(manifest: Path, package: str, triple: str) -> dict[CrateId, Crate]:
    """Returns the crates whose code is in the binary of `package`, and the package itself.

    `cargo metadata` has the details, but joins the features of all kinds of dependencies; `cargo
    tree` knows which crates are really compiled for the target. Procedural macros run in the
    compiler and leave nothing of themselves.
    """
    linked = tree(manifest, package, triple)
    checksums = lock_checksums(manifest.with_name("Cargo.lock"))
    metadata = json.loads(
        run_command(
            [
                *("cargo", "metadata", "--locked", "--format-version", "1"),
                *("--manifest-path", manifest, "--filter-platform", triple),
            ],
            needs=NEEDS_CARGO,
        )
    )
    packages = {entry["id"]: entry for entry in metadata["packages"]}
    ids = {key: CrateId(entry["name"], entry["version"]) for key, entry in packages.items()}
    crates = {}
    for node in metadata["resolve"]["nodes"]:
        crate_id, entry = ids[node["id"]], packages[node["id"]]
        if crate_id not in linked:
            continue
        dependencies = {
            ids[dependency["pkg"]]
            for dependency in node["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        }
        crates[crate_id] = Crate(
            id=crate_id,
            description=entry["description"],
            licence=spdx(entry["license"]),
            directory=Path(entry["manifest_path"]).parent,
            is_local=entry["source"] is None,
            checksum=checksums.get(crate_id),
            dependencies=tuple(sorted(dependencies & linked)),
        )
    if missing := linked - crates.keys():
        names = ", ".join(str(crate_id) for crate_id in sorted(missing))
        raise PackagingError(f"cargo metadata does not know what cargo tree names: {names}")
    return dict(sorted(crates.items()))


def tree(manifest: Path, package: str, triple: str) -> set[CrateId]:
    """Returns what `cargo tree` says is linked into a package."""
    output = run_command(
        [
            *("cargo", "tree", "--locked", "--manifest-path", manifest),
            *("--package", package, "--target", triple),
            *("--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"),
        ],
        needs=NEEDS_CARGO,
    )
    lines = [line for line in output.decode().splitlines() if line.strip()]
    found = [TREE_LINE.fullmatch(line) for line in lines]
    if not found or None in found:
        raise PackagingError(f"cargo tree --package {package} printed what cannot be understood")
    return {CrateId(match[1], match[2]) for match in found}


def lock_checksums(lock: Path) -> dict[CrateId, str]:
    """Returns the checksums of packages from registries."""
    return {
        CrateId(entry["name"], entry["version"]): entry["checksum"]
        for entry in read_toml(lock)["package"]
        if "checksum" in entry
    }


def spdx(licence: str | None) -> str | None:
    """Returns an expression in today's form: crates of long ago have `MIT/Apache-2.0`."""
    return None if licence is None else re.sub(r"\s*/\s*", " OR ", licence.strip())
