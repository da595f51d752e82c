"""A session's variables as bytes: what a notebook keeps between its cells.

The variables are pickled one after another by one pickler, so that what they share is written
once and stays shared. What cannot be kept is left out by name.
"""

import ast
import builtins
import functools
import gc
import hashlib
import importlib.util
import io
import json
import pickle
import pickletools
import sys
from types import CodeType, FunctionType, ModuleType

from . import byvalue
from .errors import remember_source

MOST = 64 << 20
_MARK = b"narrows session 1\n"
# The end of a state whose variables the host can tell (`sandbox/src/session.rs`): their names as JSON, the
# length of that, and this. No other state ends with it.
_NAMES_MARK = b"\nnames of variables\n"
# Of the names; the host reads them before each program.
_MOST_NAMES = 256 << 10
_PYTHON = f"{sys.implementation.cache_tag} {importlib.util.MAGIC_NUMBER.hex()}"
# Of the digest, and of the length of what follows it.
_DIGEST, _LENGTH = 32, 8
# What a program is given anew, whatever it did to them.
_OF_THE_MODULE = {
    "__annotate__", "__annotations__", "__builtins__", "__cached__", "__conditional_annotations__", "__doc__",
    "__file__", "__loader__", "__name__", "__package__", "__spec__",
}
_SIMPLE = (str, int, float, bool, bytes, complex, type(None))
# The host keeps 200 bytes, and cuts through no value: it has to see more than that.
_LONGEST_REASON = 1_000
# What every program finds in the builtins; what is there besides was put there by a program of the session.
given_builtins: set[str] = set()


