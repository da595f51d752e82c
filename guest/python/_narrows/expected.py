"""Whether a value is of the type that a program expects of a tool.

Tools give JSON: a class with fields is given as a dict, a tuple or set as a list, a date as text. That is
what is compared with the type; the value stays as the tool gave it.
"""

import builtins
import dataclasses
import datetime
import decimal
import enum
import pathlib
import sys
import types
import typing
import uuid
from collections import deque

# What says something about a field and not about its value; older interpreters lack some.
_AROUND = {
    getattr(typing, name, None)
    for name in ("Annotated", "Required", "NotRequired", "ReadOnly", "ClassVar", "Final")
} - {None}
_LISTS = (list, tuple, set, frozenset, deque)
# What JSON has in place of these.
_WRITTEN_AS = (
    (datetime.datetime, (str, int, float)), (datetime.date, (str,)), (datetime.time, (str,)),
    (datetime.timedelta, (str, int, float)), (datetime.tzinfo, (str,)), (decimal.Decimal, (str, int, float)),
    (uuid.UUID, (str,)), (pathlib.PurePath, (str,)), (bytes, (str,)), (bytearray, (str,)),
)
# Their classes are what they are, and no dict of a tool.
_LIBRARY = sys.stdlib_module_names


def check(value, expected, name: str):
    """Gives the value back, or says where it is of another type."""
    return Expected(expected).check(value, name)


class Expected:
    """A type that was looked at: its classes, and the types of their fields."""

    def __init__(self, expected):
        self.expected = expected
        self.fields: dict[type, dict] = {}
        self._read(expected)

    def check(self, value, name: str):
        """Gives the value back, or says where it is of another type."""
        wrong = self._wrong(value, self.expected, "")
        if wrong is not None:
            place, found, wanted = wrong
            raise TypeError(f"{name} gave {found}{place and f' at {place}'}, expected {wanted}")
        return value

    def _read(self, expected) -> None:
        """Notes the fields of all classes that a type consists of. A name that means nothing is any type."""
        waiting, aliases = [expected], set()
        while waiting:
            one = waiting.pop()
            if isinstance(one, typing.NewType):
                one = one.__supertype__
            if type(one).__name__ == "TypeAliasType":
                if one not in aliases:
                    aliases.add(one)
                    waiting.append(_value_of(one))
                continue
            waiting.extend(typing.get_args(one))
            kind = typing.get_origin(one) or one
            if isinstance(kind, type) and kind not in self.fields and _has_fields(kind):
                self.fields[kind] = _hints(kind)
                waiting.extend(self.fields[kind].values())

    def _wrong(self, value, expected, place: str) -> tuple[str, str, str] | None:
        """Where the first part of another type is, what it is, and what it should be."""
        if expected is typing.Any or expected is object or isinstance(expected, (str, typing.TypeVar)):
            return None
        if expected is None:
            expected = type(None)
        if isinstance(expected, typing.NewType):
            return self._wrong(value, expected.__supertype__, place)
        if type(expected).__name__ == "TypeAliasType":
            return self._wrong(value, _value_of(expected), place)
        origin, arguments = typing.get_origin(expected), typing.get_args(expected)
        if origin in _AROUND:
            return self._wrong(value, arguments[0], place)
        if origin in (typing.Union, types.UnionType):
            fits = any(self._wrong(value, one, place) is None for one in arguments)
            return None if fits else (place, _kind(value), _written(expected))
        if origin is typing.Literal:
            return None if value in arguments else (place, repr(value), _written(expected))
        kind = origin or expected
        if not isinstance(kind, type):
            return None  # nothing that a value can be compared with
        if kind in self.fields:
            return self._wrong_fields(value, kind, place)
        if issubclass(kind, enum.Enum):
            return _wrong_member(value, kind, place)
        if not _is_a(value, kind):
            return place, _kind(value), _written(expected)
        if isinstance(value, list) and _is_pair(kind, arguments) and len(value) != len(arguments):
            return place, f"a list of {len(value)}", f"{_written(expected)}, a list of {len(arguments)}"
        return next(filter(None, (self._wrong(*part) for part in _parts(value, kind, arguments, place))), None)

    def _wrong_fields(self, value, kind: type, place: str):
        fields = self.fields[kind]
        if isinstance(value, list) and issubclass(kind, tuple):
            if len(value) > len(fields) or len(value) < len(_required(kind, fields)):
                return place, f"a list of {len(value)}", f"{kind.__name__} of {len(fields)}"
            parts = zip(value, fields.values(), (f"{place}[{index}]" for index in range(len(value))))
            return next(filter(None, (self._wrong(*part) for part in parts)), None)
        if not isinstance(value, dict):
            return place, _kind(value), f"{kind.__name__}, a dict"
        for field in _required(kind, fields):
            if field not in value:
                there = ", ".join(map(repr, list(value)[:10])) or "no field"
                return place, f"a dict with {there}", f"{kind.__name__} with {field!r}"
        for field, of in fields.items():
            if field in value and (wrong := self._wrong(value[field], of, f"{place}[{field!r}]")) is not None:
                return wrong
        return None


