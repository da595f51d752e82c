"""An MCP server over stdio that misbehaves as it is told to. Only the standard library.

    misbehave.py good                   works: echo, add, fail, image, blob, structured, progress
    misbehave.py hang                   never answers anything
    misbehave.py silent-after-init      answers the handshake and nothing after it
    misbehave.py crash                  ends at once, with a message on standard error
    misbehave.py crash-on-call          ends when a tool is called, with a message on standard error
    misbehave.py exit-mid-call          ends in the midst of the line that answers a call
    misbehave.py flood-stderr           works, and writes to standard error all the time
    misbehave.py garbage                works, and prints lines that are not JSON between its messages
    misbehave.py huge-line [MEGABYTES]  works, and answers the tool `huge` with one line of 50 MB
    misbehave.py slow [SECONDS]         works, and has the tool `slow`; see Slow
    misbehave.py ignores-eof            works, ends neither at end of input nor at SIGTERM, has a child
    misbehave.py changing               works, and its tool `add_tool` adds a tool
    misbehave.py many N                 works, and has the tools tool_0 to tool_N-1 instead
    misbehave.py flood                  works, and has tools that say or ask too much; see Flood
    misbehave.py large [BYTES]          has the tools `text` and `refused`, whose answers are large; see Large
    misbehave.py pages BYTES COUNT      works, and lists its tools in pages, each with a description of
                                        so many bytes
    misbehave.py unsolicited BYTES COUNT  works, and sends answers that nobody asked for
    misbehave.py exponential            works, and has a tool whose arguments take long to check
    misbehave.py wide PROPERTIES N      works, and has the tools wide_0 to wide_N-1 instead, each with so
                                        many properties of 40 letters, and no others

It speaks 2025-11-25 and refuses `server/discover`, as older servers do. Where NARROWS_TEST_PIDS
names a file, its process id and its child's are appended to that.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PROTOCOL = "2025-11-25"
Json = dict[str, Any]
Tool = Callable[["Server", "Call"], Json]


def note(path: str | None, line: str) -> None:
    """Appends a line to a file, if there is one."""
    if path:
        with open(path, "a") as file:
            file.write(f"{line}\n")


def note_pid(pid: int) -> None:
    note(os.environ.get("NARROWS_TEST_PIDS"), str(pid))


class Call:
    """One running call of a tool."""

    def __init__(self, params: Json) -> None:
        self.arguments: Json = params.get("arguments") or {}
        self.progress_token = (params.get("_meta") or {}).get("progressToken")
        self.cancelled = threading.Event()


class Server:
    """Answers the requests that a gateway sends; each call of a tool runs in a thread of its own."""

    def __init__(self) -> None:
        self.tools: dict[str, tuple[Json, Tool]] = {}
        self.calls: dict[Any, Call] = {}
        self.writing = threading.Lock()

    def add(self, name: str, tool: Tool, properties: Json | None = None, **more: Any) -> None:
        schema: Json = {"type": "object", "properties": properties or {}}
        if properties:
            schema["required"] = list(properties)
        self.tools[name] = ({"name": name, "description": f"The tool {name}", "inputSchema": schema} | more, tool)

    # What a mode changes.

    def write(self, line: str) -> None:
        with self.writing:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def on_request(self, request: Json) -> None:
        handlers: dict[str, Callable[[Json], Json]] = {
            "initialize": self.initialize,
            "ping": lambda _: {},
            "logging/setLevel": lambda _: {},
            "tools/list": lambda _: {"tools": [listed for listed, _ in self.tools.values()]},
        }
        if request["method"] == "tools/call":
            self.start_call(request)
        elif handler := handlers.get(request["method"]):
            self.answer(request, handler(request.get("params") or {}))
        else:
            self.refuse(request, -32601, f"method not found: {request['method']}")

    def on_answer(self, answer: Json) -> None:
        """A question was answered."""

    def on_end(self) -> None:
        """The input ended."""

    # What stays.

    def send(self, message: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0"} | message))

    def answer(self, request: Json, result: Json) -> None:
        self.send({"id": request["id"], "result": result})

    def refuse(self, request: Json, code: int, message: str) -> None:
        self.send({"id": request["id"], "error": {"code": code, "message": message}})

    def notify(self, method: str, params: Json | None = None) -> None:
        self.send({"method": method} | ({"params": params} if params is not None else {}))

    def initialize(self, _: Json) -> Json:
        return {
            "protocolVersion": PROTOCOL,
            "capabilities": {"tools": {"listChanged": True}, "logging": {}},
            "serverInfo": {"name": "misbehave", "version": "1.0.0"},
        }

    def start_call(self, request: Json) -> None:
        params = request.get("params") or {}
        if params.get("name") not in self.tools:
            return self.refuse(request, -32602, f"unknown tool {params.get('name')}")
        call = self.calls[request["id"]] = Call(params)
        _, tool = self.tools[params["name"]]

        def run() -> None:
            result = tool(self, call)
            self.calls.pop(request["id"], None)
            # A cancelled call is not answered.
            if not call.cancelled.is_set():
                self.answer(request, result)

        threading.Thread(target=run, daemon=True).start()

    def run(self) -> None:
        for line in sys.stdin:
            if not line.strip():
                continue
            message = json.loads(line)
            if "id" in message and "method" in message:
                self.on_request(message)
            elif message.get("method") == "notifications/cancelled":
                if call := self.calls.get(message["params"]["requestId"]):
                    call.cancelled.set()
            elif "id" in message:
                self.on_answer(message)
        self.on_end()


def text(value: str) -> Json:
    return {"content": [{"type": "text", "text": value}]}


def progress(server: Server, call: Call) -> Json:
    steps = 3
    for step in range(1, steps + 1):
        if call.progress_token is not None:
            told = {"progressToken": call.progress_token, "progress": step, "total": steps, "message": f"step {step}"}
            server.notify("notifications/progress", told)
        server.notify("notifications/message", {"level": "info", "logger": "misbehave", "data": f"step {step}"})
    return text("done")


def structured(_: Server, call: Call) -> Json:
    value = {"name": call.arguments["name"], "length": len(call.arguments["name"])}
    return text(json.dumps(value)) | {"structuredContent": value}


def blob(_: Server, __: Call) -> Json:
    data = base64.b64encode(bytes(range(256))).decode()
    contents = {"uri": "test://blob", "mimeType": "application/octet-stream", "blob": data}
    return {"content": [{"type": "resource", "resource": contents}]}


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


class Good(Server):
    def __init__(self) -> None:
        super().__init__()
        string, number = {"type": "string"}, {"type": "number"}
        output = {"type": "object", "properties": {"name": string, "length": {"type": "integer"}}}
        output["required"] = ["name", "length"]
        image = {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
        self.add("echo", lambda _, call: text(call.arguments["text"]), {"text": string})
        self.add("add", lambda _, call: text(str(call.arguments["a"] + call.arguments["b"])), {"a": number, "b": number})
        self.add("fail", lambda _, __: text("this tool always fails") | {"isError": True})
        self.add("image", lambda _, __: image)
        self.add("blob", blob)
        self.add("structured", structured, {"name": string}, outputSchema=output)
        self.add("progress", progress)


class Hang(Server):
    def on_request(self, request: Json) -> None:
        pass


class SilentAfterInit(Good):
    def on_request(self, request: Json) -> None:
        if request["method"] in ("initialize", "server/discover"):
            super().on_request(request)


class CrashOnCall(Good):
    def start_call(self, request: Json) -> None:
        print("misbehave: crashed on call", file=sys.stderr, flush=True)
        os._exit(3)


class ExitMidCall(Good):
    def start_call(self, request: Json) -> None:
        with self.writing:
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {json.dumps(request["id"])}, "result": {{"content": [')
            sys.stdout.flush()
        os._exit(0)


class FloodStderr(Good):
    """About a megabyte at once, again and again: more than any pipe holds."""

    def __init__(self) -> None:
        super().__init__()
        block = ("misbehave: flood " + "x" * 1000 + "\n") * 1000

        def flood() -> None:
            while True:
                sys.stderr.write(block)
                sys.stderr.flush()
                time.sleep(0.01)

        threading.Thread(target=flood, daemon=True).start()


class Garbage(Good):
    LINES = ("Starting the server…", "{not json", "[1, 2", "null", '"text"', '{"jsonrpc": "2.0"}', "\x1b[31mred\x1b[0m", "")

    def __init__(self) -> None:
        super().__init__()
        self.litter()

    def litter(self) -> None:
        for line in self.LINES:
            super().write(line)

    def write(self, line: str) -> None:
        self.litter()
        super().write(line)
        self.litter()


class HugeLine(Good):
    def __init__(self, megabytes: str = "50") -> None:
        super().__init__()
        self.add("huge", lambda _, __: text("x" * (int(megabytes) * 1_000_000)))


class Slow(Good):
    """The tool `slow`, which only reads, takes SECONDS, or its argument `seconds`.

    It appends `begun` to the file that NARROWS_TEST_BEGUN names. When it is cancelled it ends at
    once and appends `cancelled` to the file that its argument `file` or else
    NARROWS_TEST_CANCELLED names. The tool `slow_write` does not say that it only reads; it does the
    same, and appends `ended` if it came to its end.
    """

    def __init__(self, seconds: str = "60") -> None:
        super().__init__()

        def slow(_: Server, call: Call) -> Json:
            wanted = float(call.arguments.get("seconds", seconds))
            path = call.arguments.get("file") or os.environ.get("NARROWS_TEST_CANCELLED")
            note(os.environ.get("NARROWS_TEST_BEGUN"), "begun")
            if call.cancelled.wait(wanted):
                note(path, "cancelled")
            return text(f"slept {wanted} s")

        def slow_write(server: Server, call: Call) -> Json:
            result = slow(server, call)
            if not call.cancelled.is_set():
                note(call.arguments.get("file") or os.environ.get("NARROWS_TEST_CANCELLED"), "ended")
            return result

        self.add("slow", slow, annotations={"readOnlyHint": True})
        self.add("slow_write", slow_write)
        for name in ("slow", "slow_write"):
            properties = {"seconds": {"type": "number"}, "file": {"type": "string"}}
            self.tools[name][0]["inputSchema"]["properties"] = properties


class IgnoresEof(Good):
    """Its child ignores SIGTERM, too, and holds the pipes open."""

    def __init__(self) -> None:
        super().__init__()
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        note_pid(subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL).pid)

    def on_end(self) -> None:
        while True:
            time.sleep(3600)


class Changing(Good):
    def __init__(self) -> None:
        super().__init__()

        def add_tool(server: Server, call: Call) -> Json:
            name = call.arguments["name"]
            server.add(name, lambda _, __: text(f"I am {name}"))
            server.notify("notifications/tools/list_changed")
            return text(f"added {name}")

        self.add("add_tool", add_tool, {"name": {"type": "string"}})


class Many(Server):
    def __init__(self, count: str) -> None:
        super().__init__()

        def numbered(i: int) -> Tool:
            return lambda _, call: text(f"{i}: {call.arguments['text']}")

        for i in range(int(count)):
            self.add(f"tool_{i}", numbered(i), {"text": {"type": "string"}})


class Flood(Good):
    """The tools `ask` and `sample` put `n` questions, and end when all but 16 were answered. The tool
    `tell` sends `n` progress notifications of `size` letters, and appends `told` to its `file`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.method, self.answered = "", threading.Semaphore(0)
        number = {"type": "number"}
        form = {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}
        said = {"role": "user", "content": {"type": "text", "text": "m" * 2000}}
        self.add("ask", self.questions("elicitation/create", {"message": "m" * 2000} | form), {"n": number})
        self.add("sample", self.questions("sampling/createMessage", {"maxTokens": 9, "messages": [said]}), {"n": number})
        self.add("tell", tell, {"n": number, "size": number, "file": {"type": "string"}})

    def questions(self, method: str, params: Json) -> Tool:
        def ask(server: Server, call: Call) -> Json:
            count = int(call.arguments["n"])
            self.method = method
            for number in range(count):
                server.send({"id": f"{method}-{number}", "method": method, "params": params})
            for _ in range(count - 16):
                self.answered.acquire()
            return text("asked")

        return ask

    def on_answer(self, answer: Json) -> None:
        # Those that are left of an earlier call do not count.
        if answer["id"].startswith(self.method):
            self.answered.release()


