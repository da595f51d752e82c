"""Servers as the examples of documents have them, over stdio. Only the standard library.

    examples.py github    create_issue, get_issue, list_issues, search_repositories, get_file_contents
    examples.py sheets    get_sheet
    examples.py trips     plan_trip, find_rv_parks, calculate_gas_cost
    examples.py slack     get_channel_history, which has what is waited for at the third time
    examples.py supabase  execute_sql, get_expenses
    examples.py weather   get_weather
    examples.py scans     web_vuln_scanner
    examples.py contact   write_to, whose description has an address in it
"""

from __future__ import annotations

import itertools
import sys

from misbehave import Server, text
from office import READS, STRING, given

ISSUE = {"number": 42, "url": "https://git.example/o/r/issues/42", "title": "Bug"}
LIST = {"type": "array", "items": STRING}


def github() -> Server:
    server = Server()
    repository = {"owner": STRING, "repo": STRING}
    server.add("create_issue", lambda _, call: given(ISSUE | {"title": call.arguments["title"]}), repository | {"title": STRING})
    server.add("get_issue", lambda _, __: given(ISSUE), repository, **READS)
    server.add("list_issues", lambda _, __: given({"issues": [ISSUE]}), repository, **READS)
    server.add("search_repositories", lambda _, __: given({"total_count": 1, "items": [{"name": "r"}]}), {"query": STRING}, **READS)
    server.add("get_file_contents", lambda _, __: text("# Read me"), repository | {"path": STRING}, **READS)
    return server


def plain(server: Server, name: str, answer, properties, of: str = "array", **more) -> None:
    """A tool whose result is a list or a number, as servers written with FastMCP have them."""
    result = {"type": of} | ({"items": {"type": "object"}} if of == "array" else {})
    schema = {"type": "object", "properties": {"result": result}, "required": ["result"], "x-fastmcp-wrap-result": True}
    server.add(name, lambda _, call: given({"result": answer(call.arguments)}), properties, outputSchema=schema, **more)


def sheets() -> Server:
    server = Server()
    rows = [{"Order": n, "Status": "pending" if n % 10 == 0 else "done"} for n in range(10_000)]
    plain(server, "get_sheet", lambda _: rows, {"sheetId": STRING}, **READS)
    return server


def trips() -> Server:
    server = Server()
    trip = {"waypoints": ["Flagstaff", "Boise"], "distance": 1500}
    server.add("plan_trip", lambda _, __: given(trip), {"origin": STRING, "destination": STRING}, **READS)
    plain(server, "find_rv_parks", lambda asked: [{"name": place, "cost": 40} for place in asked["locations"]],
          {"locations": LIST}, **READS)
    plain(server, "calculate_gas_cost", lambda asked: asked["distance"] // 10, {"distance": {"type": "number"}},
          "integer", **READS)
    return server


def slack() -> Server:
    server = Server()
    counter = itertools.count(1)

    def history(_):
        return [{"text": "deployment complete" if next(counter) >= 3 else "deploying"}]

    plain(server, "get_channel_history", history, {"channel": STRING}, **READS)
    return server


def supabase() -> Server:
    server = Server()
    expenses = [{"id": n, "amount": 30 * n, "date": f"2024-10-0{n}"} for n in range(1, 8)]
    plain(server, "execute_sql", lambda asked: [row for row in expenses if "amount > 100" in asked["query"] and row["amount"] > 100],
          {"query": STRING}, **READS)
    plain(server, "get_expenses", lambda _: expenses, {"user_id": STRING}, **READS)
    return server


def weather() -> Server:
    server = Server()
    server.add("get_weather", lambda _, call: given({"location": call.arguments["location"], "degrees": 21}),
               {"location": STRING}, **READS)
    return server


def scans() -> Server:
    server = Server()
    server.add("web_vuln_scanner", lambda _, __: given({"vulnerabilities": []}), {"url": STRING},
               description="Scans a website for known vulnerabilities", **READS)
    return server


def contact() -> Server:
    server = Server()
    server.add("write_to", lambda _, __: text("written"), {"body": STRING},
               description="Writes to the desk, desk@example.com by default")
    return server


if __name__ == "__main__":
    servers = (contact, github, sheets, trips, slack, scans, supabase, weather)
    {server.__name__: server for server in servers}[sys.argv[1]]().run()
