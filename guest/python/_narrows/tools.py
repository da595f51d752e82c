"""What generated modules are made of: functions that call tools, made when they are first used."""

import base64
import difflib
import functools
import importlib
import linecache
import os
import sys
from collections.abc import Mapping
from opcode import opmap
from types import ModuleType

from .calls import ToolError, call, query

_IMPORT_FROM = opmap["IMPORT_FROM"]
_VAR_KEYWORDS = 0x08
# As MCP itself has them, and Jupyter.
_MEDIA_KEYS = {"mimeType": "mime_type", "mimetype": "mime_type", "media_type": "mime_type"}


class Namespace(ModuleType):
    """A module that can also be gone through and asked by key: `for name in servers`, `servers["github"]`."""

    def __getitem__(self, name: str):
        try:
            return getattr(self, name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def __iter__(self):
        return iter(list(self.__all__))

    def __len__(self) -> int:
        return len(self.__all__)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name) -> bool:
        return name in self.__all__

    def __call__(self, *args, **keywords):
        name = self.__name__
        if name == "servers":
            raise TypeError("servers is a package, and not called: `await servers.NAME.TOOL(...)` calls a tool, "
                            "list_servers() lists the servers")
        raise TypeError(f"{name} is a server, and not called: `await {name}.TOOL(...)` calls a tool of it")


def package(name: str, modules: list[str]):
    """The package `servers`: its modules are imported when they are first named."""
    sys.modules[name].__class__ = Namespace

    def __getattr__(attribute: str):
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        if attribute in modules:
            return importlib.import_module(f"{name}.{attribute}")
        near = difflib.get_close_matches(attribute, modules, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(modules) or 'none'}"
        raise _missing(f"there is no server {attribute!r}; {hint}")

    return modules, __getattr__, lambda: modules


def module(name: str, server: str, names: list[str] | None):
    """A module of one server: asks the host for the source of a tool when it is first named."""
    sys.modules[name].__class__ = Namespace
    scope = sys.modules[name].__dict__
    if names is None:
        names = query("tool_names", {"server": server})

    def __getattr__(attribute: str):
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        try:
            found = query("wrapper", {"server": server, "name": attribute})
        except ToolError as error:
            raise _missing(error.message) from None
        file = f"<{name}.{found['name']}>"
        source = found["source"]
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), scope)
        function = scope[found["name"]]
        function.__module__ = name
        return function

    return names, __getattr__, lambda: sorted({*scope, *names})


def tool(full_name: str, renamed: dict[str, str] | None = None):
    """Makes a function without a body into a call of a tool.

    The call takes keywords, one dict of all arguments, or positions, in the order of the parameters.
    """

    def decorate(function):
        code = function.__code__
        parameters = code.co_varnames[: code.co_kwonlyargcount]
        raw_names = {python: (renamed or {}).get(python, python) for python in parameters}
        by_any_name = {**{raw: raw for raw in raw_names.values()}, **raw_names}
        optional = function.__kwdefaults__ or {}
        required = [raw_names[python] for python in parameters if python not in optional]
        is_open = bool(code.co_flags & _VAR_KEYWORDS)

        @functools.wraps(function)
        async def wrapper(*positions, **keywords):
            if len(positions) == 1 and not keywords and isinstance(positions[0], Mapping) and not _is_first(positions[0]):
                keywords, positions = dict(positions[0]), ()
            if len(positions) > len(parameters):
                raise TypeError(f"{function.__name__}() takes {len(parameters)} arguments, {len(positions)} were given{_takes()}")
            arguments = {raw_names[python]: value for python, value in zip(parameters, positions)}
            for key, value in keywords.items():
                raw = by_any_name.get(key)
                if raw is None:
                    if not is_open:
                        raise TypeError(f"{function.__name__}() has no parameter {key!r}{_near(key)}{_takes()}")
                    raw = key
                if raw in arguments:
                    raise TypeError(f"{function.__name__}() got {key!r} twice")
                arguments[raw] = value
            missing = [raw for raw in required if raw not in arguments]
            if missing:
                raise TypeError(f"{function.__name__}() needs {', '.join(missing)}{_takes()}")
            return await call(full_name, arguments)

        def _is_first(value):
            """Whether a lone dict is the first argument rather than all of them."""
            return bool(value) and bool(parameters) and not is_open and not any(key in by_any_name for key in value)

        def _near(key):
            near = difflib.get_close_matches(str(key), list(by_any_name), n=1, cutoff=0.6)
            return f"; did you mean {near[0]!r}?" if near else ""

        def _takes():
            return f" (it takes {', '.join(parameters)})" if parameters else " (it takes none)"

        return wrapper

    return decorate


def display(thing, mime_type: str | None = None) -> None:
    """Shows an image, sound or file to whoever asked for this program.

    Takes what a tool gave, a path in the workspace, or bytes with their mime_type.
    """
    if isinstance(thing, (list, tuple)):
        # A tool that gives text and an image gives a list of both.
        media = [item for item in thing if _is_media(item)]
        if not media:
            raise TypeError("display() found no image, sound or file in this list; print it, or return it as the result")
        for item in media:
            display(item)
        return
    if isinstance(thing, Mapping):
        thing = {_MEDIA_KEYS.get(key, key): value for key, value in thing.items()}
        request = {key: thing[key] for key in ("path", "data", "mime_type") if thing.get(key) is not None}
    elif isinstance(thing, (bytes, bytearray, memoryview)):
        request = {"data": base64.b64encode(bytes(thing)).decode()}
    elif isinstance(thing, (str, os.PathLike)):
        request = {"path": os.fspath(thing)}
    else:
        raise TypeError(f"display() cannot show a {type(thing).__name__}; print it, or return it as the result")
    if mime_type is not None:
        request["mime_type"] = mime_type
    query("display", request)


def _is_media(item) -> bool:
    """Whether it is what the host gives for an image, sound or file of a tool."""
    if not isinstance(item, Mapping):
        return False
    keys = {_MEDIA_KEYS.get(key, key) for key in item}
    return "mime_type" in keys and ("path" in keys or "data" in keys)


def _missing(message: str) -> Exception:
    """`from x import y` replaces an AttributeError by one that says less; an ImportError stays."""
    frame = sys._getframe(2)
    imports = frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM
    return ImportError(message) if imports else AttributeError(message)
