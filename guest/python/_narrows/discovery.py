"""Finds tools, tells how they are called, and calls any by its full name."""

import importlib
import typing
from collections.abc import Mapping

from .awaitable import AwaitableList, awaitable
from .calls import call, query as ask
from .expected import Expected
from .parameters import forgiving


@forgiving
def search_tools(query: str | None = None, detail_level: str = "with_description", limit: int | None = None,
                 server: str | None = None, category: str | None = None, **more) -> AwaitableList:
    """The tools that fit a query best. detail_level: name_only, with_description or full.

    A server or category as the query lists it; no query gives the servers.
    """
    asked = {"query": query, "detail_level": detail_level, "limit": limit, "server": server, "category": category}
    return AwaitableList(ask("search_tools", _given(asked) | more))


@forgiving
def get_tool_definition(name: str | None = None, server: str | None = None, raw: bool = False,
                        category: str | None = None, **more):
    """A tool's signature, types and description; with raw=True its JSON definition."""
    asked = {"name": name, "server": server, "raw": raw, "category": category}
    return awaitable(ask("get_tool_definition", _given(asked) | more))


def list_servers() -> AwaitableList:
    """The servers, each with its module, the number of its tools and its state."""
    return AwaitableList(ask("list_servers", {}))


# What else the parts of a call are called; `tool_name`, `input` and `type` are the words of documents.
_NAMES = ("tool_name", "name", "tool")
_ARGUMENTS = ("input", "arguments", "args", "params", "parameters")
_EXPECTED = ("type", "expected_type", "expected", "response_type", "result_type")


async def call_mcp_tool(*parts, **more):
    """Calls a tool: `await call_mcp_tool("mcp__github__create_issue", {"owner": "o"})`.

    With a type after the arguments (`dict`, `list[str]`, a TypedDict, a dataclass), a value of another one is an
    error. What is returned is the value as the tool gave it, and no object of that type.
    By name they are `tool_name`, `input` and `type`; other keywords are arguments of the tool.
    """
    name, arguments, expected, *rest = *parts, *(None,) * (3 - len(parts))
    if rest:
        raise TypeError(f"call_mcp_tool() takes a name, arguments and a type, {len(parts)} values were given")
    if not parts:
        name = _take(more, _NAMES, lambda value: isinstance(value, str))
    if not isinstance(name, str):
        raise TypeError('call_mcp_tool() needs the name of a tool: `await call_mcp_tool("mcp__github__create_issue", {...})`')
    if len(parts) < 2:
        arguments = _take(more, _ARGUMENTS, lambda value: isinstance(value, Mapping))
    if len(parts) < 3:
        # No argument of a tool can be a type.
        expected = _take(more, _EXPECTED, _is_type)
    if arguments is not None and not isinstance(arguments, Mapping):
        raise TypeError(f"call_mcp_tool() takes the arguments as a dict, not {type(arguments).__name__}")
    # The type is read before the call: what it names and is not there fails nothing after a write.
    wanted = None if expected is None else Expected(expected)
    value = await call(name, {**(arguments or {}), **more})
    return value if wanted is None else wanted.check(value, name)


def _take(keywords: dict, names: tuple[str, ...], fits):
    return next((keywords.pop(name) for name in names if name in keywords and fits(keywords[name])), None)


def _is_type(value) -> bool:
    return isinstance(value, type) or typing.get_origin(value) is not None or value is typing.Any


def _given(arguments: dict) -> dict:
    return {name: value for name, value in arguments.items() if value is not None}


class _Servers:
    """The package `servers` for a program that does not import it."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(f"'servers' has no attribute {name!r}")
        return getattr(importlib.import_module("servers"), name)

    def __dir__(self):
        return dir(importlib.import_module("servers"))

    def __repr__(self) -> str:
        return repr(importlib.import_module("servers"))

    def __reduce__(self):
        return importlib.import_module, ("servers",)

    def __getitem__(self, name: str):
        return importlib.import_module("servers")[name]

    def __iter__(self):
        return iter(importlib.import_module("servers"))

    def __len__(self) -> int:
        return len(importlib.import_module("servers"))

    def __contains__(self, name) -> bool:
        return name in importlib.import_module("servers")

    def __call__(self, *args, **keywords):
        return importlib.import_module("servers")(*args, **keywords)


servers = _Servers()
