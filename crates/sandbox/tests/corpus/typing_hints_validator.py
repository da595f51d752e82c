"""typing at run time: get_type_hints, Protocol, TypedDict, Literal, Annotated, NamedTuple."""
from __future__ import annotations

from types import NoneType, UnionType
from typing import (Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Optional, Protocol, TypedDict, TypeVar,
                    Union, get_args, get_origin, get_type_hints, runtime_checkable)


class Range(NamedTuple):
    low: float
    high: float = float("inf")


class Address(TypedDict):
    city: str
    zip: NotRequired[str]


class User(TypedDict):
    name: str
    age: Annotated[int, Range(0, 150)]
    role: Literal["admin", "user"]
    scores: list[float | int]
    address: Optional[Address]
    extra: dict[str, tuple[int, ...]]


def check(value: Any, hint: Any, path: str = "$") -> list[str]:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return []
    if origin is Annotated:
        rule = args[1]
        return check(value, args[0], path) or ([] if rule.low <= value <= rule.high else [f"{path}: {value} not in {rule.low}..{rule.high}"])
    if origin in (Union, UnionType):
        tries = [check(value, a, path) for a in args]
        return [] if [] in tries else min(tries, key=lambda t: (len(t), -max(map(len, t))))
    if origin is Literal:
        return [] if value in args else [f"{path}: {value!r} is none of {list(args)}"]
    if origin is NotRequired:
        return check(value, args[0], path)
    if origin in (list, tuple):
        return [e for i, v in enumerate(value) for e in check(v, args[0], f"{path}[{i}]")]
    if origin is dict:
        return [e for k, v in value.items() for e in check(k, args[0], f"{path} key") + check(v, args[1], f"{path}.{k}")]
    if hasattr(hint, "__required_keys__") and isinstance(value, dict):
        hints = get_type_hints(hint, include_extras=True)
        gone = [f"{path}.{k}: missing" for k in sorted(hint.__required_keys__ - value.keys()) if get_origin(hints[k]) is not NotRequired]
        return gone + [e for k, h in hints.items() if k in value for e in check(value[k], h, f"{path}.{k}")]
    return [] if hint in (str, int, float, NoneType) and isinstance(value, hint) and not (hint is int and value is True) else [f"{path}: {type(value).__name__} is not {hint.__name__}"]


good = {"name": "Ana", "age": 30, "role": "admin", "scores": [1, 2.5], "address": {"city": "Ulm"}, "extra": {"k": (1, 2)}}
print(check(good, User), check(good | {"address": None}, User))
print(*check({"age": 200, "role": "root", "scores": [1, "x"], "address": {"zip": 5}, "extra": {"k": (1, None)}}, User), sep="\n")


@runtime_checkable
class Sized(Protocol):
    def __len__(self) -> int: ...


T = TypeVar("T")
class Box(Generic[T]): item: T
class IntBox(Box[int]): note: str | None = None
print([isinstance(v, Sized) for v in ([], 3, "x", dict)], issubclass(list, Sized), Box[int] == Box[int], get_args(Box[str])[0].__name__)
print(sorted(get_type_hints(IntBox)), IntBox.__orig_bases__[0] == Box[int], get_args(get_type_hints(IntBox)["note"]) == (str, NoneType), get_type_hints(Range))
