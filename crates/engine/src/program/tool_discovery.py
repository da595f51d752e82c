"""Finds tools and tells how to call them. Nothing here is awaited."""

from _narrows.calls import query as _query

__all__ = ["get_tool_definition", "list_servers", "search_tools"]


def search_tools(query: str = "", detail_level: str = "with_description", limit: int | None = None, server: str | None = None, category: str | None = None) -> list[dict]:
    """The tools that fit a query best. detail_level: name_only, with_description or full.

    A server or category as the query lists it; no query gives the servers.
    """
    return _query("search_tools", {"query": query, "detail_level": detail_level, "limit": limit, "server": server, "category": category})


def get_tool_definition(name: str, server: str | None = None, raw: bool = False):
    """A tool's signature, types and description; with raw=True its JSON definition."""
    return _query("get_tool_definition", {"name": name, "server": server, "raw": raw})


def list_servers() -> list[dict]:
    """The servers, each with its module, the number of its tools and its state."""
    return _query("list_servers", {})
