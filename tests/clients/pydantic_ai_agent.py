"""An agent of Pydantic AI with a model at a URL; see gateway.py for its last arguments.

    pydantic_ai_agent.py --api anthropic|openai --model URL [--instructions] stdio COMMAND ARGS…

`--instructions` has it hand on the server's instructions, which it does not do by itself.
"""

from __future__ import annotations

import argparse

from fastmcp.client.transports import StdioTransport
from gateway import gateway, parser, report, start
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


def model(api: str, url: str) -> Model:
    if api == "anthropic":
        return AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(base_url=url, api_key="none"))
    return OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))


async def run(options: argparse.Namespace) -> None:
    to = gateway(options)
    assert to.command is not None
    transport = StdioTransport(to.command, list(to.args), env=to.environment)
    toolset = MCPToolset(transport, include_instructions=options.instructions)
    agent = Agent(model(options.api, options.model), toolsets=[toolset])
    result = await agent.run("Follow the script.")
    report(client="pydantic ai", answer=result.output)


if __name__ == "__main__":
    arguments = parser()
    arguments.add_argument("--api", choices=["anthropic", "openai"], required=True)
    arguments.add_argument("--model", required=True)
    arguments.add_argument("--instructions", action="store_true")
    start(run, arguments.parse_args())
