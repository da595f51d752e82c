"""Checks that need no installation: what is in the packages, and that it belongs together."""

import base64
import csv
import hashlib
import json
import os
import re
import tempfile
import zlib
from pathlib import Path

from .. import checksums, deb
from ..elf import Elf
from ..errors import run_command
from .dist import Dist, PackedFile, read_deb, read_tar, read_zip, unpacked
from .report import Report, expect, expect_equal

DOCUMENTS = {"README.md", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES"}
COMPLETIONS = {"completions/narrows.bash", "completions/_narrows", "completions/narrows.fish"}
MAN_PAGES = {"man/man1/narrows.1", "man/man1/narrows-serve.1", "man/man1/narrows-servers-add.1"}


class Packages:
    """What is in all packages, read once."""

    def __init__(self, dist: Dist) -> None:
        self.dist = dist
        self.wheel = read_zip(dist.wheel)
        self.npm_launcher = read_tar(dist.npm_launcher.read_bytes())
        self.npm_binary = read_tar(dist.npm_binary.read_bytes())
        self.deb = read_deb(dist.deb)
        self.archive = read_tar(dist.archive.read_bytes())
        self.debug = read_tar(dist.debug.read_bytes())

    @property
    def by_name(self) -> dict[str, dict[str, PackedFile]]:
        return {
            "wheel": self.wheel,
            "npm launcher": self.npm_launcher,
            "npm binary": self.npm_binary,
            "deb": self.deb,
            "archive": self.archive,
            "debug archive": self.debug,
        }

    def binaries(self) -> dict[str, PackedFile]:
        """Returns the binary of each package that has one."""
        stem = f"narrows-{self.dist.project.python_version}"
        return {
            "wheel": self.wheel[f"{stem}.data/scripts/narrows"],
            "npm": self.npm_binary["package/bin/narrows"],
            "deb": self.deb["usr/bin/narrows"],
            "archive": self.archive[f"{self.dist.prefix}-{self.dist.platform.triple}/narrows"],
        }


def check_all(report: Report, dist: Dist) -> None:
    """Runs all checks of this file."""
    report.check("SHA256SUMS: names every file with its hash", check_sums, dist)
    packages = report.check("packages: can be read", Packages, dist)
    if packages is None:
        return
    checks = {
        "binary: the same in all packages, executable, stripped": check_binaries,
        "wheel: RECORD has every file with hash and size": check_record,
        "wheel: the tag is that of the glibc the binary needs": check_wheel_tag,
        "npm: the manifests say what belongs where, and run nothing": check_npm,
        "deb: depends on what the binary needs; md5sums are right": check_deb,
        "archive: has completions, manual pages, README and licences": check_archive,
        "licences: name every crate of the bill of materials": check_licences,
        "debug archive: belongs to the binary": check_debug,
        "bill of materials: is complete in itself": check_sbom,
        "packages: no path of this machine in any text": check_paths,
    }
    for name, function in checks.items():
        report.check(name, function, packages)


def check_sums(dist: Dist) -> None:
    sums = checksums.read(dist.directory)
    present = {path.name for path in dist.directory.iterdir() if path.name != checksums.NAME}
    expect_equal(set(sums), present, "what SHA256SUMS names")
    for name, digest in sums.items():
        found = hashlib.sha256((dist.directory / name).read_bytes()).hexdigest()
        expect_equal(found, digest, f"the hash of {name}")


def check_binaries(packages: Packages) -> None:
    binaries = packages.binaries()
    digests = {name: hashlib.sha256(file.contents).hexdigest() for name, file in binaries.items()}
    expect(len(set(digests.values())) == 1, f"the binaries differ: {digests}")
    for name, file in binaries.items():
        expect_equal(file.mode & 0o777, 0o755, f"the mode of the binary in {name}")
    elf = read_elf(binaries["archive"])
    expect(elf.is_stripped, "the binary has symbols or debug lines")
    expect(elf.debug_link, "the binary does not name its debug file")


def read_elf(file: PackedFile) -> Elf:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        path.write_bytes(file.contents)
        return Elf.read(path)


def check_record(packages: Packages) -> None:
    info = f"narrows-{packages.dist.project.python_version}.dist-info"
    record = f"{info}/RECORD"
    rows = list(csv.reader(packages.wheel[record].contents.decode().splitlines()))
    expect_equal({row[0] for row in rows}, set(packages.wheel), "what RECORD names")
    for name, digest, size in rows:
        if name == record:
            expect_equal((digest, size), ("", ""), "RECORD's own entry")
            continue
        contents = packages.wheel[name].contents
        found = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).decode().rstrip("=")
        expect_equal((f"sha256={found}", str(len(contents))), (digest, size), name)
    licences = {name for name in packages.wheel if name.startswith(f"{info}/licenses/")}
    expect_equal(len(licences), 3, "the number of licence files")


