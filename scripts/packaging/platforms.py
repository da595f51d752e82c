"""What each package format calls a platform."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """A platform that binaries are packaged for: Linux with glibc on one machine."""

    triple: str
    wheel: str
    debian: str
    npm_cpu: str

    @property
    def npm(self) -> str:
        """Returns the platform as Node.js says it: `process.platform` and `process.arch`."""
        return f"linux-{self.npm_cpu}"


# By the machine in the header of an ELF file.
BY_ELF_MACHINE = {
    62: Platform("x86_64-unknown-linux-gnu", wheel="x86_64", debian="amd64", npm_cpu="x64"),
    183: Platform("aarch64-unknown-linux-gnu", wheel="aarch64", debian="arm64", npm_cpu="arm64"),
}
