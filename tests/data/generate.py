#!/usr/bin/env python3
"""Writes the test data of this directory from `source/`.

    python3 tests/data/generate.py            # writes catalog/*.json, queries.json and pii.json
    python3 tests/data/generate.py --check    # fails if one of them is not what it would write

All servers, products, people and numbers are made up. The JSON files are committed, so that tests
read them without Python; `--check` is part of the tests (crates/testkit).

## source/catalog/SERVER.txt

One file for each server. `//` starts a comment. First the settings of the file:

    style: zod                              how the schemas look, see STYLES
    param limit: integer(1..100) = 20; …    a parameter for `- @limit`
    type Money                              an object for `#Money`, with a `- ` line for each field

Then the tools:

    ## create_issue [write]                 the name (in JSON quotes if it is odd) and flags
    Opens an issue. …                       the description, line by line
    - title*: string(1..200); A short text  a parameter; `*` marks those that are required
    - labels: string[]; …                   `[]` is a list, `?` allows null, `map(T)` has any keys
    - state: enum(open|closed) = "open"; …  a default, as JSON
    - odd: {"type": ["string", "integer"]}  a schema, as JSON
    - @limit                                what `param` says
    > number*: integer; …                   a field of the result
    >> #Issue[]                             or a result that is no object
    !input {…}                              the whole input schema, as JSON
    !output {…}                             the whole output schema, as JSON
    !extra {…}                              more keys of the tool, as JSON; null removes one

## source/queries.txt

    # SET
    a question | server.tool server.tool2 | another.tool

Each `|` starts a group; any tool of a group is a right answer for it. Questions without groups,
in the set `unanswerable`, have no right answer.

## source/pii.txt

One text on each line (`\\n` is a line break), with labels: `Write to [EMAIL ada@example.com].`
"""

import argparse
import json
import re
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent
SOURCE = DATA / "source"
SCALARS = ("string", "integer", "number", "boolean")
FORMATS = ("date", "date-time", "time", "duration", "uri", "email", "uuid", "ipv4", "hostname")
HINTS = {
    "read": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
    "write": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False},
    "set": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
    "delete": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True},
}
# How schemas are written by the libraries that most servers are made with: by zod in TypeScript, by
# pydantic in Python (with what parameters mean in the schema, or in the docstring), and by hand.
STYLES = ("zod", "pydantic", "docstring", "plain")


class Problem(Exception):
    """Something in the source that cannot be understood."""


def words(name):
    return " ".join(part for part in re.split(r"[^0-9A-Za-z]+|(?<=[a-z])(?=[A-Z])", name) if part)


def quoted(text):
    """A name at the start of a text, in JSON quotes or without, and the rest."""
    if text.startswith('"'):
        name, end = json.JSONDecoder().raw_decode(text)
        return name, text[end:]
    match = re.match(r"[^\s:*?]+", text)
    if not match:
        raise Problem(f"no name in {text!r}")
    return match[0], text[match.end():]


class Field:
    """`name*: type = default; description`"""

    def __init__(self, line):
        self.name, rest = quoted(line)
        self.required = rest.startswith("*")
        rest = rest.removeprefix("*")
        if not rest.startswith(":"):
            raise Problem(f"no type in {line!r}")
        self.type, rest = parse_type(rest[1:].strip())
        rest = rest.strip()
        self.default = None
        self.has_default = rest.startswith("=")
        if self.has_default:
            rest = rest[1:].strip()
            self.default, end = json.JSONDecoder().raw_decode(rest)
            rest = rest[end:].strip()
        if rest and not rest.startswith(";"):
            raise Problem(f"cannot read {rest!r} in {line!r}")
        self.description = rest[1:].strip()


