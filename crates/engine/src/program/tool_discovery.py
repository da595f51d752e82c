"""Finds tools and tells how to call them. Nothing here is awaited."""

from _narrows.calls import query as _query

__all__ = ["get_tool_definition", "list_servers", "search_tools"]


def search_tools(query: str | None = None, detail_level: str = "with_description", limit: int | None = None, server: str | None = None, category: str | None = None, **more) -> list[dict]:
    """The tools that fit a query best. detail_level: name_only, with_description or full.

    A server or category as the query lists it; no query gives the servers.
    """
    asked = {"query": query, "detail_level": detail_level, "limit": limit, "server": server, "category": category}
    return _query("search_tools", _given(asked) | more)


def get_tool_definition(name: str | None = None, server: str | None = None, raw: bool = False, category: str | None = None, **more):
    """A tool's signature, types and description; with raw=True its JSON definition."""
    return _query("get_tool_definition", _given({"name": name, "server": server, "raw": raw, "category": category}) | more)


def _given(arguments: dict) -> dict:
    return {name: value for name, value in arguments.items() if value is not None}


def list_servers() -> list[dict]:
    """The servers, each with its module, the number of its tools and its state."""
    return _query("list_servers", {})