def check_wheel_tag(packages: Packages) -> None:
    """Compares with readelf, which reads the file in its own way."""
    dist = packages.dist
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "narrows"
        path.write_bytes(packages.binaries()["wheel"].contents)
        said = run_command(["readelf", "--version-info", "--wide", path], needs="install binutils")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", said.decode())
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    tag = f"py3-none-manylinux_{major}_{minor}_{dist.platform.wheel}"
    expect_equal(dist.wheel.name, f"narrows-{dist.project.python_version}-{tag}.whl", "its name")
    info = f"narrows-{dist.project.python_version}.dist-info"
    expect(f"\nTag: {tag}\n" in packages.wheel[f"{info}/WHEEL"].contents.decode(), "WHEEL differs")


def check_npm(packages: Packages) -> None:
    launcher = json.loads(packages.npm_launcher["package/package.json"].contents)
    binary = json.loads(packages.npm_binary["package/package.json"].contents)
    version, platform = packages.dist.project.version, packages.dist.platform
    for manifest in (launcher, binary):
        expect_equal(manifest["version"], version, f"the version of {manifest['name']}")
        expect("scripts" not in manifest, f"{manifest['name']} runs something at install time")
    expect_equal(launcher["name"], "narrows", "the launcher's name")
    expect_equal(launcher["optionalDependencies"].get(binary["name"]), version, "the dependency")
    fits = (binary["os"], binary["cpu"], binary["libc"])
    expect_equal(fits, (["linux"], [platform.npm_cpu], ["glibc"]), "where the binary fits")
    expect(
        len(packages.npm_launcher["package/bin/narrows.js"].contents) < 10_000,
        "the launcher is not small",
    )


def check_deb(packages: Packages) -> None:
    def field(name: str) -> str:
        command = ["dpkg-deb", "--field", packages.dist.deb, name]
        return run_command(command, needs="install dpkg").decode().strip()

    elf = read_elf(packages.binaries()["deb"])
    glibc = ".".join(str(part) for part in elf.newest_version("GLIBC_")[:2])
    expect(f"libc6 (>= {glibc})" in field("Depends").split(", "), "libc6 is not depended on")
    for library in set(elf.libraries) & set(deb.LIBRARY_PACKAGES):
        expect(deb.LIBRARY_PACKAGES[library][0] in field("Depends"), f"{library} has no package")
    expect_equal(field("Version"), packages.dist.project.debian_version, "its version")
    control = read_tar(
        run_command(["dpkg-deb", "--ctrl-tarfile", packages.dist.deb], needs="install dpkg")
    )
    sums = dict(
        reversed(line.split("  ", 1)) for line in control["md5sums"].contents.decode().splitlines()
    )
    found = {name: hashlib.md5(file.contents).hexdigest() for name, file in packages.deb.items()}
    expect_equal(sums, found, "md5sums")
    for name in (
        *deb.COMPLETION_DIRECTORIES.values(),
        "usr/share/man/man1/narrows.1.gz",
        "usr/share/man/man1/narrows-serve.1.gz",
        f"{deb.DOCUMENTATION}/copyright",
        f"{deb.DOCUMENTATION}/changelog.Debian.gz",
        f"{deb.DOCUMENTATION}/THIRD-PARTY-LICENSES.gz",
    ):
        expect(name in packages.deb, f"{name} is not there")