def tell(server: Server, call: Call) -> Json:
    for number in range(int(call.arguments["n"])):
        message = "P" * int(call.arguments["size"])
        told = {"progressToken": call.progress_token, "progress": number, "message": message}
        server.notify("notifications/progress", told)
    note(call.arguments["file"], "told")
    return text("told")


class Large(Server):
    """The tool `text` gives a text of `count` letters, or of BYTES; `refused` is an error with `count` lists.

    Each call appends `begun` to the file that NARROWS_TEST_BEGUN names. Messages have no spaces between
    their values, so that a large one has as many values as its size allows.
    """

    def __init__(self, size: str = "0") -> None:
        super().__init__()
        self.add("text", lambda _, call: text("x" * int(call.arguments.get("count", size))))
        self.add("refused", lambda _, __: {})
        for name in ("text", "refused"):
            self.tools[name][0]["inputSchema"]["properties"] = {"count": {"type": "integer"}}

    def send(self, message: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0"} | message, separators=(",", ":")))

    def start_call(self, request: Json) -> None:
        note(os.environ.get("NARROWS_TEST_BEGUN"), "begun")
        params = request["params"]
        if params["name"] != "refused":
            return super().start_call(request)
        lists: list[Any] = [[]] * int(params["arguments"]["count"])
        self.send({"id": request["id"], "error": {"code": -32000, "message": "too many", "data": lists}})


class Pages(Good):
    def __init__(self, size: str, count: str) -> None:
        super().__init__()
        self.size, self.count = int(size), int(count)

    def on_request(self, request: Json) -> None:
        if request["method"] != "tools/list":
            return super().on_request(request)
        page = int((request.get("params") or {}).get("cursor") or 0)
        tools = [{"name": f"large_{page}", "description": "d" * self.size, "inputSchema": {"type": "object"}}]
        if page == 0:
            tools += [listed for listed, _ in self.tools.values()]
        self.answer(request, {"tools": tools} | ({"nextCursor": str(page + 1)} if page < self.count else {}))


class Unsolicited(Good):
    """Begins once it was initialized; appends `begun` to the file that NARROWS_TEST_BEGUN names when all is said."""

    def __init__(self, size: str, count: str) -> None:
        super().__init__()
        self.size, self.count = int(size), int(count)

    def initialize(self, params: Json) -> Json:
        threading.Thread(target=self.litter, daemon=True).start()
        return super().initialize(params)

    def litter(self) -> None:
        for number in range(self.count):
            tool = {"name": f"unasked_{number}", "description": "x" * self.size, "inputSchema": {"type": "object"}}
            self.send({"id": 10_000_000 + number, "result": {"tools": [tool]}})
        note(os.environ.get("NARROWS_TEST_BEGUN"), "begun")


class Exponential(Good):
    """To check `{"x": {"x": …}}` takes ten times as many steps with every level."""

    def __init__(self) -> None:
        super().__init__()
        deeper = {"x": {"$ref": "#/$defs/A"}}
        choices = [{"type": "object", "properties": deeper, "required": ["x"], "minProperties": i % 2} for i in range(10)]
        self.add("nested", lambda _, __: text("nested"))
        self.tools["nested"][0]["inputSchema"] |= {"properties": deeper, "$defs": {"A": {"anyOf": choices}}}


class Wide(Server):
    def __init__(self, properties: str, count: str) -> None:
        super().__init__()
        fields = {"p" * 35 + f"_{i:04}": {"type": "string"} for i in range(int(properties))}
        for i in range(int(count)):
            self.add(f"wide_{i}", lambda _, __: text("wide"))
            self.tools[f"wide_{i}"][0]["inputSchema"] |= {"properties": fields, "additionalProperties": False}


MODES: dict[str, Callable[..., Server]] = {
    "good": Good,
    "hang": Hang,
    "silent-after-init": SilentAfterInit,
    "crash-on-call": CrashOnCall,
    "exit-mid-call": ExitMidCall,
    "flood-stderr": FloodStderr,
    "garbage": Garbage,
    "huge-line": HugeLine,
    "slow": Slow,
    "ignores-eof": IgnoresEof,
    "changing": Changing,
    "many": Many,
    "flood": Flood,
    "large": Large,
    "pages": Pages,
    "unsolicited": Unsolicited,
    "exponential": Exponential,
    "wide": Wide,
}


def main() -> None:
    note_pid(os.getpid())
    mode, *options = sys.argv[1:] or ["--help"]
    if mode == "crash":
        print("misbehave: crashed at the start", file=sys.stderr, flush=True)
        raise SystemExit(2)
    if mode not in MODES:
        raise SystemExit(__doc__)
    MODES[mode](*options).run()


if __name__ == "__main__":
    main()
