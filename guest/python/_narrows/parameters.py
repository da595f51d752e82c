"""Other names that models give to the parameters of the functions that every program has.

The host has the same for its tools (`engine/src/aliases.rs`), where a test compares both.
"""

import difflib
import functools
import inspect

_PATHS = ("file", "filename", "file_name", "file_path", "filepath", "name")
_LIMITS = ("max_results", "maxResults", "top_k", "k", "n", "count", "max")
_SERVERS = ("server_name", "serverName", "mcp_server")
_SKILLS = ("skill_name", "skillName", "skill")
_VALUES = ("text", "data", "content", "input", "message", "string", "json", "object")

_ALIASES = {
    "search_tools": {
        "query": ("q", "text", "search", "search_query", "keywords", "keyword"),
        "detail_level": ("detail", "detailLevel", "details", "level"), "limit": _LIMITS, "server": _SERVERS,
        "category": ("categories",),
    },
    "get_tool_definition": {
        "name": ("tool_name", "toolName", "tool", "tool_id", "full_name", "id"), "server": _SERVERS,
        "category": ("categories",), "raw": ("json", "as_json"),
    },
    "read_file": {"path": _PATHS, "offset": ("start",), "limit": ("length", "max_bytes", "size")},
    "write_file": {"path": _PATHS, "content": ("contents", "text", "data", "body")},
    "list_files": {"pattern": ("glob", "path", "directory", "folder", "dir", "filter")},
    "delete_file": {"path": _PATHS},
    "save_skill": {
        "name": _SKILLS, "code": ("source", "python", "content", "body"), "description": ("desc", "summary"),
        "tags": ("labels", "keywords"),
    },
    "load_skill": {"name": _SKILLS},
    "list_skills": {"query": ("q", "search", "filter"), "limit": _LIMITS},
    "sanitize_pii": {"value": _VALUES},
    "restore_pii": {"value": _VALUES},
    "analyze": {
        "analysis_type": ("type", "analysis", "operation", "analysisType"),
        "source": ("file", "path", "filename"), "data": ("rows", "records", "dataset"), "parameters": ("params", "options", "arguments"),
    },
}


def forgiving(function):
    """Lets a function be called by other names of its parameters, and says which it takes.

    A parameter that is there is not replaced, and a function that takes any keyword gets those
    that nothing is known of.
    """
    parameters = list(inspect.signature(function).parameters.values())
    names = [one.name for one in parameters if one.kind != one.VAR_KEYWORD]
    ordered = [one.name for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
    required = [one.name for one in parameters if one.default is one.empty and one.kind != one.VAR_KEYWORD]
    is_open = len(names) < len(parameters)
    meant = {alias: name for name, aliases in _ALIASES[function.__name__].items() for alias in aliases}

    @functools.wraps(function)
    def wrapper(*positions, **keywords):
        if len(positions) > len(ordered):
            raise _wrong(f"takes {len(ordered)} values by position, {len(positions)} were given")
        given = set(ordered[: len(positions)])
        for key in list(keywords):
            name = key if key in names or _is_column(key, keywords[key]) else meant.get(key, key)
            if name in given or name != key and name in keywords:
                if name == key or not is_open:
                    raise _wrong(f"got {name!r} twice")
            elif name not in names and not is_open:
                near = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
                raise _wrong(f"has no parameter {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
            else:
                keywords[name] = keywords.pop(key)
                given.add(name)
        missing = [name for name in required if name not in given]
        if missing:
            raise _wrong(f"needs {' and '.join(missing)}")
        return function(*positions, **keywords)

    def _is_column(key: str, value) -> bool:
        # A pivot has `rows` of its own.
        return key in ("rows", "records") and isinstance(value, str)

    def _wrong(what: str) -> TypeError:
        return TypeError(f"{function.__name__}() {what} (it takes {', '.join(names)})")

    return wrapper
