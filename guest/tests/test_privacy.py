"""Personal data, against a host that has one token."""

import json
import unittest
from unittest import mock

import support
from _narrows.privacy import restore_pii, sanitize_pii
from _narrows.calls import ToolError

VALUE, TOKEN = "ada@example.com", "[EMAIL_abcdefghijkl]"


def query(name: str, arguments: str) -> str:
    old, new = {"sanitize_pii": (VALUE, TOKEN), "restore_pii": (TOKEN, VALUE)}[name]
    value = json.dumps(json.loads(arguments)["value"])
    if "forbidden" in value:
        raise support.Err(json.dumps({"message": "you may not"}))
    return value.replace(old, new)


class PrivacyTest(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(support.host, "query", query)
        patch.start()
        self.addCleanup(patch.stop)

    def test_text_and_values_go_there_and_back(self):
        for value in (f"to {VALUE}", {"to": [VALUE, 1]}, [VALUE], 7, None, ""):
            protected = sanitize_pii(value)
            self.assertNotIn(VALUE, json.dumps(protected))
            self.assertEqual(restore_pii(protected), value)

    def test_await_gives_the_same(self):
        async def awaited():
            return [await sanitize_pii(value) for value in (VALUE, [VALUE], {"a": VALUE})]

        with self.assertRaises(StopIteration) as end:
            awaited().send(None)
        self.assertEqual(end.exception.value, [TOKEN, [TOKEN], {"a": TOKEN}])

    def test_a_refusal_is_an_error(self):
        with self.assertRaisesRegex(ToolError, "you may not"):
            restore_pii("forbidden")


if __name__ == "__main__":
    unittest.main()
