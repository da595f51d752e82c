"""Whether a value is of the type that a program expects of a tool."""

import types
import typing

# What says something about a field and not about its value; older interpreters lack some.
_AROUND = {getattr(typing, name, None) for name in ("Annotated", "Required", "NotRequired", "ReadOnly")} - {None}


def check(value, expected, name: str):
    """Gives the value back, or says where it is of another type."""
    wrong = _wrong(value, expected, "")
    if wrong is not None:
        place, found, wanted = wrong
        raise TypeError(f"{name} gave {found}{place and f' at {place}'}, expected {wanted}")
    return value


def _wrong(value, expected, place: str) -> tuple[str, str, str] | None:
    """Where the first part of another type is, what it is, and what it should be."""
    if expected is typing.Any or expected is object or isinstance(expected, (str, typing.TypeVar)):
        return None
    if expected is None:
        expected = type(None)
    if isinstance(expected, typing.NewType):
        return _wrong(value, expected.__supertype__, place)
    if type(expected).__name__ == "TypeAliasType":
        return _wrong(value, expected.__value__, place)
    if typing.is_typeddict(expected):
        return _wrong_fields(value, expected, place)
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in _AROUND:
        return _wrong(value, arguments[0], place)
    if origin in (typing.Union, types.UnionType):
        fits = any(_wrong(value, one, place) is None for one in arguments)
        return None if fits else (place, _kind(value), _written(expected))
    if origin is typing.Literal:
        return None if value in arguments else (place, repr(value), _written(expected))
    kind = origin or expected
    if not isinstance(kind, type):
        return None  # nothing that a value can be compared with
    if not _is_a(value, kind):
        return place, _kind(value), _written(expected)
    if isinstance(value, list) and len(arguments) == 1:
        parts = ((f"{place}[{index}]", part, arguments[0]) for index, part in enumerate(value))
    elif isinstance(value, dict) and len(arguments) == 2:
        parts = ((f"{place}[{key!r}]", part, arguments[1]) for key, part in value.items())
    else:
        return None
    return next(filter(None, (_wrong(part, of, at) for at, part, of in parts)), None)


def _wrong_fields(value, expected, place: str):
    if not isinstance(value, dict):
        return place, _kind(value), f"{expected.__name__}, a dict"
    for field in sorted(expected.__required_keys__):
        if field not in value:
            there = ", ".join(map(repr, list(value)[:10])) or "no field"
            return place, f"a dict with {there}", f"{expected.__name__} with {field!r}"
    for field, of in typing.get_type_hints(expected).items():
        if field in value and (wrong := _wrong(value[field], of, f"{place}[{field!r}]")) is not None:
            return wrong
    return None


def _is_a(value, kind: type) -> bool:
    if kind is float and type(value) is int:
        return True  # JSON has one kind of numbers
    if kind is int and type(value) is bool:
        return False
    try:
        return isinstance(value, kind)
    except TypeError:
        return True  # a type that cannot be asked, such as a protocol


def _kind(value) -> str:
    if value is None:
        return "None"
    name = type(value).__name__.removeprefix("Recovered").lower()
    return f"an {name}" if name[:1] in "aeiou" else f"a {name}"


def _written(expected) -> str:
    return expected.__name__ if isinstance(expected, type) and not typing.get_args(expected) else str(expected)
