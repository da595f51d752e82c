"""Collects the licences of everything that is in the binary into one text."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .cargo import Crate
from .guest import Component

# Files that hold a licence, a notice that has to be passed on, or the names of copyright holders.
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
CODE_SUFFIXES = {".c", ".cc", ".h", ".html", ".js", ".json", ".py", ".rs", ".sh", ".toml", ".yml"}
# Directories of a crate that are not compiled.
SKIPPED = {".git", "benches", "examples", "fuzz", "target", "testdata", "tests"}

# What every Rust program and the guest have in them, and no crate ships a licence for.
TOOLCHAIN = (
    ("Rust standard library", "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"),
    (
        "wasi-libc (in the guest)",
        "Apache-2.0 WITH LLVM-exception AND MIT",
        "https://github.com/WebAssembly/wasi-libc",
    ),
    (
        "LLVM libc++ (in the guest)",
        "Apache-2.0 WITH LLVM-exception",
        "https://github.com/llvm/llvm-project",
    ),
)

RULE = "=" * 80


def third_party(
    version: str, crates: Iterable[Crate], components: Iterable[Component], cpython_licence: str
) -> str:
    """Writes the text: what there is and under which licence, then every licence once."""
    crates = sorted((crate for crate in crates if not crate.is_local), key=lambda crate: crate.id)
    texts = Texts()
    lines = heading(version)
    for crate in crates:
        files = list(licence_files(crate.directory))
        for name, text in files:
            texts.add(f"{crate.id} ({name})", text)
        without = "" if files else " (its package has no licence file)"
        lines.append(f"{crate.id}: {crate.licence or 'see the text below'}{without}")
    for component in components:
        if component.name == "CPython":
            texts.add(f"CPython {component.version} (LICENSE.txt)", cpython_licence)
    lines += [""]
    lines += [
        f"{component.name} {component.version} (in the guest): {component.licence}"
        for component in components
    ]
    lines += [f"{name}: {licence}, {address}" for name, licence, address in TOOLCHAIN]
    return "\n".join(lines) + "\n" + "".join(texts.sections())


def heading(version: str) -> list[str]:
    """Returns the first lines."""
    return [
        f"Third-party software in narrows {version}",
        "",
        "The binary contains the software below. Under which licence each part may be used is",
        "named first; the licences and notices that come with them follow, each text once.",
        "",
        RULE,
        "",
    ]


class Texts:
    """Licence texts with those who come with them. Texts that differ in blanks only are one."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, list[str]]] = {}

    def add(self, owner: str, text: str) -> None:
        """Adds a text."""
        key = " ".join(text.split())
        if key:
            self._texts.setdefault(key, (text, []))[1].append(owner)

    def sections(self) -> Iterator[str]:
        """Yields each text below the names of its owners."""
        for text, owners in self._texts.values():
            body = text.replace("\r\n", "\n").strip("\n")
            yield "\n".join(["", RULE, *owners, RULE, "", body, ""])


def licence_files(directory: Path) -> Iterator[tuple[str, str]]:
    """Yields the licence files of a crate, also those of C sources that it brings along."""
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        folders = {part.lower() for part in relative.parts[:-1]}
        if folders & SKIPPED or not path.is_file():
            continue
        is_licence = LICENCE_FILE.match(path.name) or folders & {"licenses", "licences"}
        if is_licence and path.suffix.lower() not in CODE_SUFFIXES:
            yield str(relative), path.read_text(encoding="utf-8", errors="replace")
