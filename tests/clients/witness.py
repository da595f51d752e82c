"""A client that remembers everything it receives, and says what of it is planted.

Reads orders in lines of JSON, and answers each with one:

    {"number": 1, "client": NAME, "target": [ARGUMENTS OF gateway.py]}    connects
    {"number": 2, "client": NAME, "steps": [STEP, …]}                     makes an attempt

A step is one of

    {"tool": NAME, "arguments": {…}}     {"prompt": NAME}     {"resource": URI}     {"complete": PROMPT}
    {"lists": true}      {"tool_list": true}      {"pieces": {arguments of read_workspace_file}}

`<KIND>` in a step is the last token of that kind which was received. The answer to an attempt has
`received`, everything of it, `leaks`, what was found in it, and `missing`, tokens that were wanted
and never came.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
from gateway import TIMEOUT_SECONDS, gateway, parser
from leaks import leaks
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import ElicitResult, PromptReference
from python_elicit import Listener
from python_mcp import connect

sys.path.append(str(Path(__file__).parents[1] / "servers"))
from planted import PLANTED  # noqa: E402

TOKEN = re.compile(r"\[([A-Z0-9_]+)_[a-z2-7]{12}(?::[^\]\s]*)?\]")
WANTED = re.compile(r"<([A-Z_]+)>")
Json = Any


class Witness(Listener):
    """Remembers what the client is told and asked beside its results."""

    def __init__(self) -> None:
        super().__init__(argparse.Namespace(action="accept", without=[]))
        self.received: list[Json] = []

    def _note(self, method: str, params: Any) -> None:
        self.remember(params)

    def remember(self, message: Any) -> None:
        dumped = message.model_dump(by_alias=True, mode="json") if hasattr(message, "model_dump") else str(message)
        self.received.append(dumped)

    async def elicit(self, context: Any, params: Any) -> Any:
        """The person agrees to everything but to showing the model what tokens stand for."""
        if "narrows.restore_pii" in params.message:
            self.remember(params)
            return ElicitResult(action="decline")
        return await super().elicit(context, params)

    async def log(self, params: Any) -> None:
        self.remember(params)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.received.append(message)

    async def message(self, message: Any) -> None:
        self.remember(message)


class Attempt:
    """One attempt, step by step."""

    def __init__(self, client: Client, witness: Witness) -> None:
        self.client = client
        self.witness = witness
        self.missing: list[str] = []

    def _with_tokens(self, step: Json) -> Json:
        known = {found[1]: found[0] for found in TOKEN.finditer(json.dumps(self.witness.received))}
        written = json.dumps(step)
        self.missing += [kind for kind in WANTED.findall(written) if kind not in known]
        return json.loads(WANTED.sub(lambda wanted: known.get(wanted[1], wanted[0]), written))

    async def _hear(self, answer: Awaitable[Any]) -> Any:
        try:
            result = await answer
        except MCPError as refused:
            error = refused.error
            self.witness.received.append({"message": error.message, "data": error.data})
            return None
        self.witness.remember(result)
        return result

    async def _call(self, tool: str, arguments: Json) -> Any:
        called = self.client.call_tool(
            tool, arguments, read_timeout_seconds=TIMEOUT_SECONDS, progress_callback=self.witness.on_progress
        )
        return await self._hear(called)

    async def _pieces(self, arguments: Json) -> None:
        """Reads a file as others would not: in pieces that go through its values."""
        offset = 0
        while True:
            read = await self._call("read_workspace_file", arguments | {"offset": offset})
            if read is None or read.is_error or "next_offset" not in read.meta["narrows/file"]:
                return
            offset += arguments["limit"]

    async def take(self, step: Json) -> None:
        client, step = self.client, self._with_tokens(step)
        match step:
            case {"tool": name, **rest}:
                await self._call(name, rest.get("arguments", {}))
            case {"prompt": name}:
                await self._hear(client.get_prompt(name, {}))
            case {"resource": uri}:
                await self._hear(client.read_resource(uri))
            case {"complete": name}:
                of = PromptReference(type="ref/prompt", name=name)
                await self._hear(client.complete(of, {"name": "to", "value": ""}))
            case {"lists": _}:
                for listed in (client.list_prompts, client.list_resources, client.list_resource_templates):
                    await self._hear(listed())
            case {"tool_list": _}:
                await self._hear(client.list_tools())
            case {"pieces": arguments}:
                await self._pieces(arguments)
            case _:
                raise ValueError(f"no step: {step}")


async def main() -> None:
    clients: dict[str, tuple[Client, Witness]] = {}
    async with AsyncExitStack() as stack:
        async for line in anyio.wrap_file(sys.stdin):
            order = json.loads(line)
            answer: dict[str, Json] = {"number": order["number"]}
            if "target" in order:
                witness = Witness()
                to = gateway(parser().parse_args(order["target"]))
                clients[order["client"]] = (await connect(stack, to, **witness.handlers()), witness)
            else:
                client, witness = clients[order["client"]]
                attempt = Attempt(client, witness)
                for step in order["steps"]:
                    await attempt.take(step)
                # Gives time to notifications that are not tied to a call and come just behind its result.
                await client.list_tools()
                answer |= {"received": witness.received, "leaks": leaks(witness.received, PLANTED)}
                answer["missing"] = attempt.missing
                witness.received = []
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(main)