def save(scope: dict, cells: list[tuple[str, str]], given: dict, most: int = MOST) -> tuple[bytes, dict[str, str]]:
    """Gives the state, and why what could not be kept was not.

    The cells are the file names and sources of the calls so far. What the host gave the program
    (`given`) is not kept, unless the program has put something else in its place.
    """
    lost: dict[str, str] = {}
    variables = {}
    for name, value in list(scope.items()):
        if type(name) is not str:
            lost[f"<{_type_name(name)}>"] = "the name of a variable is text"
        elif name not in _OF_THE_MODULE and name[:1] != "<" and not (name in given and given[name] is value):
            variables[name] = byvalue.SCOPE if value is scope else value
    # What the program does to read its own objects may use its modules, functions and classes.
    variables = dict(sorted(variables.items(), key=lambda item: _rank(type(item[1]))))
    sizes, chunks, files = _written(variables, scope, lost, most)
    # A class does not say where it is from.
    cells = [(file, source) for file, source in cells if file in files or "class " in source]
    about = pickle.dumps({"python": _PYTHON, "lost": lost, "cells": cells, "sizes": sizes}, 5)
    parts = [len(about).to_bytes(_LENGTH), about, *chunks, *_names(scope, given)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join((_MARK, digest.digest(), *parts)), lost


def _names(scope: dict, given: dict) -> list[bytes]:
    """All that the next program finds bound if the isolate is kept, for the host: it looks at programs first."""
    own = (name for name in scope if type(name) is str and not (name in given and given[name] is scope[name]))
    found = {name for name in own if name[:1] != "<"} - _OF_THE_MODULE
    found |= {name for name in vars(builtins) if type(name) is str} - (given_builtins or vars(builtins).keys())
    names = json.dumps(sorted(found)).encode()
    return [names, len(names).to_bytes(_LENGTH), _NAMES_MARK] if len(names) <= _MOST_NAMES else []


def restore(state: bytes, scope: dict) -> dict[str, str]:
    """Brings the variables back, and gives why some could not be kept or brought back.

    The scope is that of the module `__main__` which the program is going to run in.
    """
    contents = _contents(state)
    lost = dict(contents["lost"])
    for file, source in contents["cells"]:
        remember_source(file, source)
    before = dict(scope)
    values, failed = _read(contents, scope)
    scope.clear()
    scope.update(before | values)
    if failed and contents["python"] != _PYTHON:
        _define_again(contents["cells"], scope, failed)
    return lost | failed


def cells(state: bytes) -> list[tuple[str, str]]:
    """The sources that a state came with, for the next `save`."""
    return _contents(state)["cells"]


def _contents(state: bytes) -> dict:
    view = memoryview(state)
    begin = len(_MARK) + _DIGEST
    if view[: len(_MARK)] != _MARK:
        raise ValueError("this is no state of a session, or one of another version; begin a new session")
    if view[len(_MARK) : begin] != hashlib.sha256(view[begin:]).digest():
        raise ValueError("the state of the session is damaged; begin a new session")
    end = begin + _LENGTH + int.from_bytes(view[begin : begin + _LENGTH])
    return pickle.loads(view[begin + _LENGTH : end]) | {"data": view[end:]}


def _rank(kind: type) -> int:
    return 0 if issubclass(kind, ModuleType) else 1 if issubclass(kind, (FunctionType, type)) else 2


class _Sink:
    """Takes what is written, up to a number of bytes; counts the rest."""

    def __init__(self, most: int):
        self.most = most
        self.size = 0
        self.chunks: list[bytes] = []

    def write(self, data) -> None:
        self.size += len(data)
        if self.size <= self.most:
            self.chunks.append(bytes(data))


def _written(variables: dict, scope: dict, lost: dict, most: int) -> tuple[dict[str, int], list[bytes], set[str]]:
    """Writes all that can be; what cannot goes from `variables` to `lost`."""
    tried_alone = False
    while True:
        sink = _Sink(most)
        pickler = byvalue.Pickler(sink, scope)
        sizes = {}
        for name, value in variables.items():
            before = sink.size
            try:
                pickler.dump(value)
            except BaseException as error:
                lost[name] = _why_not_kept(value, error)
                break
            sizes[name] = sink.size - before
        else:
            if sink.size <= most:
                return sizes, sink.chunks, pickler.files
            _drop_largest(variables, sizes, lost, most)
            continue
        # A pickler that has failed remembers objects that it did not write. Before the next
        # one, find whatever else would make it fail.
        del variables[name]
        if not tried_alone:
            tried_alone = True
            for name, value in list(variables.items()):
                try:
                    byvalue.Pickler(_Sink(0), scope).dump(value)
                except BaseException as error:
                    lost[name] = _why_not_kept(value, error)
                    del variables[name]


def _drop_largest(variables: dict, sizes: dict[str, int], lost: dict, most: int) -> None:
    excess = sum(sizes.values()) - most
    for name in sorted(sizes, key=sizes.get, reverse=True):
        if excess <= 0:
            break
        excess -= sizes[name]
        lost[name] = f"it takes {_megabytes(sizes[name])}, and a session keeps {_megabytes(most)} in all"
        del variables[name]


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB" if size >= 100_000 else f"{size} bytes"


def _why_not_kept(value, error: BaseException) -> str:
    # Not `isinstance`, which asks the object, and that may lie or raise.
    if type(error) is byvalue.NotKept:
        return f"{error.what} cannot be kept" if error.thing is value else f"it holds {error.what}, which cannot be kept"
    if type(error) is RecursionError:
        return "it is nested too deeply to be kept"
    return f"an object of type {_type_name(value)} could not be kept ({_said(error)})"


def _said(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:
        text = _type_name(error)
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…"


def _type_name(value) -> str:
    return type.__dict__["__name__"].__get__(type(value))


class _Gone:
    """Stands for something that a state refers to and that is not there any more."""

    def __init__(self, reason: str):
        self.reason = reason


class _Finding:
    """How both unpicklers find what a state names: what is missing is noted and does not end the reading."""

    def prepare(self, scope: dict, make_code):
        self.scope = scope
        self.make_code = make_code
        self.gone: list[_Gone] = []
        return self

    def find_class(self, module: str, name: str):
        if module != byvalue.__name__:
            return self._attempt(super().find_class, module, name)
        if name == "SCOPE":
            return self.scope
        made = self.make_code if name == "make_code" else getattr(byvalue, name)
        return functools.partial(self._attempt, made) if name in _MAY_BE_GONE else functools.partial(_unless_gone, made)

    def _attempt(self, make, *args):
        try:
            return _unless_gone(make, *args)
        except Exception as error:
            self.gone.append(_Gone(_said(error)))
            return self.gone[-1]


_MAY_BE_GONE = {"make_module", "make_named", "make_code", "make_function"}


def _unless_gone(make, *args):
    return next((arg for arg in args if type(arg) is _Gone), None) or make(*args)


class _Reader(_Finding, pickle.Unpickler):
    """The fast one. After a failure it cannot go on."""


class _CarefulReader(_Finding, pickle._Unpickler):
    """The slow one: it can step over a variable that cannot be read."""


def _read(contents: dict, scope: dict) -> tuple[dict, dict[str, str]]:
    make_code = byvalue.make_code if contents["python"] == _PYTHON else _Compiled(contents["cells"]).find
    reader = _Reader(io.BytesIO(contents["data"])).prepare(scope, make_code)
    values, failed = {}, {}
    try:
        for name in contents["sizes"]:
            values[name] = scope[name] = reader.load()
    except BaseException:
        values, failed, reader = _read_carefully(contents, scope, make_code)
    if reader.gone or failed:
        for name, gone in _reaching_gone(values, scope).items():
            failed[name] = gone.reason
            del values[name]
    return values, failed


def _read_carefully(contents: dict, scope: dict, make_code) -> tuple[dict, dict[str, str], _CarefulReader]:
    file = io.BytesIO(contents["data"])
    reader = _CarefulReader(file).prepare(scope, make_code)
    values, failed = {}, {}
    begin = 0
    for name, size in contents["sizes"].items():
        known, missing = len(reader.memo), len(reader.gone)
        file.seek(begin)
        begin += size
        try:
            values[name] = scope[name] = reader.load()
        except BaseException as error:
            failed[name] = reader.gone[missing].reason if len(reader.gone) > missing else _said(error)
            _forget_incomplete(reader, known, bytes(contents["data"][begin - size : begin]), _Gone(failed[name]))
    return values, failed, reader


def _forget_incomplete(reader: _CarefulReader, known: int, data: bytes, gone: _Gone) -> None:
    """What others share with a variable that failed may be half made; they must not get it."""
    after = known + sum(code.name == "MEMOIZE" for code, _, _ in pickletools.genops(data))
    for number in range(known, after):
        value = reader.memo.get(number, gone)
        if not _is_named(value) and not any(type(value) is kind for kind in (*_SIMPLE, functools.partial)):
            reader.memo[number] = gone


def _reaching_gone(values: dict, scope: dict) -> dict[str, _Gone]:
    """The variables that refer to something missing, however indirectly."""
    borders = {id(scope), *(id(vars(module)) for module in sys.modules.values() if isinstance(module, ModuleType))}
    found = {}
    for name, value in values.items():
        seen, waiting = set(borders), [value]
        while waiting:
            thing = waiting.pop()
            if type(thing) is _Gone:
                found[name] = thing
                break
            if id(thing) not in seen and not _is_named(thing):
                seen.add(id(thing))
                waiting.extend(gc.get_referents(thing))
    return found


def _is_named(thing) -> bool:
    """Whether a state has this by its name only."""
    kind = type(thing)
    if issubclass(kind, (type, FunctionType)):
        try:
            return byvalue.importable(thing)
        except BaseException:  # a metaclass of the program
            return False
    return issubclass(kind, ModuleType)


class _Compiled:
    """Finds code in the sources when it was compiled by another version of Python."""

    def __init__(self, cells: list[tuple[str, str]]):
        self.sources = dict(cells)
        self.codes: dict[str, dict] = {}

    def find(self, data: bytes, file: str, qualname: str, line: int) -> CodeType:
        if file not in self.codes:
            self.codes[file] = self._compile(file)
        found = self.codes[file].get((qualname, line), [])
        if len(found) != 1:
            raise ValueError(f"{qualname} was made by another version of Python; define it again")
        return found[0]

    def _compile(self, file: str) -> dict:
        codes: dict = {}
        if file in self.sources:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            waiting = [compile(self.sources[file], file, "exec", flags=flags, dont_inherit=True)]
            while waiting:
                code = waiting.pop()
                codes.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
                waiting.extend(inner for inner in code.co_consts if isinstance(inner, CodeType))
        return codes


def _define_again(cells: list[tuple[str, str]], scope: dict, failed: dict[str, str]) -> None:
    """Runs the definitions of functions and classes that could not be brought back as they were."""
    for file, source in cells:
        try:
            nodes = ast.parse(source, file).body
        except SyntaxError:  # it is none to this version
            continue
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in failed:
                try:
                    exec(compile(ast.Module([node], []), file, "exec", dont_inherit=True), scope)
                except Exception:  # it needs something that is lost as well
                    continue
                del failed[node.name]
