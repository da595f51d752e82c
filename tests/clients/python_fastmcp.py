"""The client of `fastmcp`; see gateway.py for its arguments."""

from __future__ import annotations

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from gateway import ARGUMENTS, TOOL, Gateway, gateway, parser, report, start


def transport(to: Gateway) -> StdioTransport | StreamableHttpTransport:
    if to.command is not None:
        return StdioTransport(to.command, list(to.args), env=to.environment, keep_alive=False)
    assert to.url is not None
    return StreamableHttpTransport(to.url, headers=to.headers)


async def run(to: Gateway) -> None:
    async with Client(transport(to), mode=to.mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool(TOOL, ARGUMENTS, raise_on_error=False)
        report(
            client="python fastmcp",
            protocol=client.protocol_version,
            tools=[tool.name for tool in tools],
            structured=result.structured_content,
            text=next((block.text for block in result.content if block.type == "text"), None),
            isError=bool(result.is_error),
        )


if __name__ == "__main__":
    start(run, gateway(parser().parse_args()))
