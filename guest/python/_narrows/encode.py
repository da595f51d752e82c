"""Turns the result of a program into JSON, whatever it is."""

import base64
import collections
import dataclasses
import datetime
import enum
import math
import re
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from json import JSONEncoder
from types import CoroutineType

# Readers of JSON stop at 128 levels or so; what is deeper becomes text.
DEEPEST = 100
# Integers past 64 bits lose digits in most readers of JSON.
_LONG_NUMBER = re.compile(r"[0-9]{19}").search
_INTEGERS = range(-(2**63), 2**64)
_MOST_NOTES = 10
# Longer integers take seconds to become decimal digits.
_MOST_DECIMAL_BITS = 400_000
_repr = reprlib.Repr()
_repr.maxlevel, _repr.maxstring, _repr.maxother, _repr.maxlong = 6, 2000, 2000, 2000


class Notes:
    """Counts what could not be kept as it was, and says so in few lines."""

    def __init__(self):
        self.counts = collections.Counter()

    def add(self, what: str) -> None:
        self.counts[what] += 1

    def lines(self) -> list[str]:
        lines = [
            f"result: {what}" if count == 1 else f"result: {what} ({count} times)"
            for what, count in list(self.counts.items())[:_MOST_NOTES]
        ]
        if len(self.counts) > _MOST_NOTES:
            lines.append(f"result: {len(self.counts) - _MOST_NOTES} other kinds of value became text")
        return lines


def to_json(value) -> tuple[str, list[str]]:
    """Gives the JSON text and the notes about what was changed on the way."""
    if type(value) is int and value in _INTEGERS:
        return str(value), []
    notes = Notes()
    try:
        text = JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"),
            default=lambda other: _simpler(other, notes),
        ).encode(value)
        text.encode()  # a lone surrogate fails here
        if not _LONG_NUMBER(text) and not _too_deep(value, text):
            return text, notes.lines()
    except (TypeError, ValueError, RecursionError):
        pass
    notes = Notes()
    text = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode(_plain(value, notes, ()))
    return text, notes.lines()


def _too_deep(value, text: str) -> bool:
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            return True
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list, tuple))
        ] if depth > 1 or isinstance(value, (dict, list, tuple)) else []
    return False


def _plain(value, notes: Notes, path: tuple):
    """Rebuilds a value from what JSON knows, one level at a time."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, notes, path)
    if isinstance(value, str):
        return _text(str(value), notes)
    if isinstance(value, int):
        if value in _INTEGERS:
            return int(value)
        notes.add("an integer of more than 64 bits became text")
        return _digits(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        notes.add(f"{float(value)} became null")
        return None
    if isinstance(value, (list, tuple, dict)):
        container = value
    else:
        container = _simpler(value, notes)
        if not isinstance(container, (list, dict)):
            return _plain(container, notes, path)
    if id(value) in path:
        notes.add("a reference of a value to itself became text")
        return "<cycle>"
    if len(path) >= DEEPEST:
        notes.add(f"what is nested more than {DEEPEST} levels deep became text")
        return _text(_safe_repr(value), notes)
    path = (*path, id(value))
    try:
        if isinstance(container, dict):
            return {_key(key, notes): _plain(item, notes, path) for key, item in container.items()}
        return [_plain(item, notes, path) for item in container]
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        return _unreadable(value, error, notes)


def _simpler(value, notes: Notes):
    """One step from an object towards what JSON knows."""
    try:
        return _step(value, notes)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        return _unreadable(value, error, notes)


def _unreadable(value, error: Exception, notes: Notes) -> str:
    reason = _safe_repr(error)
    notes.add(f"{_a(type(value))} could not be read ({reason}) and became text")
    return f"<{type(value).__name__}>"


def _a(kind: type) -> str:
    """The name of a type with its article."""
    return f"{'an' if kind.__name__[0] in 'aeioAEIO' else 'a'} {kind.__name__}"


def _step(value, notes: Notes):
    kind = type(value)
    if isinstance(value, collections.UserString):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key, notes): item for key, item in value.items()}
    if isinstance(value, Set):
        return _ordered(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(bytes(value), notes)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        notes.add(f"{_a(kind)} became text")
        return value.isoformat()
    if isinstance(value, (collections.deque, range, Sequence)) or kind.__name__ in ("dict_values", "array"):
        return list(value)
    if isinstance(value, CoroutineType):
        notes.add(f"coroutine {value.__qualname__!r} was never awaited; write `await {value.__name__}(...)`")
        value.close()  # that it was never awaited is told here
        return None
    if kind.__module__ in ("decimal", "uuid", "fractions", "ipaddress", "datetime", "pathlib", "zoneinfo"):
        notes.add(f"{_a(kind)} became text")
        return str(value)
    if isinstance(value, BaseException):
        notes.add("an exception became text")
        return f"{kind.__name__}: {value}" if str(value) else kind.__name__
    if isinstance(value, Iterable) and not hasattr(value, "__dict__"):
        notes.add(f"{_a(kind)} became text; use list(...) to return its items")
        return _safe_repr(value)
    notes.add(f"an object of type {kind.__name__} became text")
    return _safe_repr(value)


def _key(key, notes: Notes) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return _text(str(key), notes)
    if key is None or key is True or key is False:
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):
        return _digits(key)
    if isinstance(key, (datetime.datetime, datetime.date, datetime.time)):
        return key.isoformat()
    if not isinstance(key, float):
        notes.add(f"a key of type {type(key).__name__} became text")
    try:
        return _text(str(key), notes)
    except Exception:
        return f"<{type(key).__name__}>"


def _text(text: str, notes: Notes) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        notes.add("half of a surrogate pair was replaced")
        return text.encode("utf-8", "replace").decode()


def _digits(number: int) -> str:
    try:
        return str(int(number))
    except ValueError:  # longer than Python turns into decimal digits when it is not asked to
        pass
    if number.bit_length() > _MOST_DECIMAL_BITS:
        return hex(number)
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return str(int(number))
    finally:
        sys.set_int_max_str_digits(most)


def _bytes(data: bytes, notes: Notes) -> str:
    try:
        text = data.decode()
        notes.add("bytes became text")
    except UnicodeDecodeError:
        text = base64.b64encode(data).decode()
        notes.add("bytes became text in base64")
    return text


def _ordered(values: Set) -> list:
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _safe_repr(value) -> str:
    try:
        return _repr.repr(value)
    except MemoryError:
        raise
    except BaseException:
        return f"<{type(value).__name__}>"
