"""Calls any tool by its full name."""

from _narrows.calls import ToolError, call as _call

__all__ = ["ToolError", "call_mcp_tool"]


async def call_mcp_tool(name: str, arguments: dict | None = None, /, **more):
    """Calls a tool: `await call_mcp_tool("mcp__github__create_issue", {"owner": "o"})`."""
    return await _call(name, {**(arguments or {}), **more})
