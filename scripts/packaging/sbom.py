"""The bill of materials (CycloneDX 1.5): what is in the binary, and under which licence."""

import hashlib
import json
import time
import uuid
from pathlib import Path

from .cargo import Crate, CrateId
from .guest import Component
from .release import PRODUCT, Release

# How public lists of vulnerabilities call what is no crate.
CPE_NAMES = {
    "CPython": "python:python",
    "Expat": "libexpat_project:libexpat",
    "libmpdec": None,
    "SQLite": "sqlite:sqlite",
    "zlib": "zlib:zlib",
}


def write(release: Release, out: Path) -> Path:
    """Writes the document."""
    path = out / f"{release.name}.cdx.json"
    path.write_text(
        json.dumps(document(release), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return path


def document(release: Release) -> dict:
    """Returns the whole document."""
    project = release.project
    with release.binary.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    product = CrateId(PRODUCT, project.version)
    crates = {**release.guest_crates, **release.crates}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same binary has the same document.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(project.date)),
            "tools": {"components": [{"type": "application", "name": "narrows scripts/package"}]},
            "component": {
                "type": "application",
                "bom-ref": reference(product),
                "name": PRODUCT,
                "version": project.version,
                "description": project.description,
                "licenses": [{"expression": project.licence}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "properties": [{"name": "narrows:target", "value": release.elf.platform.triple}],
            },
        },
        "components": [
            *(crate_component(crate) for key, crate in sorted(crates.items()) if key != product),
            *(guest_component(component) for component in release.guest_components),
        ],
        "dependencies": dependencies(release, crates),
    }


def reference(crate_id: CrateId) -> str:
    """Returns by what a component is called within the document."""
    return f"crate:{crate_id.name}@{crate_id.version}"


def guest_reference(component: Component) -> str:
    """Returns by what a component of the guest is called within the document."""
    return f"guest:{component.name.lower()}@{component.version}"


def crate_component(crate: Crate) -> dict:
    """Describes a crate. Those of this repository have no address in a registry."""
    component = {
        "type": "library",
        "bom-ref": reference(crate.id),
        "name": crate.id.name,
        "version": crate.id.version,
        "scope": "required",
    }
    if crate.description:
        component["description"] = " ".join(crate.description.split())
    if crate.checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
    if crate.licence:
        component["licenses"] = [{"expression": crate.licence}]
    if not crate.is_local:
        component["purl"] = f"pkg:cargo/{crate.id.name}@{crate.id.version.replace('+', '%2B')}"
    return component


def guest_component(component: Component) -> dict:
    """Describes a part of the interpreter, which came with the crate componentize-py."""
    name, version = component.name, component.version
    described = {
        "type": "platform" if name == "CPython" else "library",
        "bom-ref": guest_reference(component),
        "name": name,
        "version": version,
        "scope": "required",
        "licenses": [{"license": {"id": component.licence}}],
        "purl": f"pkg:generic/{name.lower()}@{version}",
    }
    if cpe := CPE_NAMES[name]:
        described["cpe"] = f"cpe:2.3:a:{cpe}:{version}:*:*:*:*:*:*:*"
    return described


def dependencies(release: Release, crates: dict[CrateId, Crate]) -> list[dict]:
    """Returns which component is linked with which."""
    guest = {reference(crate_id) for crate_id in release.guest_crates}
    libraries = {
        component.name: guest_reference(component) for component in release.guest_components
    }
    cpython = libraries.pop("CPython")
    edges = {
        reference(key): {reference(other) for other in crate.dependencies if other in crates}
        for key, crate in crates.items()
        # The guest's crates were linked with tools of its build, which are not in the binary.
        if key in release.crates
    }
    edges.setdefault(reference(CrateId("narrows-sandbox", release.project.version)), set()).update(
        guest
    )
    for crate in guest:
        edges.setdefault(crate, set())
        if crate.startswith("crate:componentize-py@"):
            edges[crate].add(cpython)
    edges[cpython] = set(libraries.values())
    edges.update({library: set() for library in libraries.values()})
    return [{"ref": key, "dependsOn": sorted(edges[key])} for key in sorted(edges)]
