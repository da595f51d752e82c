"""Runs checks one by one, and counts: one that fails hides no other."""

import subprocess
import traceback
from collections.abc import Callable

from ..errors import PackagingError


class CheckFailed(Exception):
    """A package is not as promised; the message says how."""


def expect(condition: object, message: str) -> None:
    """Fails the check unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def expect_equal(found: object, expected: object, what: str) -> None:
    """Fails the check unless both are the same."""
    expect(found == expected, f"{what} is {found!r}, expected {expected!r}")


class Report:
    """Counts checks, and prints each."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def check(self, name: str, function: Callable, *arguments):
        """Runs a check, and returns what it returns; `None` if it failed."""
        try:
            value = function(*arguments)
        except (CheckFailed, PackagingError, OSError, subprocess.SubprocessError) as error:
            self._fail(name, str(error))
        except Exception:  # A mistake of the check itself: it has to be seen, and hides no other.
            self._fail(name, traceback.format_exc())
        else:
            self.passed += 1
            print(f"ok      {name}", flush=True)
            return value
        return None

    def _fail(self, name: str, why: str) -> None:
        self.failed.append(name)
        indented = "\n        ".join(why.strip().splitlines())
        print(f"FAILED  {name}\n        {indented}", flush=True)

    def finish(self) -> int:
        """Prints the counts, and returns the exit code."""
        for name in self.failed:
            print(f"failed: {name}")
        print(f"{self.passed} passed, {len(self.failed)} failed")
        return 1 if self.failed or not self.passed else 0