def _value_of(alias):
    try:
        return alias.__value__
    except Exception:  # it names what is not there
        return typing.Any


def _is_pair(kind: type, arguments: tuple) -> bool:
    """Whether each place of a tuple has a type of its own."""
    return issubclass(kind, tuple) and bool(arguments) and arguments[-1] is not ...


def _parts(value, kind: type, arguments: tuple, place: str):
    """The parts of a list or dict, each with its type and place."""
    if isinstance(value, list) and _is_pair(kind, arguments):
        for index, (part, of) in enumerate(zip(value, arguments)):
            yield part, of, f"{place}[{index}]"
    elif isinstance(value, list) and arguments and (len(arguments) == 1 or arguments[1] is ...):
        for index, part in enumerate(value):
            yield part, arguments[0], f"{place}[{index}]"
    elif isinstance(value, dict) and len(arguments) == 2:
        for key, part in value.items():
            yield part, arguments[1], f"{place}[{key!r}]"


def _has_fields(kind: type) -> bool:
    """Whether a class says by its annotations what its objects have."""
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind) or _is_named_tuple(kind):
        return True
    if _is_of_library(kind) or getattr(kind, "_is_protocol", False) or issubclass(kind, enum.Enum):
        return False
    is_value = any(issubclass(kind, one) for one in (dict, str, int, float, *_LISTS))
    return not is_value and not any(issubclass(kind, one) for one, _ in _WRITTEN_AS) and bool(_hints(kind))


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARY


def _hints(kind: type) -> dict:
    """The types of the fields of a class, in their order. One that cannot be found is any type."""
    try:
        hints = typing.get_type_hints(kind)
    except Exception:
        hints = {}
        for base in reversed(kind.__mro__):
            # A TypedDict has those of its bases too.
            hints |= {name: _found(hint, base) for name, hint in _annotations(base).items()}
    if _is_named_tuple(kind):
        return {name: hints.get(name, typing.Any) for name in kind._fields}
    return {name: hint for name, hint in hints.items() if not _is_of_class(hint)}


def _is_of_class(hint) -> bool:
    return hint is typing.ClassVar or typing.get_origin(hint) is typing.ClassVar


def _annotations(kind: type) -> dict:
    try:
        import annotationlib
    except ImportError:  # before Python 3.14 they were evaluated with the class
        return kind.__dict__.get("__annotations__", {})
    try:
        return annotationlib.get_annotations(kind, format=annotationlib.Format.FORWARDREF)
    except Exception:
        return {}


def _found(hint, kind: type):
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, vars(sys.modules.get(kind.__module__, builtins)), dict(vars(kind)))
    except Exception:
        return typing.Any


def _required(kind: type, fields: dict) -> list[str]:
    if typing.is_typeddict(kind):
        return sorted(kind.__required_keys__)
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        return [
            field.name for field in dataclasses.fields(kind)
            if field.init and field.default is missing and field.default_factory is missing
        ]
    if _is_named_tuple(kind):
        return [name for name in fields if name not in kind._field_defaults]
    return [name for name in fields if not hasattr(kind, name)]


def _wrong_member(value, kind: type, place: str):
    if any(value == member.value for member in kind):
        return None
    values = ", ".join(repr(member.value) for member in list(kind)[:10])
    return place, repr(value) if isinstance(value, (str, int, float)) else _kind(value), f"{kind.__name__}: {values}"


def _is_a(value, kind: type) -> bool:
    if kind is float and type(value) is int:
        return True  # JSON has one kind of numbers
    if kind is int and type(value) is bool:
        return False
    try:
        if isinstance(value, kind):
            return True
        if isinstance(value, list) and issubclass(kind, _LISTS):
            return True
        if isinstance(value, dict) and issubclass(kind, dict):
            return True
        if any(issubclass(kind, one) and isinstance(value, forms) for one, forms in _WRITTEN_AS):
            return type(value) is not bool
    except Exception:
        return True  # a type that cannot be asked, such as a protocol
    # Of a class that says nothing of its fields there is nothing to compare with a dict.
    return isinstance(value, dict) and not _is_of_library(kind)


def _kind(value) -> str:
    if value is None:
        return "None"
    name = type(value).__name__.removeprefix("Recovered").lower()
    return f"an {name}" if name[:1] in "aeiou" else f"a {name}"


def _written(expected) -> str:
    return expected.__name__ if isinstance(expected, type) and not typing.get_args(expected) else str(expected)
