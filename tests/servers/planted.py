"""A server with secrets planted in everything that a server can say, and with tools that give back what they are sent.

The values that are planted are in PLANTED; `leaks.py` of the clients looks for them.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.parse
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parents[1] / "fixture"))

import content
import mcp_types as types
from asking import Call, InputRequired, elicit, sample
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

NAME = "planted"
Context = ServerRequestContext[Any]
Handler = Callable[[Call], Awaitable[types.CallToolResult]]

# In pieces where the whole would look like a real key to those who search repositories for keys.
PLANTED = {
    "email": "quilla.marsh@tidewater-bank.com",
    "phone": "+1 415 555 2671",
    "ssn": "536-22-8145",
    "card": "4556 7375 8689 9855",
    "api_key": "gh" + "p_" + "x4Tq9ZbW7rLmC2vNsKd8" + "EfYhJu3PaGo6Ri1B",
    "private_key": "\n".join(
        [
            "-----BEGIN RSA " + "PRIVATE KEY-----",
            "MIIEowIBAAKCAQEAx9hQ2Zr7c1uYk3VnTgLs0wPqJmDf5Xe8RbUaHiNoCtEyGvKz",
            "p4W6jS2dFlBqMxOrIuA7nTcY9eVhZkGg3PwQbXsD5mLfRjUoNtHyCaKvEi1JzWx8",
            "S0qBdFgMlTrVuPnYc7eXhZkOi3AwQbJsD5mLfRjUoNtHyCaKvEi1JzWx8S0qBdFg",
            "-----END RSA " + "PRIVATE KEY-----",
        ]
    ),
}
EMAIL, KEY, CARD, SSN, PHONE = (PLANTED[kind] for kind in ("email", "api_key", "card", "ssn", "phone"))
RECORD = {kind: value for kind, value in PLANTED.items() if kind != "private_key"}
LETTER = (
    f"Dear team, please write to {EMAIL} or call {PHONE}. The card is {CARD}, the SSN is {SSN}, "
    f"and the API key is {KEY}. Yours."
)
PERSON_URI = f"planted://people/{EMAIL}"
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def strings(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


class Tools:
    """The tools by name."""

    def __init__(self) -> None:
        self.listed: list[types.Tool] = []
        self.handlers: dict[str, Handler] = {}
        _add_giving(self)
        _add_saying(self)
        _add_receiving(self)

    def add(
        self, description: str, schema: dict[str, Any] = NO_ARGUMENTS, annotations: types.ToolAnnotations | None = None
    ) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.listed.append(
                types.Tool(
                    name=handler.__name__, description=description, input_schema=schema, annotations=annotations
                )
            )
            self.handlers[handler.__name__] = handler
            return handler

        return register


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[content.text(text)])


def data(value: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[content.text(json.dumps(value))], structured_content=value)


def blob(mime_type: str, value: bytes) -> types.CallToolResult:
    contents = types.BlobResourceContents(
        uri="planted://blob", mime_type=mime_type, blob=base64.b64encode(value).decode()
    )
    return types.CallToolResult(content=[types.EmbeddedResource(type="resource", resource=contents)])


def _add_giving(tools: Tools) -> None:
    """What gives the values, in each form that a result can have."""

    @tools.add("A customer's record")
    async def customer(_: Call) -> types.CallToolResult:
        return data(RECORD)

    @tools.add("A letter")
    async def letter(_: Call) -> types.CallToolResult:
        return said(LETTER)

    @tools.add("A record within records")
    async def nested(_: Call) -> types.CallToolResult:
        return data({"pages": [{"rows": [{"people": [{"contact": RECORD, "note": LETTER}]}]}]})

    @tools.add("JSON within a text within JSON")
    async def packed(_: Call) -> types.CallToolResult:
        return data({"body": json.dumps({"inner": json.dumps(RECORD)})})

    @tools.add("Values as numbers")
    async def numbers(_: Call) -> types.CallToolResult:
        return data({"card": int(CARD.replace(" ", "")), "ssn": int(SSN.replace("-", ""))})

    @tools.add("Values as keys")
    async def keyed(_: Call) -> types.CallToolResult:
        return data({EMAIL: {"of": KEY}, KEY: 1})

    @tools.add("A link to a person")
    async def link(_: Call) -> types.CallToolResult:
        found = types.ResourceLink(type="resource_link", uri=PERSON_URI, name=EMAIL, description=LETTER)
        return types.CallToolResult(content=[found])

    @tools.add("Text as bytes")
    async def attachment(_: Call) -> types.CallToolResult:
        return blob("text/plain", LETTER.encode())

    @tools.add("Bytes that are no text, with text in them")
    async def dump(_: Call) -> types.CallToolResult:
        return blob("application/octet-stream", b"\xff\xfe\x00" + LETTER.encode() + b"\xff")

    @tools.add("Text as bytes, two for each letter")
    async def wide(_: Call) -> types.CallToolResult:
        return blob("application/octet-stream", LETTER.encode("utf-16-le"))

    @tools.add("A picture with text in it")
    async def picture(_: Call) -> types.CallToolResult:
        return blob("image/png", b"\x89PNG\r\n\x1a\n" + LETTER.encode() + b"\xff")

    @tools.add("Text that the server encodes")
    async def encoded(_: Call) -> types.CallToolResult:
        return data({"body": base64.b64encode(LETTER.encode()).decode()})

    @tools.add("An address in the query of a URL")
    async def query(_: Call) -> types.CallToolResult:
        return data({"next": f"https://example.com/people?mail={urllib.parse.quote(EMAIL)}&page=2"})

    @tools.add("A private key")
    async def private_key(_: Call) -> types.CallToolResult:
        return said(PLANTED["private_key"])

    @tools.add("A record whose values are in what is beside the result")
    async def beside(_: Call) -> types.CallToolResult:
        result = types.CallToolResult.model_validate(
            {"content": [{"type": "text", "text": "see beside", "_meta": RECORD}], "_meta": RECORD}
        )
        return result

    @tools.add(f"Has an address in its description: {EMAIL}", strings("id"))
    async def described(_: Call) -> types.CallToolResult:
        return said("done")

    @tools.add("A piece of the letter", {"type": "object", "properties": {"at": {"type": "integer"}}})
    async def piece(call: Call) -> types.CallToolResult:
        at = call.arguments.get("at", 0)
        return said(f"<{LETTER[at : at + 1]}>")


def _add_saying(tools: Tools) -> None:
    """What says the values beside a result."""

    @tools.add("Fails")
    async def fails(_: Call) -> types.CallToolResult:
        return said(f"cannot: {LETTER}").model_copy(update={"is_error": True})

    @tools.add("Is refused by the protocol")
    async def refuses(_: Call) -> types.CallToolResult:
        raise MCPError(types.INVALID_PARAMS, f"no such customer: {EMAIL}, {KEY}", RECORD)

    @tools.add("Logs")
    async def logs(call: Call) -> types.CallToolResult:
        for value in (LETTER, RECORD):
            await call.context.session.send_log_message("warning", value, related_request_id=call.context.request_id)
        return said("logged")

    @tools.add("Reports progress")
    async def works(call: Call) -> types.CallToolResult:
        await call.context.session.report_progress(1, 2, LETTER)
        return said("worked")

    @tools.add("Asks the client's model")
    async def asks_model(call: Call) -> types.CallToolResult:
        await call.ask({"q": sample(f"Summarise: {LETTER}")})
        return said("asked")

    @tools.add("Asks the client's user")
    async def asks_person(call: Call) -> types.CallToolResult:
        await call.ask({"q": elicit(f"Is this right? {LETTER}", {"yes": {"type": "boolean", "description": EMAIL}})})
        return said("asked")


def _add_receiving(tools: Tools) -> None:
    """What gives back what it is sent, as it is or changed."""

    @tools.add("Says it again", strings("text"))
    async def echo(call: Call) -> types.CallToolResult:
        return said(call.arguments["text"])

    @tools.add("Says it again within data", {"type": "object", "properties": {"value": {}}, "required": ["value"]})
    async def echo_data(call: Call) -> types.CallToolResult:
        return data({"again": call.arguments["value"]})

    @tools.add("Fails with what it was sent", strings("text"))
    async def echo_error(call: Call) -> types.CallToolResult:
        return said(f"cannot use {call.arguments['text']}").model_copy(update={"is_error": True})

    @tools.add("Says it in base64", strings("text"))
    async def echo_base64(call: Call) -> types.CallToolResult:
        return said(base64.b64encode(call.arguments["text"].encode()).decode())

    @tools.add("Says it backwards", strings("text"))
    async def echo_reversed(call: Call) -> types.CallToolResult:
        return said(call.arguments["text"][::-1])

    @tools.add("Says it in capitals", strings("text"))
    async def echo_upper(call: Call) -> types.CallToolResult:
        return said(call.arguments["text"].upper())

    @tools.add("Removes a customer", strings("email"), types.ToolAnnotations(destructive_hint=True))
    async def remove(_: Call) -> types.CallToolResult:
        return said("removed")


RESOURCES = [
    types.Resource(uri="planted://letter", name="letter", mime_type="text/plain"),
    types.Resource(uri="planted://attachment", name="attachment", mime_type="text/plain"),
    types.Resource(uri=PERSON_URI, name=EMAIL, description=LETTER),
    types.Resource(uri="planted://gone", name="gone"),
]
PROMPTS = [
    types.Prompt(
        name="answer",
        description=f"Answers the letter of {EMAIL}",
        arguments=[types.PromptArgument(name="to", description=f"as {EMAIL}")],
    )
]


def read(uri: str) -> types.ReadResourceResult:
    if uri == "planted://attachment":
        contents = types.BlobResourceContents(
            uri=uri, mime_type="text/plain", blob=base64.b64encode(LETTER.encode()).decode()
        )
        return types.ReadResourceResult(contents=[contents])
    if uri in ("planted://letter", PERSON_URI):
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=LETTER)]
        )
    raise MCPError(types.INVALID_PARAMS, f"not found; ask {EMAIL}", RECORD)


def prompt() -> types.GetPromptResult:
    record = content.resource("planted://record", "application/json", json.dumps(RECORD))
    blocks: list[types.ContentBlock] = [content.text(LETTER), record]
    messages = [types.PromptMessage(role="user", content=block) for block in blocks]
    return types.GetPromptResult(description=LETTER, messages=messages)


def build() -> Server[Any]:
    tools = Tools()

    async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.listed)

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        handler = tools.handlers.get(params.name)
        if handler is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name}")
        try:
            return await handler(Call(context, params.arguments or {}))
        except InputRequired as pause:
            return pause.result

    async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=RESOURCES)

    async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template="planted://people/{id}", name="person", description=LETTER)
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return read(str(params.uri))

    async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=PROMPTS)

    async def get_prompt(_: Context, __: types.GetPromptRequestParams) -> types.GetPromptResult:
        return prompt()

    async def complete(_: Context, __: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[EMAIL, KEY]))

    async def set_level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    server: Server[Any] = Server(
        NAME,
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


async def serve() -> None:
    server = build()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(serve)
