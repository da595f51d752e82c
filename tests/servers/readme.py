"""The servers that the examples of README.md call, over stdio: github, crm and files. Only the standard library.

    readme.py github    list_issues
    readme.py crm       list_orders, delete_customer
    readme.py files     list_directory; anything after its name is ignored
"""

from __future__ import annotations

import json
import sys

from misbehave import Server, text
from office import DESTROYS, NUMBER, READS, STRING

ISSUES = [{"number": 1, "title": "a bug"}, {"number": 2, "title": "a wish"}]
ORDERS = [{"region": "north", "amount": 3}, {"region": "north", "amount": 5}, {"region": "south", "amount": 7}]


def github() -> Server:
    server = Server()
    server.add("list_issues", lambda _, __: text(json.dumps(ISSUES)), {"owner": STRING, "repo": STRING}, **READS)
    return server


def crm() -> Server:
    server = Server()
    server.add("list_orders", lambda _, __: text(json.dumps(ORDERS)), **READS)
    server.add("delete_customer", lambda _, __: text("deleted"), {"id": NUMBER}, **DESTROYS)
    return server


def files() -> Server:
    server = Server()
    server.add("list_directory", lambda _, __: text("[FILE] todo.md"), {"path": STRING}, **READS)
    return server


if __name__ == "__main__":
    {"github": github, "crm": crm, "files": files}[sys.argv[1]]().run()
