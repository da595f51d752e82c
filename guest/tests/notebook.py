"""A notebook for tests: runs cells in `__main__`, and moves its variables to a new interpreter's."""

import sys
import types
import unittest

import support  # noqa: F401
from _narrows import errors, session
from _narrows.calls import ToolError


class NotebookTest(unittest.TestCase):
    def setUp(self):
        self._main = sys.modules["__main__"]
        self.cells = []
        self.begin()

    def tearDown(self):
        sys.modules["__main__"] = self._main

    def begin(self) -> None:
        main = types.ModuleType("__main__")
        main.ToolError = ToolError
        sys.modules["__main__"] = main
        self.scope = vars(main)
        self.given = dict(self.scope)

    def run_cell(self, source: str) -> None:
        name = self.scope["__file__"] = f"cell-{len(self.cells) + 1}.py"
        self.cells.append((name, source))
        errors.remember_source(name, source)
        exec(compile(source, name, "exec"), self.scope)

    def save(self, **options) -> tuple[bytes, dict]:
        return session.save(self.scope, self.cells, self.given, **options)

    def move(self) -> dict[str, str]:
        """Saves, and goes on in a new `__main__`; gives what was lost."""
        state, lost = self.save()
        self.begin()
        found = session.restore(state, self.scope)
        self.assertLessEqual(lost.items(), found.items())
        return found

    def comes_back(self, source: str, *checks: str) -> None:
        """What the source defines passes the checks before it is moved, after, and after twice."""
        self.run_cell(source)
        for _ in range(3):
            for check in checks:
                self.assertTrue(eval(check, self.scope), check)
            self.assertEqual(self.move(), {})
