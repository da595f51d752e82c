"""A model that follows a script, for real clients of models. Only the standard library.

    scripted_model.py SCRIPT RECORD

It serves the Messages API of Anthropic and the chat completions of OpenAI on a free port of the
loopback, streamed or not, and prints its address in a line. SCRIPT is a JSON list of the calls to
make, {"tool": NAME, "arguments": {…}}; after the result of the last it answers DONE. A client may
give the tool NAME a prefix of its own; the model calls it as it was given. What has to happen next
is seen from the conversation alone: clients send other requests in between, such as for a title.

Each request is appended to RECORD as a line of JSON, whatever its API:

    {"path": …, "system": TEXT, "messages": TEXT, "tools": {NAME: {"description", "schema"}},
     "results": [{"is_error", "texts": […], "images": [{"mime_type", "data"}]}], "body": …}

`messages` is what the user's messages say beside results of tools.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

DONE = "the script is done"


@dataclass
class Result:
    """What a model is given as the result of a call."""

    is_error: bool = False
    texts: list[str] = field(default_factory=list)
    images: list[Json] = field(default_factory=list)


@dataclass
class Given:
    """What a model is given with a request, in terms of no API."""

    system: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    tools: dict[str, Json] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)


def blocks(content: Any) -> list[Json]:
    """Content of either API: a text, or a list of blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def add_block(result: Result, block: Json) -> None:
    kind = block["type"]
    if kind == "text":
        result.texts.append(block["text"])
    elif kind == "image":
        source = block["source"]
        result.images.append({"mime_type": source["media_type"], "data": source["data"]})
    elif kind == "image_url":
        start, data = block["image_url"]["url"].split(",", 1)
        mime_type = start.removeprefix("data:").removesuffix(";base64")
        result.images.append({"mime_type": mime_type, "data": data})
    else:
        raise ValueError(f"a block of type {kind} in the result of a tool")


class Anthropic:
    """POST /v1/messages."""

    def given(self, body: Json) -> Given:
        given = Given(system=[block["text"] for block in blocks(body.get("system"))])
        for tool in body.get("tools") or []:
            if "input_schema" in tool:
                given.tools[tool["name"]] = {"description": tool.get("description"), "schema": tool["input_schema"]}
        for message in body["messages"]:
            for block in blocks(message["content"]):
                if block["type"] == "tool_result":
                    result = Result(bool(block.get("is_error")))
                    for part in blocks(block.get("content")):
                        add_block(result, part)
                    given.results.append(result)
                elif block["type"] == "text" and message["role"] != "assistant":
                    given.messages.append(block["text"])
        return given

    def answer(self, body: Json, number: int, call: tuple[str, Json] | None) -> Json:
        content: Json = {"type": "text", "text": DONE}
        if call:
            content = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": call[1]}
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [content],
            "stop_reason": "tool_use" if call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def events(self, answer: Json) -> Iterator[str]:
        [content] = answer["content"]
        empty: Json
        if content["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": content["text"]}
        else:
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
        end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        for kind, event in [
            ("message_start", {"message": answer | {"content": [], "stop_reason": None}}),
            ("content_block_start", {"index": 0, "content_block": content | empty}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": end, "usage": {"output_tokens": 1}}),
            ("message_stop", {}),
        ]:
            yield f"event: {kind}\ndata: {json.dumps({'type': kind} | event)}\n\n"


class OpenAI:
    """POST /v1/chat/completions."""

    def given(self, body: Json) -> Given:
        given = Given()
        for tool in body.get("tools") or []:
            function = tool["function"]
            given.tools[function["name"]] = {
                "description": function.get("description"),
                "schema": function["parameters"],
            }
        for message in body["messages"]:
            role, content = message["role"], blocks(message.get("content"))
            if role == "tool":
                # This API does not say whether a tool failed.
                given.results.append(Result())
            if role == "assistant":
                continue
            for block in content:
                # Some clients put the images of a result into a message of the user after it.
                if given.results and (role == "tool" or block["type"] == "image_url"):
                    add_block(given.results[-1], block)
                elif block["type"] == "text":
                    (given.messages if role == "user" else given.system).append(block["text"])
        return given

    def answer(self, body: Json, number: int, call: tuple[str, Json] | None) -> Json:
        message: Json = {"role": "assistant", "content": DONE}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            calls = [{"id": f"call_{number}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def events(self, answer: Json) -> Iterator[str]:
        [choice] = answer["choices"]
        delta = dict(choice["message"])
        if "tool_calls" in delta:
            delta["tool_calls"] = [{"index": 0} | call for call in delta["tool_calls"]]
        for part, finish in [(delta, None), ({}, choice["finish_reason"])]:
            choices = [{"index": 0, "delta": part, "finish_reason": finish}]
            yield f"data: {json.dumps(answer | {'object': 'chat.completion.chunk', 'choices': choices})}\n\n"
        yield "data: [DONE]\n\n"


APIS: dict[str, Anthropic | OpenAI] = {"/v1/messages": Anthropic(), "/v1/chat/completions": OpenAI()}


class Model(ThreadingHTTPServer):
    """The script, and what was asked so far."""

    daemon_threads = True

    def __init__(self, script: list[Json], record: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.record = record
        self.recording = threading.Lock()

    def note(self, path: str, body: Any, given: Given) -> None:
        results = [vars(result) for result in given.results]
        line = {
            "path": path,
            "system": "\n".join(given.system),
            "messages": "\n".join(given.messages),
            "tools": given.tools,
            "results": results,
            "body": body,
        }
        with self.recording, open(self.record, "a") as file:
            file.write(json.dumps(line) + "\n")

    def next_call(self, given: Given) -> tuple[str, Json] | None:
        """The next call of the script, by the name that the client gave the tool."""
        if not given.tools or len(given.results) >= len(self.script):
            return None
        step = self.script[len(given.results)]
        names = [name for name in given.tools if name == step["tool"] or name.endswith(f"_{step['tool']}")]
        return (names[0], step["arguments"]) if names else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "null")
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self.server.note(path, body, Given())
            # Clients cut what has too many tokens; about four bytes are one.
            return self.send("application/json", json.dumps({"input_tokens": len(json.dumps(body)) // 4}))
        if path not in APIS:
            self.server.note(path, body, Given())
            return self.send("application/json", json.dumps({"error": {"message": f"no such path: {path}"}}), 404)
        api = APIS[path]
        given = api.given(body)
        self.server.note(path, body, given)
        answer = api.answer(body, len(given.results) + 1, self.server.next_call(given))
        if body.get("stream"):
            return self.send("text/event-stream", "".join(api.events(answer)))
        self.send("application/json", json.dumps(answer))

    def do_GET(self) -> None:
        self.server.note(self.path, None, Given())
        self.send("application/json", json.dumps({"error": {"message": "this model only answers"}}), 404)

    do_HEAD = do_GET

    def send(self, content_type: str, text: str, status: int = 200) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are in the record."""


def main() -> None:
    with open(sys.argv[1]) as file:
        model = Model(json.load(file), sys.argv[2])
    print(f"http://127.0.0.1:{model.server_port}", flush=True)
    model.serve_forever()


if __name__ == "__main__":
    main()
