"""Puts the guest's modules on the path, with stand-ins for what only the component has."""

import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))


class Err(Exception):
    """What the host's functions raise."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value


def _stand_in(name: str, **contents) -> types.ModuleType:
    module = sys.modules[name] = types.ModuleType(name)
    vars(module).update(contents)
    return module


host = types.SimpleNamespace(submit=None, poll=None, abandon=None, query=None, module_source=lambda name: None)
_stand_in("wit_world", imports=_stand_in("wit_world.imports", host=host))
_stand_in("componentize_py_types", Err=Err)
try:
    import sqlite3  # noqa: F401
except ImportError:  # some builds of Python have none
    kinds = {name: type(name, (Exception,), {}) for name in ("Error", "Connection", "Cursor")}
    _stand_in("sqlite3", **kinds)
