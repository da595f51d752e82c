"""FastMCP's CodeMode in process: answers each number on standard input with so many times, in seconds."""

import asyncio
import json
import sys
import time

from fastmcp import Client, FastMCP, __version__
from fastmcp.experimental.transforms.code_mode import CodeMode


async def main() -> None:
    server = FastMCP("bench", transforms=[CodeMode()])
    async with Client(server) as client:
        async def run() -> float:
            started = time.perf_counter()
            result = await client.call_tool("execute", {"code": "return 1 + 1"})
            taken = time.perf_counter() - started
            assert result.content[0].text == "2", result
            return taken

        for _ in range(10):
            await run()
        print(json.dumps(__version__), flush=True)
        for line in sys.stdin:
            print(json.dumps([await run() for _ in range(int(line))]), flush=True)


asyncio.run(main())
