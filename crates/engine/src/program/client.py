"""Calls any tool by its full name."""

from _narrows.calls import ToolError, call as _call
from _narrows.expected import check as _check

__all__ = ["ToolError", "call_mcp_tool"]


async def call_mcp_tool(name: str, arguments: dict | None = None, expected: type | None = None, /, **more):
    """Calls a tool: `await call_mcp_tool("mcp__github__create_issue", {"owner": "o"})`.

    With a type after the arguments (`dict`, `list[str]`, a TypedDict), a value of another one is an error.
    """
    value = await _call(name, {**(arguments or {}), **more})
    return value if expected is None else _check(value, expected, name)
