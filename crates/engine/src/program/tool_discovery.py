"""Finds tools and tells how to call them. Nothing here has to be awaited."""

from _narrows.discovery import get_tool_definition, list_servers, search_tools

__all__ = ["get_tool_definition", "list_servers", "search_tools"]
