"""Where the gateway is, as the command line of every client here says it, and what they report.

    CLIENT [--era legacy|modern|auto] stdio COMMAND ARGS…
    CLIENT [--era legacy|modern|auto] http URL [KEY]

Without `--era` a client negotiates as it does by default.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

# Whoever waits longer waits for a gateway that hangs; a busy machine is quicker than that.
TIMEOUT_SECONDS = 300
TOOL = "execute_code"
ARGUMENTS = {"code": "print('hi'); result = 6*7"}
MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


@dataclass
class Gateway:
    """Either a command or a URL with perhaps a key."""

    mode: str
    command: str | None = None
    args: tuple[str, ...] = ()
    url: str | None = None
    key: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    @property
    def environment(self) -> dict[str, str]:
        """All of it: by default the clients hand on only a few variables."""
        return dict(os.environ)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--era", choices=list(MODES), default="auto")
    made.add_argument("transport", choices=["stdio", "http"])
    made.add_argument("target", nargs=argparse.REMAINDER, metavar="COMMAND ARGS… | URL [KEY]")
    return made


def gateway(options: argparse.Namespace) -> Gateway:
    mode, target = MODES[options.era], options.target
    if not target:
        raise SystemExit("a command or a URL is missing")
    if options.transport == "stdio":
        return Gateway(mode, command=target[0], args=tuple(target[1:]))
    return Gateway(mode, url=target[0], key=target[1] if len(target) > 1 else None)


def start(client: Callable[[Any], Awaitable[None]], argument: Any) -> None:
    """Runs a client, which fails when the gateway keeps it waiting."""

    async def limited() -> None:
        with anyio.fail_after(TIMEOUT_SECONDS):
            await client(argument)

    anyio.run(limited)


def report(**found: Any) -> None:
    """One line of JSON, which is all that a client prints on standard output."""
    print(json.dumps(found, ensure_ascii=False), flush=True)
