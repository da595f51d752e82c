"""What errors say of values that tools gave."""

import json
import unittest

import support  # noqa: F401
from _narrows import errors
from _narrows.calls import RecoveredDict, RecoveredList, _value

PROGRAM = "<code>"
TEXT = "Commit: 1\nAuthor: Ada\n"


def recovered(value):
    return _value(json.dumps({"$recovered": value, "raw": TEXT}))


def told(source: str, **variables) -> str:
    """The traceback of a program that fails."""
    errors.remember_source(PROGRAM, source)
    try:
        exec(compile(source, PROGRAM, "exec"), variables)
    except Exception as error:
        return errors.describe(error, PROGRAM)["traceback"]
    raise AssertionError("it did not fail")


class ToolValues(unittest.TestCase):
    def test_errors_on_values_read_from_text_name_the_text(self):
        log = recovered([{"Commit": 1}])
        fields = recovered({"Commit": 1})
        for source, name in [
            ("log['Commit']", "log"),
            ("log[7]", "log"),
            ("log.splitlines()", "log"),
            ("'x' + log", "log"),
            ("for row in log:\n    row['Comit']", "log"),
            ("import json\njson.loads(log)", "log"),
            ("fields['Comit']", "fields"),
            ("fields.strip()", "fields"),
            ("fields[0]", "fields"),
            ("def f(it):\n    return it.strip()\nf(log)", "it"),
        ]:
            text = told(source, log=log, fields=fields)
            self.assertIn(f"the text itself is {name}.raw", text, source)
            self.assertEqual(text.count(".raw"), 1, text)

    def test_a_value_without_a_name_is_told_too(self):
        for source in ("make()['nope']", "make().strip()", "import re\nre.search('x', make())"):
            self.assertIn("read from the tool's text", told(source, make=lambda: recovered({"a": 1})), source)

    def test_a_dict_with_the_one_key_content_says_how_its_text_is_had(self):
        text = {"content": "a\nb"}
        for source in ("text.splitlines()", "text['lines']", "text[0]", "import json\njson.loads(text)"):
            self.assertIn("write text['content']", told(source, text=text), source)
        said = told("make().splitlines()", make=lambda: text)
        self.assertIn("the one key 'content'", said)

    def test_a_misspelt_key_is_told_with_the_one_that_is_there(self):
        orders = [{"email": "x", "customer": {"name": "y"}}]
        for source, key in (("orders[0]['emial']", "email"), ("[o['emial'] for o in orders]", "email"),
                            ("for o in orders:\n    o['customer']['nmae']", "name")):
            self.assertIn(f"did you mean {key!r}?", told(source, orders=orders), source)
        for source in ("orders[0]['zzz']", "{}['emial']", "raise KeyError('emial')"):
            self.assertNotIn("did you mean", told(source, orders=orders), source)

    def test_other_errors_stay_as_they_are(self):
        log, text = recovered([{"a": 1}]), {"content": "x"}
        for source in ("{}['x']", "None.strip()", "other = {'a': 1}\nother['b']", "1 / 0", "{'a': 1, 'content': 2}.x"):
            said = told(source, log=log, text=text)
            self.assertNotIn(".raw", said, source)
            self.assertNotIn("content'", said.splitlines()[-1], source)

    def test_each_error_of_a_group_is_told(self):
        source = "try:\n    log.strip()\nexcept AttributeError as e:\n    raise ExceptionGroup('two', [e, ValueError('x')]) from None"
        self.assertEqual(told(source, log=recovered([1])).count("log.raw"), 1)

    def test_values_that_fail_when_they_are_looked_at_hide_no_error(self):
        class Odd(dict):
            def __contains__(self, key):
                raise RuntimeError("odd")

            __getattribute__ = __contains__

        self.assertIn("KeyError: 'x'", told("odd['x']", odd=Odd()))

    def test_recovered_values_are_dicts_and_lists(self):
        self.assertEqual((type(recovered({"a": 1})), type(recovered([1]))), (RecoveredDict, RecoveredList))
        self.assertEqual(recovered({"a": 1}).get("b"), None)
        with self.assertRaises(KeyError):
            recovered({})["x"]
        with self.assertRaises(AttributeError):
            recovered([]).strip


if __name__ == "__main__":
    unittest.main()