def parse_type(text):
    """A type expression at the start of a text, and the rest.

    Types are tuples: ("schema", JSON), ("ref", name), ("list", type, bounds), ("map", type),
    ("null", type).
    """
    if text.startswith("{"):
        schema, end = json.JSONDecoder().raw_decode(text)
        found, rest = ("schema", schema), text[end:]
    elif text.startswith("#"):
        match = re.match(r"#(\w+)", text)
        found, rest = ("ref", match[1]), text[match.end():]
    elif text.startswith("enum("):
        end = text.index(")")
        found, rest = ("schema", {"type": "string", "enum": text[5:end].split("|")}), text[end + 1:]
    elif text.startswith("map("):
        inner, rest = parse_type(text[4:])
        if not rest.startswith(")"):
            raise Problem(f"no end of the map in {text!r}")
        found, rest = ("map", inner), rest[1:]
    else:
        match = re.match(r"[a-z0-9-]+", text)
        if not match:
            raise Problem(f"no type in {text!r}")
        name, rest = match[0], text[match.end():]
        schema = {"type": "string", "format": name} if name in FORMATS else {"type": name}
        if name == "any":
            schema = {}
        elif name not in FORMATS + SCALARS + ("object", "null"):
            raise Problem(f"there is no type {name!r}")
        bounds, rest = parse_bounds(rest)
        keys = ("minLength", "maxLength") if name == "string" else ("minimum", "maximum")
        schema |= {key: bound for key, bound in zip(keys, bounds) if bound is not None}
        found = ("schema", schema)
    while rest[:2] == "[]" or rest[:1] == "?":
        if rest[0] == "?":
            found, rest = ("null", found), rest[1:]
        else:
            bounds, rest = parse_bounds(rest[2:])
            found = ("list", found, bounds)
    return found, rest


def parse_bounds(text):
    match = re.match(r"\((-?[\d.]*?)\.\.(-?[\d.]*)\)", text)
    if not match:
        return (None, None), text
    return tuple(json.loads(bound) if bound else None for bound in match.groups()), text[match.end():]


class Server:
    """The tools of one file."""

    def __init__(self, path):
        self.name = path.stem
        self.style = None
        self.params, self.types, self.tools = {}, {}, []
        self.current = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                self.read(line)
            except (Problem, ValueError, KeyError) as error:
                sys.exit(f"{path}:{number}: {error}")
        if self.style not in STYLES:
            sys.exit(f"{path}: no style of {', '.join(STYLES)}")
        names = [tool.name for tool in self.tools]
        if len(set(names)) != len(names) or not names:
            sys.exit(f"{path}: no tools, or one of them twice")

    def read(self, line):
        tool = self.tools[-1] if self.tools else None
        if tool and tool.open_json:
            tool.continue_json(line)
        elif line.startswith("//") or not line.strip():
            self.current = None if not line.strip() else self.current
        elif line.startswith("## "):
            self.tools.append(Tool(line[3:]))
        elif line.startswith("style: "):
            self.style = line[7:]
        elif line.startswith("param "):
            field = Field(line[6:])
            self.params[field.name] = field
        elif line.startswith("type "):
            self.current = self.types[line[5:].strip()] = []
        elif self.current is not None:
            self.current.append(Field(line.removeprefix("- ")))
        elif tool is None:
            raise Problem(f"cannot read {line!r}")
        elif line.startswith("- @"):
            tool.fields += [self.params[name.removeprefix("@")] for name in line[2:].split()]
        else:
            tool.read(line)

    def json(self):
        return [Writer(self, tool).tool() for tool in self.tools]


class Tool:
    """A tool as it is written in the source."""

    def __init__(self, heading):
        self.name, rest = quoted(heading)
        match = re.fullmatch(r"\s*(?:\[([a-z ]*)\])?", rest)
        if not match:
            raise Problem(f"cannot read {rest!r}")
        self.flags = (match[1] or "").split()
        self.description, self.fields, self.results = [], [], []
        self.wrapped, self.open_json = None, None
        self.blocks = {}

    def read(self, line):
        if line.startswith("!"):
            self.open_json = line[1:].split(" ", 1)[0]
            self.blocks[self.open_json] = ""
            self.continue_json(line[2 + len(self.open_json):])
        elif line.startswith("- "):
            self.fields.append(Field(line[2:]))
        elif line.startswith(">> "):
            self.wrapped, rest = parse_type(line[3:])
            if rest:
                raise Problem(f"cannot read {rest!r}")
        elif line.startswith("> "):
            self.results.append(Field(line[2:]))
        else:
            self.description.append(line)

    def continue_json(self, line):
        """Adds a line to a block, which ends where its JSON does."""
        text = self.blocks[self.open_json] + line
        try:
            self.blocks[self.open_json] = json.loads(text)
            self.open_json = None
        except json.JSONDecodeError:
            if not line.strip():
                raise
            self.blocks[self.open_json] = text + "\n"


