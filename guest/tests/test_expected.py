"""The types that programs expect of tools."""

import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import unittest
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, NotRequired, Optional, TypedDict, TypeVar
from unittest import mock

import support  # noqa: F401
from _narrows import discovery, expected


class Owner(TypedDict):
    login: str


class Issue(TypedDict):
    number: int
    title: str
    owner: NotRequired[Owner]
    labels: NotRequired[list[str]]


T = TypeVar("T")


class State(enum.Enum):
    OPEN = "open"
    CLOSED = "closed"


@dataclasses.dataclass
class Ticket:
    kinds: ClassVar[list] = []
    number: int
    title: str
    state: State = State.OPEN
    labels: list[str] = dataclasses.field(default_factory=list)
    parent: "Optional[Ticket]" = None


@dataclasses.dataclass
class Page(Generic[T]):
    items: list[T]


class Point(NamedTuple):
    x: float
    y: float
    name: str = ""


class Model:
    """As pydantic has them, which is not there."""

    id: int
    name: str = ""


class Bare:
    def __init__(self, number):
        self.number = number


class Lost(TypedDict):
    number: int
    of: "NotThere"  # noqa: F821


@dataclasses.dataclass
class LostToo:
    number: int
    of: "NotThere"  # noqa: F821


Pair = collections.namedtuple("Pair", "a b")


class Expected(unittest.TestCase):
    def test_what_json_has_in_place_of_an_object_fits(self):
        ticket = {"number": 1, "title": "a", "state": "closed", "parent": {"number": 2, "title": "b"}, "more": 1}
        for value, kind in [
            (ticket, Ticket), ([ticket], list[Ticket]), (ticket, Ticket | None), ({"items": [1]}, Page[int]),
            ([1, 2], Point), ({"x": 1, "y": 2.5}, Point), ({"a": 1, "b": 2}, Pair), ({"id": 1}, Model), ({"number": 1}, Bare),
            ([1, "a"], tuple[int, str]), ([1, 2], tuple[int, ...]), ([1], tuple), (["a"], set[str]), ([], frozenset),
            ([1], collections.deque), ({"a": 1}, collections.OrderedDict), ({"a": [1]}, Mapping[str, Sequence[int]]),
            ("2026-01-02T03:04:05Z", datetime.datetime), (1700000000, datetime.datetime), ("2026-01-02", datetime.date),
            ("1.50", decimal.Decimal), ("open", State), ({"number": 1, "of": 2}, Lost), ({"number": 1, "of": 2}, LostToo),
            ({"number": 1, "of": 2}, list["NotThere"] | Lost),  # noqa: F821
        ]:
            self.assertIs(expected.check(value, kind, "tool"), value, (value, kind))

    def test_what_is_in_place_of_an_object_is_looked_at(self):
        for value, kind, message in [
            ({"title": "a"}, Ticket, "tool gave a dict with 'title', expected Ticket with 'number'"),
            ({"number": "1", "title": "a"}, Ticket, "tool gave a str at ['number'], expected int"),
            ({"number": 1, "title": "a", "state": "gone"}, Ticket, "tool gave 'gone' at ['state'], expected State: 'open', 'closed'"),
            ({"number": 1, "title": "a", "parent": {}}, Ticket, "tool gave a dict at ['parent'], expected typing.Optional[test_expected.Ticket]"),
            ([1], Ticket, "tool gave a list, expected Ticket, a dict"),
            ([1], Point, "tool gave a list of 1, expected Point of 3"),
            ([1, "a"], Point, "tool gave a str at [1], expected float"),
            ({"name": "a"}, Model, "tool gave a dict with 'name', expected Model with 'id'"),
            (1, Bare, "tool gave an int, expected Bare"),
            ([1, 2], tuple[int, str], "tool gave an int at [1], expected str"),
            ([1], tuple[int, str], "tool gave a list of 1, expected tuple[int, str], a list of 2"),
            ([1], set[str], "tool gave an int at [0], expected str"),
            ([1], datetime.date, "tool gave a list, expected date"),
            ({}, list, "tool gave a dict, expected list"),
            ({}, Sequence, "tool gave a dict, expected Sequence"),
            ({"number": "1", "of": 1}, Lost, "tool gave a str at ['number'], expected int"),
            ({"number": "1", "of": 1}, LostToo, "tool gave a str at ['number'], expected int"),
        ]:
            with self.assertRaises(TypeError) as raised:
                expected.check(value, kind, "tool")
            message = message.replace("test_expected.", f"{__name__}.")
            if "Optional" not in message:  # versions of Python write it in two ways
                self.assertEqual(str(raised.exception), message)

    def test_a_type_is_read_before_the_tool_is_called(self):
        done = []

        async def call(name, arguments):
            done.append("called")
            return {"number": 1, "of": None}

        read = expected._hints
        with mock.patch.object(discovery, "call", call), \
                mock.patch.object(expected, "_hints", lambda kind: done.append("read") or read(kind)):
            value = asyncio.run(discovery.call_mcp_tool("t", {}, LostToo))
        self.assertEqual((value, done), ({"number": 1, "of": None}, ["read", "called"]))

    def test_values_that_fit_are_given_back(self):
        issue = {"number": 1, "title": "a", "owner": {"login": "o"}, "labels": ["x"], "more": None}
        for value, kind in [
            ({}, dict), ([], list), ("a", str), (1, int), (1, float), (1.5, float), (True, bool), (None, None),
            ([1, 2], list[int]), ({"a": 1}, dict[str, int]), (issue, Issue), ([issue], list[Issue]),
            (None, Optional[Issue]), (issue, Issue | None), ("a", Literal["a", "b"]), (object(), Any),
            ([1], Annotated[list[int], "numbers"]), ({"a": 1}, "Issue"), (1, object),
        ]:
            self.assertIs(expected.check(value, kind, "tool"), value, (value, kind))

    def test_the_first_place_of_another_type_is_named(self):
        for value, kind, message in [
            ([], dict, "tool gave a list, expected dict"),
            (None, dict, "tool gave None, expected dict"),
            (True, int, "tool gave a bool, expected int"),
            ([1, "2"], list[int], "tool gave a str at [1], expected int"),
            ({"a": None}, dict[str, str], "tool gave None at ['a'], expected str"),
            ("c", Literal["a", "b"], "tool gave 'c', expected typing.Literal['a', 'b']"),
            ("x", Issue, "tool gave a str, expected Issue, a dict"),
            ({"title": "a"}, Issue, "tool gave a dict with 'title', expected Issue with 'number'"),
            ({"number": "1", "title": "a"}, Issue, "tool gave a str at ['number'], expected int"),
            (
                [{"number": 1, "title": "a", "owner": {"login": 2}}], list[Issue],
                "tool gave an int at [0]['owner']['login'], expected str",
            ),
            (1, str | None, "tool gave an int, expected str | None"),
        ]:
            with self.assertRaises(TypeError) as raised:
                expected.check(value, kind, "tool")
            self.assertEqual(str(raised.exception), message)


if __name__ == "__main__":
    unittest.main()
