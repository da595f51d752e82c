"""Imports: modules that the host provides, and a clear word about those that cannot exist."""

import ast
import difflib
import importlib
import importlib.util
import linecache
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

from wit_world.imports import host

# The host is asked for these and what is below them, and for nothing else. (Of a module that is not there it
# is asked whether it is a server.)
PROVIDED = {"servers", "skills", "client", "tool_discovery"}

# Where the host says which tools a program calls without an import, with the module of each, and which
# modules of the library it uses so. No program can write these names.
TOOLS = "<tools>"
MODULES = "<modules>"

_NO_NETWORK = "there is no network in the sandbox; call a tool of an MCP server instead (search_tools finds one)"
_NO_THREADS = "there are no threads or processes in the sandbox; use asyncio.gather or asyncio.TaskGroup"
_NO_NATIVE = "there is no native code in the sandbox; use the standard library, or a tool of an MCP server"
_STDLIB_ONLY = "the sandbox has the standard library only"
# What takes the place of the usual packages for data. Both read files of the workspace by name, too.
_SQL = '`await sql("select city, avg(price) from t group by 1", t=rows_or_file)`'
_ANALYZE = '`await analyze("describe", rows_or_file)` (also aggregate, correlation, percentiles, test, time_series)'
_TABLES = f"{_STDLIB_ONLY}; instead there are {_SQL} and {_ANALYZE}, or csv and plain lists of dicts"
_NUMBERS = f"{_STDLIB_ONLY}; use math and statistics, or for figures of tables {_ANALYZE} and {_SQL}"

_TOOLS = "the tools of MCP servers are functions here: `from servers.NAME import TOOL`, then `await TOOL(...)`"

_INSTEAD = {
    "mcp": _TOOLS, "fastmcp": _TOOLS, "tools": _TOOLS, "mcp_tools": _TOOLS, "narrows": _TOOLS,
    "ctypes": _NO_NATIVE, "_ctypes": _NO_NATIVE, "cffi": _NO_NATIVE, "mmap": _NO_NATIVE,
    "ssl": _NO_NETWORK, "_ssl": _NO_NETWORK, "requests": _NO_NETWORK, "httpx": _NO_NETWORK,
    "aiohttp": _NO_NETWORK, "urllib3": _NO_NETWORK, "websockets": _NO_NETWORK, "boto3": _NO_NETWORK,
    "multiprocessing": _NO_THREADS, "_multiprocessing": _NO_THREADS, "joblib": _NO_THREADS,
    "concurrent.futures.process": _NO_THREADS,
    "bz2": "this build has no bzip2; use zlib or gzip",
    "lzma": "this build has no xz; use zlib or gzip",
    "compression": "this build has zlib and gzip only; import zlib or gzip directly",
    "curses": "there is no terminal in the sandbox; print instead",
    "readline": "there is no terminal in the sandbox",
    "tkinter": "there is no screen in the sandbox; print or return the data instead",
    "turtle": "there is no screen in the sandbox; print or return the data instead",
    "matplotlib": f"{_STDLIB_ONLY}; return the data, and let the caller draw it",
    "numpy": _NUMBERS,
    "scipy": _NUMBERS,
    "pandas": _TABLES,
    "polars": _TABLES, "duckdb": _TABLES, "pyarrow": _TABLES, "openpyxl": _TABLES,
    "sklearn": _NUMBERS, "statsmodels": _NUMBERS,
    "pydantic": f"{_STDLIB_ONLY}; use dataclasses or typing.TypedDict",
    "yaml": f"{_STDLIB_ONLY}; use json or tomllib",
    "dateutil": f"{_STDLIB_ONLY}; use datetime and zoneinfo",
    "pytz": f"{_STDLIB_ONLY}; use zoneinfo",
    "bs4": f"{_STDLIB_ONLY}; use html.parser or xml.etree.ElementTree",
    "lxml": f"{_STDLIB_ONLY}; use xml.etree.ElementTree",
}


class _HostModules(MetaPathFinder, Loader):
    """Gets the source of a provided module from the host when it is first imported."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in PROVIDED:
            return None
        found = host.module_source(name)
        if found is None:
            return None
        source, is_package = found
        spec = ModuleSpec(name, self, origin=f"<{name}>", is_package=is_package)
        spec.loader_state = source
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        spec = module.__spec__
        source, filename = spec.loader_state, spec.origin
        module.__file__ = filename
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compile(source, filename, "exec"), module.__dict__)

    def get_source(self, name):
        return sys.modules[name].__spec__.loader_state


class _Refusals(MetaPathFinder):
    """Comes last: says why a module is missing and what to use instead."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        reason = _INSTEAD.get(name) or _INSTEAD.get(top)
        if reason is None and top in PROVIDED:
            reason = self._provided(name)
        elif reason is None:
            reason = self._server(top) or self._nearest(name, top)
        raise ModuleNotFoundError(f"No module named {name!r}: {reason}", name=name)

    def _provided(self, name):
        if "." not in name:
            return "nothing of this kind is configured here"
        parent, _, child = name.rpartition(".")
        if parent == "skills":
            return "there is no such skill; list_skills() shows what there is"
        known = getattr(sys.modules.get(parent), "__all__", ())
        near = difflib.get_close_matches(child, known, n=3, cutoff=0.5)
        if near:
            return f"did you mean {' or '.join(f'{parent}.{other}' for other in near)}?"
        return f"there is no such server; there are {', '.join(known) or 'none'}"

    def _server(self, top):
        """The servers are modules of a package, and no packages of their own."""
        if top.startswith("_") or host.module_source(f"servers.{top}") is None:
            return None
        return f"it is a server: write `from servers import {top}`, or `from servers.{top} import TOOL`"

    def _nearest(self, name, top):
        known = [n for n in sys.modules if not n.startswith("_") and ("." in n) == ("." in name)]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if near:
            return f"did you mean {near[0]!r}?"
        if top in sys.modules:
            return f"the package {top!r} has no such module"
        return _STDLIB_ONLY + ", and nothing can be installed"


def make_absolute(tree: ast.Module) -> None:
    """`from ...client import call_mcp_tool`, as files of a package have it, means the module that is here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and (node.module or "").partition(".")[0] in PROVIDED:
            node.level = 0


def bind_implied(scope: dict) -> None:
    """Binds the tools and modules that a program uses and does not import, as the host has found them."""
    for module in scope.pop(MODULES, ()):
        scope[module] = importlib.import_module(module)
    for tool, module in scope.pop(TOOLS, {}).items():
        scope[tool] = getattr(importlib.import_module(f"servers.{module}"), tool)


def _find_spec(name, package=None):
    """Asking whether a module exists is no import, and gets no reason."""
    try:
        return _original_find_spec(name, package)
    except ModuleNotFoundError as error:
        if error.name == name:
            return None
        raise


_original_find_spec = importlib.util.find_spec


def install() -> None:
    importlib.util.find_spec = _find_spec
    # The interpreter's own finders look for files, which a program may have in its workspace.
    sys.meta_path.insert(0, _HostModules())
    sys.meta_path.append(_Refusals())
