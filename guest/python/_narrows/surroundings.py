"""The names that every program and skill can use without an import."""

import builtins
import datetime
import importlib
import types

from . import analysis, calls, expected, privacy, skills, state, tools, workspace  # noqa: F401

NAMES = {
    "ToolError": calls.ToolError,
    "display": tools.display,
    "read_file": workspace.read_file,
    "write_file": workspace.write_file,
    "list_files": workspace.list_files,
    "delete_file": workspace.delete_file,
    "save_skill": skills.save_skill,
    "load_skill": skills.load_skill,
    "list_skills": skills.list_skills,
    "sql": analysis.sql,
    "analyze": analysis.analyze,
    "board": state.board,
    "boards": state.boards,
    "shared": state.shared,
    "sanitize_pii": privacy.sanitize_pii,
    "restore_pii": privacy.restore_pii,
}

# Models forget imports. A program that names one of these and never binds it gets the module; the host
# says so in a note (`check/standard.rs` has the same list).
MODULES = [
    "abc", "argparse", "ast", "asyncio", "base64", "binascii", "bisect", "calendar", "cmath", "codecs",
    "collections", "colorsys", "concurrent", "configparser", "contextlib", "contextvars", "copy", "csv",
    "dataclasses", "datetime", "decimal", "difflib", "email", "enum", "fnmatch", "fractions", "functools",
    "gc", "glob", "graphlib", "gzip", "hashlib", "heapq", "hmac", "html", "http", "inspect", "io",
    "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging", "math", "mimetypes",
    "numbers", "operator", "os", "pathlib", "pickle", "platform", "pprint", "queue", "quopri", "random", "re",
    "secrets", "shlex", "shutil", "signal", "sqlite3", "statistics", "string", "struct", "sys", "tempfile",
    "textwrap", "threading", "time", "timeit", "tokenize", "tomllib", "traceback", "types", "typing",
    "unicodedata", "unittest", "urllib", "uuid", "warnings", "weakref", "xml", "zipfile", "zlib", "zoneinfo",
]


class _Datetime(types.ModuleType):
    """`datetime` without an import may be the module or its class: `datetime.now()`, `datetime.timedelta`."""

    def __getattr__(self, name: str):
        if hasattr(datetime, name):
            return getattr(datetime, name)
        return getattr(datetime.datetime, name)

    def __call__(self, *args, **keywords):
        return datetime.datetime(*args, **keywords)

    def __instancecheck__(self, value) -> bool:
        return isinstance(value, datetime.datetime)

    def __repr__(self) -> str:
        return repr(datetime)


def install() -> None:
    for name in MODULES:
        builtins.__dict__.setdefault(name, importlib.import_module(name))
    builtins.__dict__["datetime"] = _Datetime("datetime")
    builtins.__dict__.update(NAMES)
