"""Servers as the examples of documents have them, over stdio: github, sheets, trips, slack and scans.
Only the standard library.

    examples.py github    create_issue, get_issue, list_issues, search_repositories, get_file_contents
    examples.py sheets    get_sheet
    examples.py trips     plan_trip, find_rv_parks, calculate_gas_cost
    examples.py slack     get_channel_history, which has what is waited for at the third time
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


def sheets() -> Server:
    server = Server()
    rows = [{"Order": n, "Status": "pending" if n % 10 == 0 else "done"} for n in range(10_000)]
    server.add("get_sheet", lambda _, __: given({"rows": rows}), {"sheetId": STRING}, **READS)
    return server


def trips() -> Server:
    server = Server()
    trip = {"waypoints": ["Flagstaff", "Boise"], "distance": 1500}
    server.add("plan_trip", lambda _, __: given(trip), {"origin": STRING, "destination": STRING}, **READS)
    server.add(
        "find_rv_parks",
        lambda _, call: given({"parks": [{"name": place, "cost": 40} for place in call.arguments["locations"]]}),
        {"locations": LIST}, **READS,
    )
    server.add("calculate_gas_cost", lambda _, call: given({"cost": call.arguments["distance"] // 10}), {"distance": {"type": "number"}}, **READS)
    return server


def slack() -> Server:
    server = Server()
    counter = itertools.count(1)

    def history(_, __):
        said = "deployment complete" if next(counter) >= 3 else "deploying"
        return given({"messages": [{"text": said}]})

    server.add("get_channel_history", history, {"channel": STRING}, **READS)
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
    {"contact": contact, "github": github, "sheets": sheets, "trips": trips, "slack": slack, "scans": scans}[sys.argv[1]]().run()
