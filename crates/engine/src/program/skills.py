"""The skills that were saved: `from skills import name`."""

from _narrows.skills import package as _package

__getattr__, __dir__ = _package(__name__, "skill_names")
