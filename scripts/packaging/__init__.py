"""Makes the packages in `dist/` from one release binary; `scripts/package` is its command line.

| file | subject |
|---|---|
| `errors.py` | the error that is reported to the user, and commands that report with it |
| `project.py` | version, description and date of what is packaged |
| `platforms.py` | what each format calls a platform |
| `elf.py` | what a binary says of itself: machine, libraries, versions, sections |
| `strip.py` | the binary without symbols, and its debug lines in a file of their own |
| `cargo.py` | the crates that are linked into the binary |
| `guest.py` | what the interpreter inside the binary brings along |
| `licences.py` | the licences of all of them in one text |
| `release.py` | all that goes into packages, made once |
| `tarball.py`, `archive.py` | tar archives that are the same in every run; the two of a release |
| `wheel.py`, `npm.py`, `deb.py` | one package format each |
| `sbom.py`, `checksums.py` | the bill of materials (CycloneDX); `SHA256SUMS` |

Only Python's standard library is used. The same binary, sources and date give the same bytes.
"""
