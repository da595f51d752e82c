"""The client of the Python SDK `mcp`; see gateway.py for its arguments."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from gateway import ARGUMENTS, TOOL, Gateway, gateway, parser, report, start
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


async def connect(stack: AsyncExitStack, to: Gateway, **handlers: Any) -> Client:
    if to.command is not None:
        server: Any = StdioServerParameters(command=to.command, args=list(to.args), env=to.environment)
    else:
        assert to.url is not None
        http = await stack.enter_async_context(create_mcp_http_client(headers=to.headers))
        server = streamable_http_client(to.url, http_client=http)
    return await stack.enter_async_context(Client(server, mode=to.mode, **handlers))


async def run(to: Gateway) -> None:
    async with AsyncExitStack() as stack:
        client = await connect(stack, to)
        tools = await client.list_tools()
        result = await client.call_tool(TOOL, ARGUMENTS)
        report(
            client="python mcp",
            protocol=client.protocol_version,
            tools=[tool.name for tool in tools.tools],
            structured=result.structured_content,
            text=next((block.text for block in result.content if block.type == "text"), None),
            isError=bool(result.is_error),
        )


if __name__ == "__main__":
    start(run, gateway(parser().parse_args()))
