"""The next step after a usual mistake, where Python's own words do not lead to it."""

import linecache
import os
import re

from . import calls, workspace

_OUTSIDE = (
    "programs see the files of /workspace only, and not those of the caller's machine; "
    "a tool of a server may read those (search_tools finds one)"
)
_NO_VALUE = "put the value into `result`, or write it as the last line"
_NOT_ASYNC = "remove the `await`: what stands behind it is no coroutine"
_NOT_CALLED = "a function is awaited when it is called: write `await {}(...)`"
_LOOP_RUNS = "a loop runs already: write `await` before the coroutine, also outside of functions"
_NO_LOOP = "write `await` before the coroutine, also outside of functions, or use asyncio.run()"
_NO_PACKAGE = "a program is no part of a package: leave out the dots"
# Where Windows has its files, and shells those of a person.
_ELSEWHERE = re.compile(r"~|[A-Za-z]:[\\/]|\\\\")
_AWAITED_NAME = re.compile(r"\bawait\s+([\w.]+)(?![\w.]|\s*[(\[])")
_NOT_AWAITED = "a call is not awaited: write `await` before it"
_NO_SHELL = "this is Python and no notebook or shell: there are no `!` and `%` commands, and nothing can be installed"
_VALUE_ITSELF = "a tool gives its value itself, and no message around it"
# What the results of tools have elsewhere.
_MESSAGE = {"content", "structured_content", "structuredContent", "text", "json", "data", "result"}
# By what Python says of a program that it cannot compile.
_SYNTAX = {
    "'return' outside function": _NO_VALUE,
    "'yield' outside function": _NO_VALUE,
    "'await' outside async function": "write `async def`, and await the function where it is called",
}


def hint(error: BaseException) -> str | None:
    """Says what to do about an error that ended a program."""
    if isinstance(error, SyntaxError):
        return _of_syntax(error)
    if isinstance(error, OSError):
        return _of_file(error)
    if isinstance(error, EOFError) and "reading a line" in str(error):
        return "nobody can answer input(); put the value into the program, or into the context of the call"
    if isinstance(error, AttributeError):
        return _of_attribute(error) or _of_coroutine(error)
    if isinstance(error, ImportError):
        return _of_import(error)
    if type(error) is NameError:
        return _of_name(error)
    if isinstance(error, RuntimeError):
        return _of_loop(str(error))
    return _of_coroutine(error) if isinstance(error, TypeError) else None


def _of_import(error: ImportError) -> str | None:
    if "attempted relative import" in str(error):
        return _NO_PACKAGE
    # `from servers.github.create_issue import …`, as if each tool had a file.
    parts = (error.name or "").split(".")
    if len(parts) > 2 and parts[0] == "servers":
        return f"a tool is a function: write `from servers.{parts[1]} import {parts[2]}`"
    return None


def _of_name(error: NameError) -> str | None:
    """A tool that was not imported, where the host could not know before: in a session, after exec()."""
    found = calls.query("search_tools", {"query": error.name})
    lines = [tool["import"] for tool in found if tool.get("name") == error.name and "import" in tool]
    return f"add `{lines[0]}`" if len(lines) == 1 else None


def _of_loop(said: str) -> str | None:
    if "event loop is already running" in said or "while another loop is running" in said:
        return _LOOP_RUNS
    return _NO_LOOP if "no current event loop" in said else None


def _of_syntax(error: SyntaxError) -> str | None:
    if (error.text or "").lstrip().startswith(("!", "%")):
        return _NO_SHELL
    return _SYNTAX.get(error.msg)


def _of_file(error: OSError) -> str | None:
    """The file that was named is not there, or not where programs can reach it."""
    path = error.filename
    if not isinstance(path, str) or not path:
        return None
    if _ELSEWHERE.match(path):
        name = re.split(r"[\\/]", path)[-1]
        return f"{_OUTSIDE}; {workspace.nearby(workspace.place_of(name) or path)}"
    place = workspace.place_of(path)
    if place is None and path.startswith("/tmp/"):
        return None
    if place is None:
        # The same file may well be there, by its name.
        return f"{_OUTSIDE}; {workspace.nearby(workspace.place_of(os.path.basename(path)) or path)}"
    return workspace.nearby(place) if isinstance(error, FileNotFoundError) else None


def _of_attribute(error: AttributeError) -> str | None:
    owner, name = getattr(error, "obj", None), error.name
    if isinstance(owner, dict) and name in owner:
        return f"it is a dict: write [{name!r}]"
    if name in _MESSAGE and isinstance(owner, (dict, list, str)):
        return _VALUE_ITSELF
    if isinstance(owner, list) and owner and isinstance(owner[0], dict) and name in owner[0]:
        return f"it is a list of dicts: write [0][{name!r}], or go through it with for"
    return None


def _of_coroutine(error: Exception) -> str | None:
    said = str(error)
    if said.startswith("the JSON object must be str"):
        return "it is a value already: leave out json.loads (a tool gives its value itself)"
    if "can't be awaited" in said or "'await' expression" in said:
        return _not_called(error, said) or _NOT_ASYNC
    return _NOT_AWAITED if "coroutine" in said else None


def _not_called(error: Exception, said: str) -> str | None:
    """`await tool`, where `await tool(...)` is meant."""
    if not any(kind in said for kind in ("'function'", "object function", "'method'", "object method")):
        return None
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    line = linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno) if step else ""
    found = _AWAITED_NAME.search(line)
    return _NOT_CALLED.format(found[1] if found else "it")
