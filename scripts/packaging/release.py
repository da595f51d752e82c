"""All that goes into packages, made once from one binary."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import cargo, guest, licences, strip
from .elf import Elf
from .errors import PackagingError, run_command
from .project import Project

PRODUCT = "narrows"
GUEST_BUILDER = "narrows-guest-builder"

# File names by which shells know their completions.
COMPLETIONS = {"bash": "narrows.bash", "zsh": "_narrows", "fish": "narrows.fish"}

LICENCE_FILES = ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES")


@dataclass(frozen=True)
class Release:
    """What packages are made of."""

    project: Project
    elf: Elf
    # The stripped binary, and the file with its debug lines.
    binary: Path
    debug: Path
    # Contents by file name.
    completions: dict[str, bytes]
    man_pages: dict[str, bytes]
    # README.md, the licences, and the changelog if there is one.
    documents: dict[str, bytes]
    crates: dict[cargo.CrateId, cargo.Crate]
    guest_crates: dict[cargo.CrateId, cargo.Crate]
    guest_components: list[guest.Component]

    @classmethod
    def prepare(cls, project: Project, binary: Path, work: Path) -> "Release":
        """Strips the binary into `work`, and asks it for what it can say itself."""
        stripped, debug = strip.split(binary, work)
        elf = Elf.read(stripped)
        check_version(stripped, project)
        triple = elf.platform.triple
        crates = cargo.linked_crates(project.root / "Cargo.toml", PRODUCT, triple)
        guest_crates = crates_of_guest(project.root, triple)
        components = guest.components(stripped)
        third_party = licences.third_party(
            project.version,
            {**crates, **guest_crates}.values(),
            components,
            guest.cpython_licence(crate_named(guest_crates, "componentize-py")),
        )
        names = ("README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT")
        paths = [project.root / name for name in names]
        documents = {path.name: path.read_bytes() for path in paths if path.exists()}
        documents["THIRD-PARTY-LICENSES"] = third_party.encode()
        return cls(
            project=project,
            elf=elf,
            binary=stripped,
            debug=debug,
            completions={
                name: run(stripped, "completions", shell) for shell, name in COMPLETIONS.items()
            },
            man_pages=man_pages(stripped),
            documents=documents,
            crates=crates,
            guest_crates=guest_crates,
            guest_components=components,
        )

    @property
    def name(self) -> str:
        """Returns what archives are called: `narrows-0.1.0-x86_64-unknown-linux-gnu`."""
        return f"narrows-{self.project.version}-{self.elf.platform.triple}"

    @property
    def licences(self) -> dict[str, bytes]:
        """Returns the documents that have to be in every package with the binary."""
        return {name: self.documents[name] for name in LICENCE_FILES}

    @property
    def glibc(self) -> tuple[int, ...]:
        """Returns the oldest glibc that the binary runs with."""
        version = self.elf.newest_version("GLIBC_")
        if version is None:
            raise PackagingError(
                "the binary is not linked with glibc; packages are made for it only"
            )
        return version


def run(binary: Path, *arguments: str) -> bytes:
    """Returns what the binary prints, with no configuration and no data of anybody's."""
    with tempfile.TemporaryDirectory() as home:
        return run_command(
            [binary, *arguments],
            needs="build it first",
            directory=Path(home),
            environment=guest.isolated_home(Path(home)),
        )


def man_pages(binary: Path) -> dict[str, bytes]:
    """Has the binary write its manual pages."""
    with tempfile.TemporaryDirectory() as directory:
        run(binary, "man", "--out", directory)
        return {path.name: path.read_bytes() for path in sorted(Path(directory).iterdir())}


def check_version(binary: Path, project: Project) -> None:
    """Refuses a binary of another version than that of the sources beside it."""
    said = run(binary, "--version").decode().strip()
    if said != f"narrows {project.version}":
        raise PackagingError(
            f"the binary says {said!r}, and Cargo.toml has version {project.version}; build it anew"
        )


def crates_of_guest(root: Path, triple: str) -> dict[cargo.CrateId, cargo.Crate]:
    """Returns the crates that the guest brings into the binary, beside the product's own."""
    manifest = root / "guest/Cargo.toml"
    crates = cargo.linked_crates(manifest, GUEST_BUILDER, triple)
    found = (crate_named(crates, name) for name in guest.CRATES)
    return {crate.id: crate for crate in found}


def crate_named(crates: dict[cargo.CrateId, cargo.Crate], name: str) -> cargo.Crate:
    """Returns the crate of this name."""
    for crate in crates.values():
        if crate.id.name == name:
            return crate
    raise PackagingError(f"the guest is no longer built with the crate {name}; see guest.py")


def default_binary(root: Path) -> Path:
    """Returns where `cargo build --release` puts the binary."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
    return root / target / "release/narrows"
