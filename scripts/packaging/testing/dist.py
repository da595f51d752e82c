"""The files in `dist/`, and what is inside of them."""

import gzip
import io
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import PackagingError, run_command
from ..platforms import BY_ELF_MACHINE, Platform
from ..project import Project


@dataclass(frozen=True)
class PackedFile:
    """A file inside of a package."""

    mode: int
    contents: bytes


@dataclass(frozen=True)
class Dist:
    """The packages of one release."""

    directory: Path
    project: Project

    @property
    def platform(self) -> Platform:
        """Returns the platform that was packaged, by the name of the archive."""
        for platform in BY_ELF_MACHINE.values():
            if (self.directory / f"{self.prefix}-{platform.triple}.tar.gz").is_file():
                return platform
        raise PackagingError(
            f"there is no {self.prefix}-*.tar.gz in {self.directory}; run scripts/package first"
        )

    @property
    def prefix(self) -> str:
        """Returns how most names begin."""
        return f"narrows-{self.project.version}"

    @property
    def archive(self) -> Path:
        return self.directory / f"{self.prefix}-{self.platform.triple}.tar.gz"

    @property
    def debug(self) -> Path:
        return self.directory / f"{self.prefix}-{self.platform.triple}.debug.tar.gz"

    @property
    def sbom(self) -> Path:
        return self.directory / f"{self.prefix}-{self.platform.triple}.cdx.json"

    @property
    def npm_launcher(self) -> Path:
        return self.directory / f"{self.prefix}.tgz"

    @property
    def npm_binary(self) -> Path:
        return self.directory / f"narrows-{self.platform.npm}-{self.project.version}.tgz"

    @property
    def deb(self) -> Path:
        name = f"narrows_{self.project.debian_version}_{self.platform.debian}.deb"
        return self.directory / name

    @property
    def wheel(self) -> Path:
        """Returns the wheel, whose platform tag is not known beforehand."""
        pattern = f"narrows-{self.project.python_version}-py3-none-*_{self.platform.wheel}.whl"
        found = list(self.directory.glob(pattern))
        if len(found) != 1:
            raise PackagingError(f"{len(found)} files in {self.directory} match {pattern}")
        return found[0]


def read_tar(data: bytes) -> dict[str, PackedFile]:
    """Returns the files of a tar archive, compressed in any way."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {
            member.name.removeprefix("./"): PackedFile(
                member.mode, archive.extractfile(member).read()
            )
            for member in archive
            if member.isfile()
        }


def read_zip(path: Path) -> dict[str, PackedFile]:
    """Returns the files of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        return {
            entry.filename: PackedFile(entry.external_attr >> 16, archive.read(entry))
            for entry in archive.infolist()
        }


def read_deb(path: Path) -> dict[str, PackedFile]:
    """Returns the files that a Debian package installs."""
    return read_tar(run_command(["dpkg-deb", "--fsys-tarfile", path], needs="install dpkg"))


def unpacked(file: PackedFile, name: str) -> bytes:
    """Returns the contents, also of files that are compressed in the package."""
    return gzip.decompress(file.contents) if name.endswith(".gz") else file.contents