class Writer:
    """A tool as its server would list it."""

    def __init__(self, server, tool):
        self.server, self.source = server, tool
        self.has_docstrings = server.style == "docstring"
        self.style = "pydantic" if self.has_docstrings else server.style
        self.used = {}

    def tool(self):
        source = self.source
        tool = {"name": source.name}
        if self.style == "zod":
            tool["title"] = words(source.name).capitalize()
        if source.description:
            tool["description"] = "\n".join(source.description + self.docstring())
        tool["inputSchema"] = source.blocks.get("input") or self.document(
            source.fields, f"{source.name}Arguments")
        output = source.blocks.get("output") or self.output()
        if output:
            tool["outputSchema"] = output
        annotations = self.annotations()
        if annotations:
            tool["annotations"] = annotations
        if self.style == "zod":
            tool["execution"] = {"taskSupport": "forbidden"}
        elif self.style == "pydantic":
            tool["_meta"] = {"_fastmcp": {"tags": []}}
        for key, value in source.blocks.get("extra", {}).items():
            if value is None:
                tool.pop(key, None)
            else:
                tool[key] = value
        return tool

    def docstring(self):
        """What the description says of the parameters."""
        fields = self.source.fields if self.has_docstrings else []
        lines = [f"    {field.name}: {field.description}" for field in fields]
        return ["", "Args:", *lines] if lines else []

    def annotations(self):
        hints = {}
        for flag in self.source.flags:
            if flag in HINTS:
                hints |= HINTS[flag]
            elif flag == "world":
                hints["openWorldHint"] = True
            elif flag != "deprecated":
                raise Problem(f"there is no flag {flag!r}")
        if hints and self.style != "plain":
            hints.setdefault("openWorldHint", False)
        if hints and self.style == "zod":
            return {"title": words(self.source.name).capitalize(), **hints}
        return hints

    def output(self):
        source = self.source
        if source.results:
            return self.document(source.results, f"{source.name}Output")
        if source.wrapped or self.style == "pydantic":
            field = Field("result*: string")
            field.type = source.wrapped or field.type
            return self.document([field], f"{source.name}Output") | {"x-fastmcp-wrap-result": True}
        return None

    def document(self, fields, title):
        """A whole schema, with the definitions that it refers to."""
        self.used = {}
        schema = self.object(fields)
        if self.style == "pydantic":
            schema["title"] = title
            if self.used:
                schema = {"$defs": dict(sorted(self.used.items())), **schema}
        elif self.style == "zod":
            schema |= {"additionalProperties": False,
                       "$schema": "http://json-schema.org/draft-07/schema#"}
        if "deprecated" in self.source.flags:
            schema["deprecated"] = True
        return schema

    def object(self, fields):
        properties = {field.name: self.property(field) for field in fields}
        schema = {"type": "object", "properties": properties}
        required = [field.name for field in fields if field.required]
        if required:
            schema["required"] = required
        return schema

    def property(self, field):
        found = field.type
        is_absent = self.style == "pydantic" and not field.required and not field.has_default
        # In Python a parameter that may be missing is None; schemas as JSON say all there is to say.
        is_json = found[0] == "schema" and found[1].get("type") not in SCALARS
        if is_absent and found[0] != "null" and not is_json:
            found = ("null", found)
        schema = dict(self.schema(found))
        if self.style == "pydantic":
            schema["title"] = words(field.name).title()
        if field.description and not self.has_docstrings:
            schema["description"] = field.description
        if field.has_default:
            schema["default"] = field.default
        elif is_absent and found[0] == "null":
            schema["default"] = None
        return schema

    def schema(self, found):
        kind, inner = found[0], found[1]
        if kind == "schema":
            return inner
        if kind == "ref":
            return self.reference(inner)
        if kind == "map":
            return {"type": "object", "additionalProperties": self.schema(inner)}
        if kind == "list":
            bounds = zip(("minItems", "maxItems"), found[2])
            limits = {key: bound for key, bound in bounds if bound is not None}
            return {"type": "array", "items": self.schema(inner), **limits}
        schema = self.schema(inner)
        if self.style == "plain" and isinstance(schema.get("type"), str) and "enum" not in schema:
            return schema | {"type": [schema["type"], "null"]}
        return {"anyOf": [schema, {"type": "null"}]}

    def reference(self, name):
        fields = self.server.types[name]
        if self.style != "pydantic":
            return self.object(fields) | ({"additionalProperties": False} if self.style == "zod" else {})
        if name not in self.used:
            self.used[name] = {}
            self.used[name] = self.object(fields) | {"title": name}
        return {"$ref": f"#/$defs/{name}"}


