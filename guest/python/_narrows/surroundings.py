"""The names that every program and skill can use without an import."""

import builtins
import datetime
import importlib
import types

from . import analysis, calls, discovery, expected, privacy, session, skills, state, tools, workspace  # noqa: F401

NAMES = {
    "ToolError": calls.ToolError,
    "display": tools.display,
    "servers": discovery.servers,
    "call_mcp_tool": discovery.call_mcp_tool,
    "search_tools": discovery.search_tools,
    "get_tool_definition": discovery.get_tool_definition,
    "list_servers": discovery.list_servers,
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
    # As the tools of the gateway are called that do the same.
    "read_workspace_file": workspace.read_file,
    "write_workspace_file": workspace.write_file,
    "list_workspace_files": workspace.list_files,
    "execute_analysis": analysis.analyze,
    "sanitize_pii": privacy.sanitize_pii,
    "restore_pii": privacy.restore_pii,
}

# Models forget imports. A program that names one of these and never binds it gets the module; the host
# says so in a note (`check/standard.rs` has the same list). None of them is likely to be the name of a
# variable (`string`, `numbers`, `email`): one that is missing has to be an error. Those the host binds where a
# program surely means the module (`check/library.rs`).
MODULES = [
    "asyncio", "base64", "bisect", "collections", "contextlib", "copy", "csv", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fractions", "functools", "glob", "gzip", "hashlib", "heapq", "hmac",
    "inspect", "io", "ipaddress", "itertools", "json", "logging", "math", "operator", "os", "pathlib",
    "pickle", "pprint", "random", "re", "shutil", "sqlite3", "statistics", "struct", "sys", "tempfile",
    "textwrap", "time", "traceback", "typing", "unicodedata", "urllib", "uuid", "zipfile", "zlib",
    "zoneinfo",
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
    session.given_builtins.update(builtins.__dict__)
