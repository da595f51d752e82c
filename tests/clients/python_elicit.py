"""A client that answers what it is asked, and tells what it heard.

    python_elicit.py [--era legacy|modern|auto] [--action accept|decline|cancel] [--without CAPABILITY]…
                     [--listen] [--watch URI]… [--prompt] --call NAME JSON  stdio COMMAND ARGS… | http URL [KEY]

Calls the tool NAME (or gets the prompt) with the arguments JSON. A form is filled in with its
defaults, else with a fixed value of each field's type; a sampling request gets a fixed text.
With `--listen` it hears of changed lists, with `--watch` of changed resources. A call that the
gateway refuses is reported as `error`; only a connection that fails ends it with another code than 0.
"""

from __future__ import annotations

import argparse
import json
import warnings
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from gateway import gateway, parser, report, start
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl
from python_mcp import connect

SAMPLED = "This is a fixed answer"
ROOT = FileUrl("file:///fixed/root")
VALUES = {"string": "fixed", "integer": 7, "number": 1.5, "boolean": True}


def _value(field: dict[str, Any]) -> Any:
    if "default" in field:
        return field["default"]
    if field.get("type") == "array":
        return [_value(field.get("items", {}))]
    for choices in (field.get("oneOf"), field.get("anyOf")):
        if choices:
            return choices[0]["const"]
    return field["enum"][0] if "enum" in field else VALUES[field.get("type", "string")]


class Listener:
    """What the client was asked and told, in the order in which it came."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.action: Any = options.action
        self.without: list[str] = options.without
        self.asked: list[dict[str, Any]] = []
        self.progress: list[dict[str, Any]] = []
        self.logs: list[dict[str, Any]] = []
        self.other: list[str] = []

    def _note(self, method: str, params: Any) -> None:
        said = params.model_dump(by_alias=True, mode="json", exclude_none=True) if params else {}
        said.pop("_meta", None)
        self.asked.append({"method": method, "params": said})

    async def elicit(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self._note("elicitation/create", params)
        if self.action != "accept" or not isinstance(params, types.ElicitRequestFormParams):
            return types.ElicitResult(action=self.action)
        fields = params.requested_schema.get("properties", {})
        return types.ElicitResult(action="accept", content={name: _value(field) for name, field in fields.items()})

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self._note("sampling/createMessage", params)
        text = types.TextContent(type="text", text=SAMPLED)
        return types.CreateMessageResult(role="assistant", content=text, model="fixed", stop_reason="endTurn")

    async def roots(self, _: Any) -> types.ListRootsResult:
        self._note("roots/list", None)
        return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="fixed")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append({"level": params.level, "data": params.data})

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append({"progress": progress, "total": total, "message": message})

    async def message(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method not in (None, "notifications/message", "notifications/progress"):
            self.other.append(method)

    def handlers(self) -> dict[str, Any]:
        offered = {
            "elicitation": ("elicitation_callback", self.elicit),
            "sampling": ("sampling_callback", self.sample),
            "roots": ("list_roots_callback", self.roots),
        }
        chosen = {key: handler for name, (key, handler) in offered.items() if name not in self.without}
        return chosen | {"logging_callback": self.log, "message_handler": self.message, "log_level": "debug"}


async def listen(stack: AsyncExitStack, client: Client, listener: Listener, uris: list[str]) -> None:
    """In the new era changes come only on a stream that the client opens for them."""
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        for uri in uris:
            await client.subscribe_resource(uri)
        return
    # What comes on it passes the message handler.
    await stack.enter_async_context(
        client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=uris,
        )
    )


async def run(options: argparse.Namespace) -> None:
    name, arguments = options.call[0], json.loads(options.call[1])
    listener = Listener(options)
    async with AsyncExitStack() as stack:
        client = await connect(stack, gateway(options), **listener.handlers())
        if options.listen or options.watch:
            await listen(stack, client, listener, options.watch)
        result: Any = None
        error: dict[str, Any] | None = None
        try:
            if options.prompt:
                result = await client.get_prompt(name, arguments)
            else:
                result = await client.call_tool(name, arguments, progress_callback=listener.on_progress)
        except MCPError as refused:
            error = {"code": refused.error.code, "message": refused.error.message, "data": refused.error.data}
        # What is not tied to the call may come just behind its result, but before the next answer.
        await client.list_tools()
        report(
            client="python elicit",
            protocol=client.protocol_version,
            result=result and result.model_dump(by_alias=True, mode="json", exclude_none=True),
            error=error,
            asked=listener.asked,
            progress=listener.progress,
            logs=listener.logs,
            notifications=listener.other,
        )


def main() -> None:
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    made = parser()
    made.description = __doc__
    made.add_argument("--call", nargs=2, metavar=("NAME", "JSON"), required=True)
    made.add_argument("--prompt", action="store_true", help="get the prompt NAME instead")
    made.add_argument("--listen", action="store_true", help="hear of changed lists in the new era, too")
    made.add_argument("--watch", action="append", default=[], metavar="URI", help="listen, and watch this resource")
    made.add_argument("--action", choices=["accept", "decline", "cancel"], default="accept")
    made.add_argument("--without", action="append", default=[], choices=["elicitation", "sampling", "roots"])
    start(run, made.parse_args())


if __name__ == "__main__":
    main()
