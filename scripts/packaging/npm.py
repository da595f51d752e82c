"""The npm packages: a small one with a launcher, and one for each platform with its binary.

This is how esbuild does it: the small package names the others as optional dependencies, npm
installs the one whose `os`, `cpu` and `libc` fit, and nothing has to run at install time. The
platform packages are called `narrows-linux-x64` and not `@narrows/linux-x64`, because whoever
publishes them needs an account for the former and the organisation's scope for the latter.
"""

import json
from pathlib import Path

from . import tarball
from .release import Release
from .tarball import Entry

LAUNCHER = Path(__file__).with_name("npm_launcher") / "narrows.js"


def write(release: Release, out: Path, other_platforms: list[str]) -> list[Path]:
    """Writes both packages as `npm pack` would.

    The launcher depends only on platforms for which there is a package: the one that is packaged
    now, and those that were named. A name that nobody has published yet could be taken by others.
    """
    platform = release.elf.platform.npm
    platforms = sorted({platform, *other_platforms})
    version = release.project.version
    launcher = {
        **common(release, "narrows", release.project.description),
        "bin": {"narrows": "bin/narrows.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {package_name(name): version for name in platforms},
    }
    binary = {
        **common(release, package_name(platform), f"The binary of narrows for {platform}"),
        "os": ["linux"],
        "cpu": [release.elf.platform.npm_cpu],
        "libc": ["glibc"],
        # Yarn keeps packages zipped, and nothing can be started from there.
        "preferUnplugged": True,
    }
    documents = release.documents
    own_licences = {name: documents[name] for name in ("LICENSE-APACHE", "LICENSE-MIT")}
    readme = f"The binary of the npm package `narrows` for {platform}. Install `narrows` instead.\n"
    return [
        pack(
            out,
            launcher,
            [Entry("bin/narrows.js", LAUNCHER, is_executable=True)],
            {"README.md": documents["README.md"], **own_licences},
            release.project.date,
        ),
        pack(
            out,
            binary,
            [Entry("bin/narrows", release.binary, is_executable=True)],
            {"README.md": readme.encode(), **release.licences},
            release.project.date,
        ),
    ]


def package_name(platform: str) -> str:
    """Returns the name of a platform's package."""
    return f"narrows-{platform}"


def common(release: Release, name: str, description: str) -> dict:
    """Returns what both manifests have."""
    return {
        "name": name,
        "version": release.project.version,
        "description": description,
        "license": release.project.licence,
    }


def pack(
    out: Path, manifest: dict, programs: list[Entry], documents: dict[str, bytes], date: int
) -> Path:
    """Writes a package: all of it is below `package/`, and the manifest comes first."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    files = [
        Entry("package.json", text.encode()),
        *programs,
        *(Entry(name, documents[name]) for name in sorted(documents)),
    ]
    path = out / f"{manifest['name']}-{manifest['version']}.tgz"
    entries = [Entry(f"package/{file.name}", file.source, file.is_executable) for file in files]
    tarball.write(path, entries, date)
    return path
