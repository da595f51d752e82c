"""Imports the standard library into the snapshot.

There is no file system to import from at run time: what is not in memory when the
component is built does not exist afterwards. So everything that can be imported is,
down to the codecs and submodules that the library itself imports late.
"""

import importlib
import os
import sys

# Not for programs: they open windows, print on import, install things, test Python itself,
# or need what a sandbox cannot have (`_narrows.importer` says what to use instead).
LEFT_OUT = {
    "__hello__", "__phello__", "_aix_support", "_android_support", "_apple_support",
    "_ios_support", "_osx_support", "_pyrepl", "antigravity", "bz2", "compression", "ctypes",
    "curses", "ensurepip", "idlelib", "lzma", "multiprocessing", "pty", "pydoc_data", "ssl",
    "test", "this", "tkinter", "turtle", "turtledemo", "tty", "venv", "webbrowser",
}
LEFT_OUT_SUBMODULES = {
    "asyncio.__main__", "asyncio.windows_events", "asyncio.windows_utils",
    "concurrent.futures.process", "dbm.gnu", "dbm.ndbm", "encodings.mbcs", "encodings.oem",
    "importlib.metadata.diagnose", "json.__main__", "sqlite3.__main__", "unittest.__main__",
    "zipfile.__main__", "encodings._win_cp_codecs",
}


def _sources(folder: str, prefix: str):
    for entry in sorted(os.listdir(folder)):
        path = f"{folder}/{entry}"
        if entry.endswith(".py"):
            stem = entry[:-3]
            yield prefix[:-1] if stem == "__init__" and prefix else prefix + stem
        elif os.path.exists(f"{path}/__init__.py"):
            if prefix + entry not in LEFT_OUT:
                yield from _sources(path, f"{prefix}{entry}.")


def _standard_modules():
    for name in _sources("/python", ""):
        if name in LEFT_OUT or name in LEFT_OUT_SUBMODULES:
            continue
        if name.rpartition(".")[2] in ("__main__", "__init__") or name.startswith("_sysconfigdata"):
            continue
        yield name
    yield from sorted(sys.builtin_module_names)


FAILED = {}

for _name in list(_standard_modules()):
    try:
        importlib.import_module(_name)
    except ImportError as error:
        FAILED[_name] = str(error)
