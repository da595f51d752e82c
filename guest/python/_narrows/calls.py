"""Calls out of the sandbox: `await call(...)` to a tool, `query(...)` for an answer at once."""

import asyncio
from asyncio.events import get_running_loop
from json import JSONEncoder, loads

from wit_world.imports import host
from componentize_py_types import Err

# What a call may carry; the host refuses much more by ending the program.
_MOST_ARGUMENTS = 16 << 20
# How the host marks a value that it read from a text.
_RECOVERED = "$recovered"
_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_NO_DATA: list[bytes] = []
_submit = host.submit
_poll = host.poll
_abandon = host.abandon

# Calls in flight: the host's id and the future that waits for it.
pending: dict[int, asyncio.Future] = {}


class ToolError(Exception):
    """A tool that was called reported a failure."""

    __module__ = "builtins"

    def __init__(self, message: str, **details):
        super().__init__(message)
        self.message = message
        for key, value in details.items():
            if not hasattr(self, key):
                setattr(self, key, value)


class RecoveredDict(dict):
    """A dict that was read from a tool's text, which is at `.raw`."""

    raw: str
    __module__ = "builtins"

    def __missing__(self, key):
        error = KeyError(key)
        error.obj = self  # as an AttributeError has it; see `tool_values`
        raise error


class RecoveredList(list):
    """A list that was read from a tool's text, which is at `.raw`."""

    raw: str
    __module__ = "builtins"


class LimitError(RuntimeError):
    """The program used up something that it was given a limited amount of."""

    __module__ = "builtins"


async def call(tool: str, arguments: dict, data: list[bytes] | None = None):
    """Calls a tool by the id that the host knows it by, and gives its value.

    With data beside the arguments there is data beside the value too.
    """
    text = _arguments(tool, arguments)
    try:
        number = _submit(tool, text, data or _NO_DATA)
    except Err as refused:
        raise LimitError(refused.value) from None
    future = get_running_loop().create_future()
    pending[number] = future
    try:
        value = await future
        return value if data is None else (value, host.take(number))
    finally:
        if pending.pop(number, None) is not None:
            _abandon(number)


def query(name: str, arguments: dict):
    """Asks the host for something that it answers without a tool, and waits."""
    try:
        return loads(host.query(name, _arguments(name, arguments)))
    except Err as refused:
        raise _error(refused.value) from None


def poll(timeout_ns: int | None) -> None:
    """Waits for finished calls and wakes those that wait for them."""
    for number, succeeded, text in _poll(timeout_ns):
        future = pending.pop(number, None)
        if future is None or future.done():
            continue
        try:
            value = _value(text) if succeeded else _error(text)
        except Exception as error:
            succeeded, value = False, error
        if succeeded:
            future.set_result(value)
        else:
            future.set_exception(value)


def forget() -> None:
    pending.clear()


def _arguments(name: str, arguments: dict) -> str:
    try:
        text = _encode(arguments)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise TypeError(f"the arguments of {name} cannot be sent as JSON: {error}") from None
    except RecursionError:
        raise TypeError(f"the arguments of {name} cannot be sent as JSON: they are nested too deeply") from None
    if size > _MOST_ARGUMENTS:
        raise ValueError(f"the arguments of {name} have {size} bytes; a call can carry {_MOST_ARGUMENTS}")
    return text


def _value(text: str):
    value = loads(text)
    if type(value) is dict and _RECOVERED in value:
        raw = value.get("raw", "")
        found = value[_RECOVERED]
        # Anything else was not marked by the host.
        kind = {dict: RecoveredDict, list: RecoveredList}.get(type(found))
        if kind is not None:
            value = kind(found)
            value.raw = raw
    return value


def _error(text: str) -> Exception:
    details = loads(text)
    message = details.pop("message", "the tool failed")
    return ToolError(message, **details)
