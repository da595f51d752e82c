"""Tables at native speed: `sql` and `analyze`. The host does the work; rows cross over as `marshal` has them."""

import marshal
from collections.abc import Iterable, Mapping

from . import calls, encode
from .parameters import forgiving

_ANALYZE = "narrows:analyze"
# What a table by reference is made of; anything else is data.
_REFERENCES = {
    "file": {"file", "format", "path"}, "tool": {"tool", "arguments", "path"}, "result": {"result"},
    "session": {"session", "variable"},
}
_SQL_FORM = '`await sql("select * from t", t=rows)`'
# How many rows of a long list are written at once.
_PART_ROWS = 1 << 13


class Rows(list):
    """Rows as dicts. `total` is how many there are in all; if that is more, `path` is the file that has them."""

    total: int
    path: str | None
    notes: list[str]
    __module__ = "builtins"


async def sql(*query: str, **tables) -> Rows:
    """Runs a SELECT over tables: lists of dicts, names of workspace files, or `{"tool": …, "arguments": …}`.

    Example: `await sql("select sector, avg(roi) from t group by 1", t=rows)`
    """
    text, tables = _query_and_tables(query, tables)
    return (await _ask("sql", {"query": text}, tables, None))["data"]


def _query_and_tables(positions: tuple, tables: dict) -> tuple[str, dict]:
    """The text of a query and its tables, also where the text is a keyword or the tables are one dict."""
    text, *more = positions or (_take(tables, ("query", "sql", "statement")),)
    more += [tables.pop("tables")] if isinstance(tables.get("tables"), Mapping) else []
    for named in more:
        # Rows without a name cannot be selected from.
        if not isinstance(named, Mapping) or _is_reference(named):
            raise TypeError(f"sql() takes tables by name: {_SQL_FORM}")
        tables = {**named, **tables}
    if not isinstance(text, str):
        raise TypeError(f"sql() needs a query as text: {_SQL_FORM}")
    return text, tables


def _take(keywords: dict, names: tuple[str, ...]):
    return next((keywords.pop(name) for name in names if isinstance(keywords.get(name), str)), None)


@forgiving
async def analyze(analysis_type: str, data=None, parameters: dict | None = None, *,
                  source=None, tables: dict | None = None, output: dict | None = None, **more) -> dict:
    """One analysis of data, or of a workspace file or a tool's answer: figures, and rows in `data`.

    Example: `await analyze("aggregate", rows, group_by="sector", aggregations={"roi": ["mean", "max"]})`
    """
    parameters = {**(parameters or {}), **more}
    if data is None:
        data = source
    elif source is not None:
        raise TypeError("analyze() takes data or source, not both")
    field = parameters.pop("data_field", None)
    if field is not None and isinstance(data, str):
        data = {"file": data, "path": field}
    elif field is not None:
        if not isinstance(data, Mapping) or field not in data:
            known = ", ".join(map(str, data)) if isinstance(data, Mapping) else type(data).__name__
            raise ValueError(f"data_field: data has no {field!r}; there are {known}")
        data = data[field]
    if isinstance(data, Mapping) and not _is_reference(data) and any(map(_is_rows, data.values())):
        given = {str(name): rows for name, rows in data.items() if _is_rows(rows)}
    else:
        given = {} if data is None else {"data": data}
    return await _ask(analysis_type, parameters, given | (tables or {}), output)


async def rendered(variables: dict, request: dict) -> dict:
    """An analysis of variables for a client: text for its model, and the same as data."""
    tables = request["tables"] | variables
    answer = await _ask(request["analysis_type"], request["parameters"], tables, request["output"], True)
    return {"text": answer["text"], "structured": answer["structured"]}


async def _ask(analysis_type: str, parameters: dict, tables: dict, output: dict | None,
               is_rendered: bool = False) -> dict:
    told, packed, notes = [], [], []
    for name, table in tables.items():
        if isinstance(table, str) or _is_reference(table):
            told.append({"name": name, "source": table})
            continue
        form, parts, changed = _packed(table)
        notes += [f"{name}: {change}" for change in changed]
        told.append({"name": name, "data": [len(packed), len(parts)], "form": form})
        packed += parts
    request = {"analysis_type": analysis_type, "parameters": _plain(parameters), "tables": told, "output": output,
               "rendered": is_rendered}
    answer, rows = await calls.call(_ANALYZE, request, packed)
    if is_rendered and notes:
        answer["text"] += "".join(f"\nnote: {note}" for note in notes)
        answer["structured"]["notes"] = answer["structured"].get("notes", []) + notes
    elif not is_rendered:
        answer["notes"] += notes
    about = answer.pop("table", None)
    if about is not None:
        data = Rows(marshal.loads(rows))
        data.total, data.path, data.notes = about["total_rows"], about.get("path"), answer["notes"]
        answer["data"] = data
    return answer


def _is_reference(table) -> bool:
    if not isinstance(table, dict):
        return False
    return any(isinstance(table.get(key), str) and table.keys() <= known for key, known in _REFERENCES.items())


def _is_rows(value) -> bool:
    """Whether it is a table among others in one object."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _packed(table) -> tuple[str, list[bytes], list[str]]:
    """How a table is written, its bytes in parts, and what was changed for that."""
    if isinstance(table, (bytes, bytearray, int, float)) or not isinstance(table, Iterable):
        raise TypeError(f"a table is a list of dicts or the name of a file, not {type(table).__name__}")
    # Results of tools are lists of a kind of their own, and rows may come from a generator.
    if not isinstance(table, Mapping) and type(table) is not list:
        table = list(table)
    try:
        return "marshal", _marshalled(table), []
    except ValueError:
        # Dates, decimals, objects: as they would be in a result.
        text, notes = encode.to_json(_with_numbers(table))
        return "json", [text.encode()], [note.removeprefix("result: ") for note in notes]


def _marshalled(table) -> list[bytes]:
    """Long lists in parts: the host reads several beside each other, and none has to grow much while it is written."""
    if not isinstance(table, list) or len(table) <= _PART_ROWS:
        return [marshal.dumps(table)]
    return [marshal.dumps(table[start:start + _PART_ROWS]) for start in range(0, len(table), _PART_ROWS)]


def _with_numbers(value):
    """Decimals become floats, if those are written with the same digits: tables count with them."""
    if isinstance(value, (list, tuple)):
        return [_with_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    kind = type(value)
    if kind.__module__ == "decimal" and kind.__name__ == "Decimal" and value.is_finite():
        number = float(value)
        return number if kind(repr(number)) == value else value
    return value


def _plain(parameter):
    """Dates, decimals and sets, which may be compared with, as JSON has them; anything else as it is."""
    if isinstance(parameter, Mapping):
        return {key: _plain(item) for key, item in parameter.items()}
    if isinstance(parameter, (list, tuple, set, frozenset)):
        return [_plain(item) for item in parameter]
    kind = type(parameter)
    if kind.__module__ == "datetime" and hasattr(parameter, "isoformat"):
        return parameter.isoformat()
    if kind.__module__ == "decimal" and kind.__name__ == "Decimal":
        number = _with_numbers(parameter)
        return str(number) if number is parameter else number
    return parameter
