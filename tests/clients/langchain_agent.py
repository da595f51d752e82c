"""An agent of LangChain with a model of Anthropic's API at a URL; see gateway.py for its last arguments.

    langchain_agent.py --model URL stdio COMMAND ARGS…
"""

from __future__ import annotations

import argparse

from gateway import gateway, parser, report, start
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_mcp_adapters.client import MultiServerMCPClient


async def run(options: argparse.Namespace) -> None:
    to = gateway(options)
    connection = {"transport": "stdio", "command": to.command, "args": list(to.args), "env": to.environment}
    client = MultiServerMCPClient({"narrows": connection})
    model = ChatAnthropic(model="claude-sonnet-4-5", base_url=options.model, api_key="none")
    agent = create_agent(model, await client.get_tools())
    # Each call of a tool is two steps, and by default a handful of calls is the most.
    state = await agent.ainvoke({"messages": "Follow the script."}, {"recursion_limit": 100})
    report(client="langchain", answer=state["messages"][-1].text)


if __name__ == "__main__":
    arguments = parser()
    arguments.add_argument("--model", required=True)
    start(run, arguments.parse_args())
