"""The next step after a usual mistake, where Python's own words do not lead to it."""

import os

from . import workspace

_OUTSIDE = (
    "programs see the files of /workspace only, and not those of the caller's machine; "
    "a tool of a server may read those (search_tools finds one)"
)
_NO_VALUE = "put the value into `result`, or write it as the last line"
_NOT_ASYNC = "remove the `await`: what stands behind it is no coroutine"
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
    return _of_coroutine(error) if isinstance(error, TypeError) else None


def _of_syntax(error: SyntaxError) -> str | None:
    if (error.text or "").lstrip().startswith(("!", "%")):
        return _NO_SHELL
    return _SYNTAX.get(error.msg)


def _of_file(error: OSError) -> str | None:
    """The file that was named is not there, or not where programs can reach it."""
    path = error.filename
    if not isinstance(path, str) or not path:
        return None
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
        return _NOT_ASYNC
    return _NOT_AWAITED if "coroutine" in said else None
