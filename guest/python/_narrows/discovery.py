"""Finds tools, tells how they are called, and calls any by its full name."""

import importlib

from .awaitable import AwaitableList, awaitable
from .calls import call, query as ask
from .expected import check


def search_tools(query: str | None = None, detail_level: str = "with_description", limit: int | None = None,
                 server: str | None = None, category: str | None = None, **more) -> AwaitableList:
    """The tools that fit a query best. detail_level: name_only, with_description or full.

    A server or category as the query lists it; no query gives the servers.
    """
    asked = {"query": query, "detail_level": detail_level, "limit": limit, "server": server, "category": category}
    return AwaitableList(ask("search_tools", _given(asked) | more))


def get_tool_definition(name: str | None = None, server: str | None = None, raw: bool = False,
                        category: str | None = None, **more):
    """A tool's signature, types and description; with raw=True its JSON definition."""
    asked = {"name": name, "server": server, "raw": raw, "category": category}
    return awaitable(ask("get_tool_definition", _given(asked) | more))


def list_servers() -> AwaitableList:
    """The servers, each with its module, the number of its tools and its state."""
    return AwaitableList(ask("list_servers", {}))


async def call_mcp_tool(name: str, arguments: dict | None = None, expected: type | None = None, /, **more):
    """Calls a tool: `await call_mcp_tool("mcp__github__create_issue", {"owner": "o"})`.

    With a type after the arguments (`dict`, `list[str]`, a TypedDict), a value of another one is an error.
    """
    value = await call(name, {**(arguments or {}), **more})
    return value if expected is None else check(value, expected, name)


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


servers = _Servers()
