"""An MCP client of a few lines: JSON-RPC over a program's standard input and output."""

import json
import queue
import signal
import subprocess
import threading
from pathlib import Path

from .report import CheckFailed

# Long, because a machine may be busy; nothing waits for it when all is well.
TIMEOUT = 120


class Client:
    """A running server, and the conversation with it."""

    def __init__(self, command: list[str | Path], environment: dict[str, str], directory: Path):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(directory / "stderr").open("wb"),
            env=environment,
            cwd=directory,
        )
        self._errors = directory / "stderr"
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def initialize(self) -> dict:
        """Begins the conversation."""
        answer = self.request(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test-packages", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def request(self, method: str, parameters: dict) -> dict:
        """Sends a request, and returns its result."""
        self._number += 1
        number = self._number
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        while True:
            message = self._receive(method)
            # Notifications may come in between.
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise CheckFailed(f"{method}: {message['error']}")
                return message["result"]

    def close(self) -> int:
        """Ends the conversation as clients do, and returns the exit code."""
        self.process.stdin.close()
        return self.process.wait(TIMEOUT)

    def end_with(self, number: signal.Signals) -> int:
        """Sends a signal, and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)

    def _send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _receive(self, method: str) -> dict:
        try:
            line = self._lines.get(timeout=TIMEOUT)
        except queue.Empty:
            raise CheckFailed(f"{method} was not answered in {TIMEOUT} s") from None
        if not line:
            said = self._errors.read_text(errors="replace")
            raise CheckFailed(f"the server ended before it answered {method}: {said}")
        return json.loads(line)

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")
