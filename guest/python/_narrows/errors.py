"""Failures as Python shows them, with the program's lines and none of the sandbox's."""

import errno
import linecache
import sqlite3
import traceback

from . import hints, tool_values
from .calls import LimitError

# Frames that a program did not write and cannot change.
_OURS = ("/0/", "/world/", "/bundled/")
_MACHINERY = {"/python/asyncio/runners.py", "/python/asyncio/base_events.py", "<frozen importlib._bootstrap>"}
_PYTHON = "/python/"
# Writing past a quota; the C library makes every failed write to a stream an I/O error.
_FULL = (errno.EDQUOT, errno.EIO)


def remember_source(name: str, source: str) -> None:
    """Lets tracebacks show the lines of a program that is in no file."""
    if name.startswith("<"):
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    else:
        # A function in a tuple: `linecache` calls it when somebody asks for a line.
        linecache.cache[name] = (lambda: source,)


def describe(error: BaseException, program: str) -> dict:
    """An error as the host is told of it. The hint is the last line of the traceback too."""
    try:
        tool_values.add_note(error, program)
    except Exception:
        pass  # whatever the program's values do when they are looked at, its error is shown
    hint = _hint(error)
    if hint is not None:
        error.add_note(hint)
    shown = traceback.TracebackException(
        type(error), error, error.__traceback__, compact=True, max_group_width=20
    )
    _hide_frames(shown, set())
    return {
        "type": _type_name(error),
        "message": _message(error) if hint is None else f"{_message(error)}; {hint}",
        "line": _line(error, shown, program),
        "traceback": "".join(shown.format()),
        "cause": _cause(error),
    }


def _hint(error: BaseException) -> str | None:
    try:
        return hints.hint(error)
    except Exception:  # an error of the program's own kind may do anything when it is looked at
        return None


def _cause(error: BaseException) -> str | None:
    """The limit that may be behind an error; the host knows whether it was reached."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, LimitError):
        return "tool_calls"
    if isinstance(error, OSError) and error.errno in _FULL or isinstance(error, sqlite3.Error):
        return "files"
    for inner in getattr(error, "exceptions", ()):
        if (cause := _cause(inner)) is not None:
            return cause
    return None


def _hide_frames(shown: traceback.TracebackException, seen: set) -> None:
    if shown is None or id(shown) in seen:
        return
    seen.add(id(shown))
    kept = [frame for frame in shown.stack if not _hidden(frame.filename)]
    for frame in kept:
        if frame.filename.startswith(_PYTHON):
            frame.filename = frame.filename[len(_PYTHON) :]
    shown.stack[:] = kept
    for other in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        _hide_frames(other, seen)


def _hidden(filename: str) -> bool:
    return filename.startswith(_OURS) or filename in _MACHINERY


def _type_name(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.msg:
        return error.msg
    try:
        return str(error)
    except Exception:
        return f"<the message of this {type(error).__name__} cannot be shown>"


def _line(error: BaseException, shown: traceback.TracebackException, program: str) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == program:
        return error.lineno
    for frame in reversed(shown.stack):
        if frame.filename == program:
            return frame.lineno
    # In a group or a chain the innermost error knows the line.
    for inner in getattr(error, "exceptions", ()):
        found = _line(inner, traceback.TracebackException.from_exception(inner), program)
        if found is not None:
            return found
    return None