def text_of(schema):
    return schema.get("description") or "" if isinstance(schema, dict) else ""


def searched(servers):
    """The tools as search sees them, numbered in the order of the catalog."""
    for name, tools in servers.items():
        for tool in tools:
            properties = (tool.get("inputSchema") or {}).get("properties") or {}
            yield {
                "server": name,
                "name": tool["name"],
                "desc": tool.get("description") or "",
                "params": [[param, text_of(schema)] for param, schema in properties.items()],
            }


def queries(servers):
    tools = [{"id": number, **tool} for number, tool in enumerate(searched(servers), 1)]
    ids = {f"{tool['server']}.{tool['name']}": tool["id"] for tool in tools}
    asked, unanswerable, current = [], [], None
    path = SOURCE / "queries.txt"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# "):
            current = line[2:]
        elif line.strip() and not line.startswith("//"):
            query, *groups = (part.strip() for part in line.split("|"))
            unknown = [name for group in groups for name in group.split() if name not in ids]
            if unknown or bool(groups) == (current == "unanswerable"):
                sys.exit(f"{path}:{number}: unknown or missing tools: {unknown}")
            if groups:
                relevant = [[ids[name] for name in group.split()] for group in groups]
                asked.append({"set": current, "query": query, "rel": relevant})
            else:
                unanswerable.append(query)
    return {"tools": tools, "queries": asked, "unanswerable": unanswerable}


def labelled_texts():
    label = re.compile(r"\[([A-Z_]+) ([^\]]+)\]")
    texts = []
    for line in (SOURCE / "pii.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("//"):
            continue
        line = line.replace("\\n", "\n")
        text, spans, end = "", [], 0
        for match in label.finditer(line):
            text += line[end:match.start()]
            spans.append({"entity_type": match[1], "entity_value": match[2],
                          "start_position": len(text), "end_position": len(text) + len(match[2])})
            text += match[2]
            end = match.end()
        texts.append({"full_text": text + line[end:], "spans": spans})
    return texts


def lines(items):
    """A JSON list with one item on each line, so that differences can be read."""
    rows = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items)
    return "[\n" + ",\n".join(rows) + "\n]"


def files():
    """What belongs into each file."""
    sources = sorted((SOURCE / "catalog").glob("*.txt"))
    servers = {server.name: server.json() for server in map(Server, sources)}
    for name, tools in servers.items():
        yield DATA / "catalog" / f"{name}.json", f'{{"tools":{lines(tools)}}}\n'
    labelled = queries(servers)
    parts = (f'"{key}":{lines(value)}' for key, value in labelled.items())
    yield DATA / "queries.json", "{" + ",\n".join(parts) + "}\n"
    yield DATA / "pii.json", lines(labelled_texts()) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if something differs")
    check = parser.parse_args().check
    wanted = dict(files())
    stale = [path for path in (DATA / "catalog").glob("*.json") if path not in wanted]
    stale += [path for path, text in wanted.items()
              if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        names = ", ".join(sorted(str(path.relative_to(DATA)) for path in stale))
        sys.exit(f"not what tests/data/source says: {names}; run tests/data/generate.py")
    if not check:
        (DATA / "catalog").mkdir(exist_ok=True)
        for path in stale:
            path.unlink(missing_ok=True)
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
