"""The servers of an office, over stdio: mail, http and crm. Only the standard library.

    office.py mail    list_messages, send, delete_message
    office.py http    get, post
    office.py crm     get_customer, public_directory, update_customer, pay, delete_customer, export, fail, odd

Some of their tools say that they only read, some that they destroy, and some say nothing. Where
NARROWS_TEST_RECEIVED names a file, each call is appended to it as a line of JSON, exactly as it
came, and each request for a resource, a prompt or a completion, though there are none. The people
are invented.
"""

from __future__ import annotations

import json
import os
import sys

from misbehave import Call, Json, Server, text

READS = {"annotations": {"readOnlyHint": True}}
DESTROYS = {"annotations": {"readOnlyHint": False, "destructiveHint": True}}
STRING, NUMBER = {"type": "string"}, {"type": "number"}
BESIDE_TOOLS = {
    "resources/read": "resource",
    "resources/subscribe": "resource",
    "prompts/get": "prompt",
    "completion/complete": "completion",
}

CUSTOMER = {
    "id": 7,
    "email": "grace.hopper@navy.example",
    "phone": "+1 212 555 0187",
    "card": "4111 1111 1111 1111",
    "badge": "EMP-40711",
}
MESSAGES = {"messages": [{"id": 1, "from": "ada.lovelace@mail.example", "body": "See you on Monday."}]}


def given(value: Json) -> Json:
    """Structure, and the same as text, as most servers do."""
    return text(json.dumps(value)) | {"structuredContent": value}


class Office(Server):
    """Notes what it receives before it does anything."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def initialize(self, params: Json) -> Json:
        return super().initialize(params) | {"serverInfo": {"name": self.name, "version": "1.0.0"}}

    def note(self, name: str, arguments: Json | None) -> None:
        if path := os.environ.get("NARROWS_TEST_RECEIVED"):
            with open(path, "a") as file:
                file.write(json.dumps({"tool": f"{self.name}.{name}", "arguments": arguments}) + "\n")

    def on_request(self, request: Json) -> None:
        if kind := BESIDE_TOOLS.get(request["method"]):
            self.note(kind, {name: value for name, value in request["params"].items() if name != "_meta"})
        super().on_request(request)

    def start_call(self, request: Json) -> None:
        params = request["params"]
        self.note(params["name"], params.get("arguments"))
        super().start_call(request)


def mail() -> Office:
    office = Office("mail")
    office.add("list_messages", lambda _, __: given(MESSAGES), **READS)
    office.add("send", lambda _, __: text("sent"), {"to": STRING, "body": STRING})
    office.add("delete_message", lambda _, __: text("deleted"), {"id": NUMBER}, **DESTROYS)
    return office


def http() -> Office:
    office = Office("http")
    office.add("get", lambda _, call: text(f"a page of {call.arguments['url']}"), {"url": STRING}, **READS)
    office.add("post", lambda _, __: text("posted"), {"url": STRING, "body": STRING})
    return office


def crm() -> Office:
    office = Office("crm")

    def failing(_: Server, call: Call) -> Json:
        return text(f"no customer has the address {call.arguments['email']}") | {"isError": True}

    def odd(_: Server, __: Call) -> Json:
        """A kind of content that no protocol knows."""
        return {"content": [{"type": "hologram", "of": CUSTOMER["email"]}]}

    office.add("get_customer", lambda _, __: given(CUSTOMER), {"id": NUMBER}, **READS)
    office.add("public_directory", lambda _, __: given(CUSTOMER), **READS)
    office.add("update_customer", lambda _, __: text("updated"), {"id": NUMBER, "email": STRING})
    office.add("pay", lambda _, __: text("paid"), {"to": STRING, "amount": NUMBER})
    office.add("delete_customer", lambda _, __: text("deleted"), {"id": NUMBER, "email": STRING}, **DESTROYS)
    office.add("export", lambda _, call: text("x" * int(call.arguments["bytes"])), {"bytes": NUMBER}, **READS)
    office.add("fail", failing, {"email": STRING}, **READS)
    office.add("odd", odd, **READS)
    return office


if __name__ == "__main__":
    {"mail": mail, "http": http, "crm": crm}[sys.argv[1]]().run()