def check_archive(packages: Packages) -> None:
    folder = f"{packages.dist.prefix}-{packages.dist.platform.triple}"
    promised = {"narrows"} | DOCUMENTS | COMPLETIONS | MAN_PAGES
    for name in sorted(promised):
        file = packages.archive.get(f"{folder}/{name}")
        expect(file and file.contents.strip(), f"{name} is not there, or empty")
    outside = [name for name in packages.archive if not name.startswith(f"{folder}/")]
    expect(not outside, f"not in one folder: {outside}")


def check_licences(packages: Packages) -> None:
    folder = f"{packages.dist.prefix}-{packages.dist.platform.triple}"
    text = packages.archive[f"{folder}/THIRD-PARTY-LICENSES"].contents.decode()
    named = set(text.splitlines())
    components = json.loads(packages.dist.sbom.read_bytes())["components"]
    crates = [
        component for component in components if component.get("purl", "").startswith("pkg:cargo/")
    ]
    expect(len(crates) > 100, f"only {len(crates)} crates")
    for crate in crates:
        begin = f"{crate['name']} {crate['version']}: "
        expect(any(line.startswith(begin) for line in named), f"{begin} is missing")
    for phrase in ("PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "Apache License", "MIT License"):
        expect(phrase in text, f"no text has {phrase!r}")


def check_debug(packages: Packages) -> None:
    elf = read_elf(packages.binaries()["archive"])
    name, crc = elf.debug_link
    debug = packages.debug[name]
    expect_equal(zlib.crc32(debug.contents), crc, "the checksum of the debug file")
    lines = read_elf(debug)
    expect(lines.has_debug_lines, "it has no debug lines")
    expect_equal(lines.build_id, elf.build_id, "its build id")


def check_sbom(packages: Packages) -> None:
    document = json.loads(packages.dist.sbom.read_bytes())
    expect_equal((document["bomFormat"], document["specVersion"]), ("CycloneDX", "1.5"), "its form")
    product = document["metadata"]["component"]
    digest = hashlib.sha256(packages.binaries()["archive"].contents).hexdigest()
    expect_equal(product["hashes"], [{"alg": "SHA-256", "content": digest}], "the binary's hash")
    components = [product, *document["components"]]
    references = [component["bom-ref"] for component in components]
    expect_equal(len(references), len(set(references)), "the number of different references")
    for component in components:
        expect(component["name"] and component["version"], f"{component} has no name or version")
        expect(component.get("licenses"), f"{component['bom-ref']} has no licence")
        if component.get("purl", "").startswith("pkg:cargo/"):
            expect(component.get("hashes"), f"{component['bom-ref']} has no checksum")
    names = {component["name"] for component in components}
    for name in ("CPython", "componentize-py", "wasmtime", "rmcp", "tokio"):
        expect(name in names, f"{name} is not in it")
    edges = {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]}
    expect_equal(set(edges), set(references), "what the graph of dependencies is of")
    # Everything is reached from the product, so nothing is in the list that is not in the binary.
    reached, waiting = set(), [product["bom-ref"]]
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting.extend(edges[reference])
    expect_equal(set(references) - reached, set(), "what nothing depends on")


def check_paths(packages: Packages) -> None:
    root = packages.dist.project.root
    cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    paths = {f"{path}/" for path in (Path.home(), root, cargo_home)}
    texts = {
        f"{package}: {name}": unpacked(file, name)
        for package, files in packages.by_name.items()
        for name, file in files.items()
    }
    texts["bill of materials"] = packages.dist.sbom.read_bytes()
    found = [
        f"{name} has {path}"
        for name, contents in texts.items()
        if b"\0" not in contents
        for path in paths
        if path.encode() in contents
    ]
    expect(not found, "; ".join(found))
    expect(len(texts) > 30, f"only {len(texts)} files were looked at")
