"""Reads what an ELF file says of itself: machine, libraries, versions, sections."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from .errors import PackagingError
from .platforms import BY_ELF_MACHINE, Platform

DYNAMIC_NEEDED = 1
SECTION_NO_BITS = 8
NOTE_BUILD_ID = 3


@dataclass(frozen=True)
class Section:
    """A section's place in the file."""

    kind: int
    offset: int
    size: int
    # The section that belongs to it: for versions and dynamic entries, their strings.
    link: int

    @property
    def has_contents(self) -> bool:
        """Tells whether its bytes are in the file. Those of debug files often are elsewhere."""
        return self.kind != SECTION_NO_BITS and self.size > 0


@dataclass(frozen=True)
class Elf:
    """What packages need to know of a binary."""

    platform: Platform
    # Names of the shared libraries that it is linked with.
    libraries: tuple[str, ...]
    # Versions of their symbols that it asks for, such as {"libc.so.6": {"GLIBC_2.34"}}.
    versions: dict[str, frozenset[str]]
    sections: dict[str, Section]
    build_id: str | None
    # Name and CRC-32 of the file with its debug lines.
    debug_link: tuple[str, int] | None

    @classmethod
    def read(cls, path: Path) -> "Elf":
        """Reads a file."""
        try:
            with (
                path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                return parse(data)
        except (OSError, ValueError, IndexError, struct.error) as error:
            raise PackagingError(f"{path} cannot be read as an ELF file: {error}") from None

    @property
    def has_debug_lines(self) -> bool:
        """Tells whether a backtrace can name lines with this file alone."""
        section = self.sections.get(".debug_line")
        return section is not None and section.has_contents

    @property
    def is_stripped(self) -> bool:
        """Tells whether it has neither symbols nor debug lines."""
        return ".symtab" not in self.sections and not self.has_debug_lines

    def newest_version(self, prefix: str) -> tuple[int, ...] | None:
        """Returns the newest version with this prefix (`GLIBC_`) that any library has to have.

        Weak references count too. The program may start without them, but nobody has tried it.
        """
        named = {version for versions in self.versions.values() for version in versions}
        numbers = (version.removeprefix(prefix) for version in named if version.startswith(prefix))
        found = [
            tuple(int(part) for part in number.split("."))
            for number in numbers
            if number.replace(".", "").isdecimal()
        ]
        return max(found, default=None)


def parse(data: mmap.mmap) -> Elf:
    """Reads a 64-bit little-endian ELF file."""
    if data[:4] != b"\x7fELF":
        raise ValueError("it does not begin as one")
    if data[4:6] != b"\x02\x01":
        raise ValueError("only 64-bit little-endian files are packaged")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in BY_ELF_MACHINE:
        known = ", ".join(platform.triple for platform in BY_ELF_MACHINE.values())
        raise ValueError(f"it is for the machine {machine}; packages are made for {known}")
    table = read_sections(data)
    sections = dict(table)
    by_index = [section for _, section in table]
    return Elf(
        platform=BY_ELF_MACHINE[machine],
        libraries=tuple(read_libraries(data, sections, by_index)),
        versions=read_versions(data, sections, by_index),
        sections=sections,
        build_id=read_build_id(data, sections.get(".note.gnu.build-id")),
        debug_link=read_debug_link(data, sections.get(".gnu_debuglink")),
    )


def read_sections(data: mmap.mmap) -> list[tuple[str, Section]]:
    """Returns all sections with their names, in the order of the file."""
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 58)
    headers = []
    for index in range(count):
        name, kind, _, _, offset, size, link = struct.unpack_from(
            "<IIQQQQI", data, table + index * entry_size
        )
        headers.append((name, Section(kind, offset, size, link)))
    names = headers[names_index][1]
    return [(string_at(data, names, name), section) for name, section in headers]


def string_at(data: mmap.mmap, strings: Section, offset: int) -> str:
    """Returns a string of a table of strings."""
    start = strings.offset + offset
    return data[start : data.find(b"\0", start)].decode()


def read_libraries(data, sections: dict[str, Section], by_index: list[Section]) -> list[str]:
    """Returns the names in the dynamic section."""
    dynamic = sections.get(".dynamic")
    if dynamic is None or not dynamic.has_contents:
        return []
    entries = struct.iter_unpack("<qQ", data[dynamic.offset : dynamic.offset + dynamic.size])
    strings = by_index[dynamic.link]
    return [string_at(data, strings, value) for tag, value in entries if tag == DYNAMIC_NEEDED]


def read_versions(data, sections, by_index: list[Section]) -> dict[str, frozenset[str]]:
    """Returns the versions of symbols that the file needs, by library."""
    needs = sections.get(".gnu.version_r")
    if needs is None or not needs.has_contents:
        return {}
    strings = by_index[needs.link]
    versions: dict[str, frozenset[str]] = {}
    at = needs.offset
    while True:
        _, count, library, first, following = struct.unpack_from("<HHIII", data, at)
        names, entry = set(), at + first
        for _ in range(count):
            _, _, _, name, next_entry = struct.unpack_from("<IHHII", data, entry)
            names.add(string_at(data, strings, name))
            entry += next_entry
        versions[string_at(data, strings, library)] = frozenset(names)
        if following == 0:
            return versions
        at += following


def read_build_id(data, section: Section | None) -> str | None:
    """Returns the hash by which the linker named the file."""
    if section is None or not section.has_contents:
        return None
    name_size, size, kind = struct.unpack_from("<III", data, section.offset)
    start = section.offset + 12 + (name_size + 3) // 4 * 4
    return data[start : start + size].hex() if kind == NOTE_BUILD_ID else None


def read_debug_link(data, section: Section | None) -> tuple[str, int] | None:
    """Returns the name of the debug file and its CRC-32."""
    if section is None:
        return None
    (crc,) = struct.unpack_from("<I", data, section.offset + section.size - 4)
    return string_at(data, section, 0), crc
