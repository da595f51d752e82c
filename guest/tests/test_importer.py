"""What a program is given without an import."""

import importlib
import os
import re
import string
import unittest

import support  # noqa: F401
from _narrows import importer, surroundings

_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/python/src/check/names/library.rs")
# They reach what no program has imported, and have to be imported themselves.
_REACH_ALL = {"builtins", "gc", "importlib"}


class Implied(unittest.TestCase):
    def test_modules_that_the_host_names_are_bound(self):
        scope = {importer.MODULES: ["string", "xml"], importer.TOOLS: {}, "x": 1}
        importer.bind_implied(scope)
        self.assertIs(scope.pop("string"), string)
        self.assertEqual(scope.pop("xml").__name__, "xml")
        self.assertEqual(scope, {"x": 1})

    def test_what_the_host_takes_for_a_use_of_a_module_is_in_it(self):
        with open(_TABLE, encoding="utf-8") as file:
            table = file.read().split("const MODULES", 1)[1].split("];\n", 1)[0]
        modules = {
            name: re.findall(r'"(\w+)"', parts) for name, parts in re.findall(r'\(\s*"(\w+)",\s*&\[([^]]*)\]', table)
        }
        self.assertGreater(len(modules), 30)
        self.assertEqual({name for name, parts in modules.items() if not parts}, _REACH_ALL)
        self.assertEqual(modules.keys() & set(surroundings.MODULES), set())
        for name, parts in modules.items():
            module = importlib.import_module(name)
            for part in parts:
                try:
                    importlib.import_module(f"{name}.{part}")
                except ImportError:
                    self.assertTrue(hasattr(module, part), f"{name}.{part}")


if __name__ == "__main__":
    unittest.main()
