"""The types that programs expect of tools."""

import unittest
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import support  # noqa: F401
from _narrows import expected


class Owner(TypedDict):
    login: str


class Issue(TypedDict):
    number: int
    title: str
    owner: NotRequired[Owner]
    labels: NotRequired[list[str]]


class Expected(unittest.TestCase):
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
