"""Calls any tool by its full name."""

from _narrows.calls import ToolError
from _narrows.discovery import call_mcp_tool

__all__ = ["ToolError", "call_mcp_tool"]
