"""Pickles what plain pickle only knows by name: functions, classes and modules of a program.

Each `_keep_…` says how a kind of object is taken apart, and each `make_…` or `fill_…` puts it
together again. Objects that can refer to themselves are made empty first and filled afterwards.
"""

import abc
import asyncio
import contextvars
import dataclasses
import enum
import functools
import importlib
import io
import marshal
import pickle
import socket
import sqlite3
import sys
import threading
import types
import typing
import weakref
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType

from .calls import LimitError, RecoveredDict, RecoveredList, ToolError

# The flag of types that a program can make.
_HEAP_TYPE = 1 << 9
# Made anew with the class, or from the others.
_OF_THE_TYPE = {"__dict__", "__weakref__", "_abc_impl", "__annotations_cache__"}
# Cannot be set afterwards, or something looks at it when the class is made.
_FROM_THE_BEGINNING = ("__module__", "__orig_bases__", "__class__", "__name__")
_ABOUT_FUNCTIONS = ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__")
# What cannot outlive the call that made it, in words.
_BOUND_TO_A_CALL = (
    (types.GeneratorType, "a generator"),
    (types.AsyncGeneratorType, "an asynchronous generator"),
    (types.CoroutineType, "a coroutine that was not awaited"),
    (asyncio.Future, "a running task or future"),
    (asyncio.AbstractEventLoop, "an event loop"),
    (io.IOBase.__base__, "an open file"),
    ((sqlite3.Connection, sqlite3.Cursor), "a database connection"),
    (socket.SocketType, "a socket"),
    ((type(threading.Lock()), type(threading.RLock())), "a lock"),
    ((types.FrameType, types.TracebackType), "a traceback"),
    (weakref.ReferenceType, "a weak reference"),
    ((contextvars.ContextVar, contextvars.Token, contextvars.Context), "a context variable"),
)
_IN_MEMORY = (io.StringIO, io.BytesIO)
_STREAMS = ("stdout", "stderr", "stdin")


class NotKept(Exception):
    """An object that cannot be kept, and what it is."""

    def __init__(self, thing, what: str):
        super().__init__(what)
        self.thing = thing
        self.what = what


class _Scope:
    """Stands for the program's variables; who reads it puts those of the new program in its place."""

    def __reduce__(self) -> str:
        return "SCOPE"


SCOPE = _Scope()

# Marks of `dataclasses`, which are compared by identity.
_MARKS = {
    id(value): ("dataclasses", name)
    for name, value in vars(dataclasses).items()
    if type(value).__module__ == "dataclasses"
}
_KINDS_OF_MARKS = {type(value) for value in vars(dataclasses).values() if id(value) in _MARKS}
# Types that are not where they say they are.
_MISPLACED = {id(value): ("types", name) for name, value in vars(types).items() if isinstance(value, type)}
_MISPLACED |= {id(own): ("_narrows.calls", own.__name__) for own in (ToolError, RecoveredDict, RecoveredList, LimitError)}


class Pickler(pickle.Pickler):
    """Writes objects one after another; what they share is written once."""

    def __init__(self, file, scope: dict):
        super().__init__(file, 5)
        self.scope = scope
        # The files whose code was written.
        self.files: set[str] = set()
        self._ways: dict = {}
        self._foreign: dict[int, tuple[dict, dict]] = {}

    def reducer_override(self, thing):
        kind = type(thing)
        try:
            way = self._ways[kind]
        except KeyError:
            way = self._ways[kind] = _way(kind)
        return way(self, thing) if way is not None else NotImplemented

    def globals_of(self, function: FunctionType):
        """The program's scope, the name of a module, or the dict that the code was run in."""
        scope = function.__globals__
        if scope is self.scope:
            return SCOPE
        name = scope.get("__name__")
        if name != "__main__" and isinstance(found := sys.modules.get(name), ModuleType) and vars(found) is scope:
            return name
        if id(scope) not in self._foreign:
            copied = {key: value for key, value in scope.items() if key != "__builtins__"}
            self._foreign[id(scope)] = scope, copied
        return self._foreign[id(scope)][1]


def _way(kind: type):
    """How objects of a type are taken apart; None is pickle's own way."""
    if kind in _WAYS:
        return _WAYS[kind]
    for base, way in _WAYS_BY_BASE.items():
        if issubclass(kind, base):
            return way
    for bases, what in _BOUND_TO_A_CALL:
        if issubclass(kind, bases) and kind not in _IN_MEMORY:
            return functools.partial(_refuse, what)
    return _keep_mark if kind in _KINDS_OF_MARKS else None


def _refuse(what: str, pickler: Pickler, thing):
    for name in _STREAMS:
        if thing is getattr(sys, name, None):
            return getattr, (sys, name)
    raise NotKept(thing, what)


def importable(thing) -> bool:
    """Whether a function or class is where its name says."""
    module = thing.__module__
    if type(module) is not str or module == "__main__" or not isinstance(sys.modules.get(module), ModuleType):
        return False
    found = sys.modules[module]
    for part in getattr(thing, "__qualname__", thing.__name__).split("."):
        found = vars(found).get(part) if isinstance(found, (ModuleType, type)) else None
    return found is thing or type(found) is staticmethod and found.__func__ is thing


def _keep_mark(pickler: Pickler, mark):
    return make_named, _MARKS[id(mark)]


def make_named(module: str, name: str):
    return vars(importlib.import_module(module))[name]


# Modules


def _keep_module(pickler: Pickler, module: ModuleType):
    name = module.__name__
    if vars(module) is pickler.scope:
        return make_module, ("__main__",)
    if sys.modules.get(name) is not module:
        raise NotKept(module, "a module that the program made")
    return make_module, (name,)


def make_module(name: str) -> ModuleType:
    return importlib.import_module(name)


# Functions


def _keep_code(pickler: Pickler, code: CodeType):
    pickler.files.add(code.co_filename)
    return make_code, (marshal.dumps(code), code.co_filename, code.co_qualname, code.co_firstlineno)


def make_code(data: bytes, file: str, qualname: str, line: int) -> CodeType:
    return marshal.loads(data)


def _keep_function(pickler: Pickler, function: FunctionType):
    if importable(function):
        return NotImplemented
    code = function.__code__
    cells, contents = [], {}
    for index, (name, cell) in enumerate(zip(code.co_freevars, function.__closure__ or ())):
        try:
            content = cell.cell_contents
        except ValueError:  # a variable that has no value yet
            cells.append(cell)
            continue
        if name == "__classdict__":
            # The whole body of a class, of which annotations use a few names.
            content = {name: content[name] for name in (*code.co_names, *code.co_freevars) if name in content}
            cell = CellType()
        cells.append(cell)
        contents[index] = content
    about = {name: getattr(function, name) for name in _ABOUT_FUNCTIONS}
    if (annotate := getattr(function, "__annotate__", None)) is not None:
        about["__annotate__"] = annotate  # not evaluated: it may name what is not there yet
    elif function.__annotations__:
        about["__annotations__"] = function.__annotations__
    if getattr(function, "__type_params__", ()):
        about["__type_params__"] = function.__type_params__
    made_of = code, pickler.globals_of(function), tuple(cells)
    return make_function, made_of, (about, vars(function), contents), None, None, fill_function


def make_function(code: CodeType, scope, cells: tuple) -> FunctionType:
    if isinstance(scope, str):
        scope = vars(importlib.import_module(scope))
    return FunctionType(code, scope, closure=cells)


def fill_function(function: FunctionType, state) -> None:
    about, attributes, contents = state
    for name, value in about.items():
        setattr(function, name, value)
    vars(function).update(attributes)
    for index, content in contents.items():
        function.__closure__[index].cell_contents = content


def _keep_cell(pickler: Pickler, cell: CellType):
    return CellType, ()  # the functions that use it fill it


def _keep_method(pickler: Pickler, method: MethodType):
    return MethodType, (method.__func__, method.__self__)


def _keep_wrapper(pickler: Pickler, wrapper):
    return type(wrapper), (wrapper.__func__,)


def _keep_property(pickler: Pickler, prop: property):
    return property, (prop.fget, prop.fset, prop.fdel, prop.__doc__)


def _keep_cached(pickler: Pickler, function):
    if importable(function):
        return NotImplemented
    attributes = {name: value for name, value in vars(function).items() if name != "__wrapped__"}
    return make_cached, (function.__wrapped__, function.cache_parameters()), attributes


def make_cached(function, parameters: dict):
    return functools.lru_cache(**parameters)(function)


# Classes and their instances


def _keep_class(pickler: Pickler, kind: type):
    if id(kind) in _MISPLACED:
        return make_named, _MISPLACED[id(kind)]
    if importable(kind):
        return NotImplemented
    own = vars(kind)
    if not kind.__flags__ & _HEAP_TYPE:
        raise NotKept(kind, "a type of the interpreter")
    namespace = {name: own[name] for name in _FROM_THE_BEGINNING if name in own}
    namespace["__qualname__"] = kind.__qualname__
    slots = [name for name, value in own.items() if type(value) is types.MemberDescriptorType]
    if "__slots__" in own:
        namespace["__slots__"] = (*slots, *(name for name in ("__dict__", "__weakref__") if name in own))
    left_out = {*_OF_THE_TYPE, *_FROM_THE_BEGINNING, *slots}
    attributes = {name: value for name, value in own.items() if name not in left_out}
    if own.get("__annotate_func__") is None and "__annotations_cache__" in own:
        attributes["__annotations__"] = own["__annotations_cache__"]
    registered = []
    if isinstance(kind, abc.ABCMeta):
        registered = [other for reference in abc._get_dump(kind)[0] if (other := reference()) is not None]
    made_of = type(kind), kind.__name__, kind.__bases__, namespace
    return make_class, made_of, (attributes, registered), None, None, fill_class


def make_class(metaclass: type, name: str, bases: tuple, namespace: dict) -> type:
    """Makes an empty class. The program's own hooks have run when it was made first."""
    hooks = [
        (base, vars(base)["__init_subclass__"])
        for base in {ancestor for base in bases for ancestor in base.__mro__}
        if isinstance(vars(base).get("__init_subclass__"), classmethod)
    ]
    for base, _ in hooks:
        type.__delattr__(base, "__init_subclass__")
    try:
        kind = type.__new__(metaclass, name, bases, namespace)
    finally:
        for base, hook in hooks:
            type.__setattr__(base, "__init_subclass__", hook)
    if isinstance(kind, abc.ABCMeta):
        abc._abc_init(kind)
    return kind


def fill_class(kind: type, state) -> None:
    attributes, registered = state
    for name, value in attributes.items():
        type.__setattr__(kind, name, value)
    for other in registered:
        abc.ABCMeta.register(kind, other)


def _keep_member(pickler: Pickler, member: enum.Enum):
    kind = type(member)
    if importable(kind):
        return NotImplemented
    base = kind._member_type_
    made_of = base.__getnewargs__(member) if hasattr(base, "__getnewargs__") else ()
    return make_member, (kind, base, made_of), dict(vars(member))


def make_member(kind: type, base: type, made_of: tuple):
    return base.__new__(kind, *made_of)


def _keep_exception(pickler: Pickler, error: BaseException):
    kind = type(error)
    if any(isinstance(getattr(kind, name), FunctionType) for name in ("__reduce__", "__reduce_ex__")):
        return NotImplemented
    _, made_of, *state = error.__reduce__()
    return make_exception, (kind, made_of), *state


def make_exception(kind: type, made_of: tuple) -> BaseException:
    """Leaves out the program's `__init__`, whose parameters are often others than `args`."""
    base = next(base for base in kind.__mro__ if not base.__flags__ & _HEAP_TYPE)
    error = base.__new__(kind, *made_of)
    base.__init__(error, *made_of)
    return error


def _keep_view(pickler: Pickler, view: MappingProxyType):
    return MappingProxyType, (dict(view),)


# Types for checkers


def _keep_type_variable(pickler: Pickler, variable):
    if importable(variable):
        return NotImplemented
    keywords = {}
    for name in ("bound", "covariant", "contravariant", "infer_variance"):
        if value := getattr(variable, f"__{name}__", None):
            keywords[name] = value
    if getattr(variable, "has_default", bool)():
        keywords["default"] = variable.__default__
    return make_type_variable, (type(variable), variable.__name__, getattr(variable, "__constraints__", ()), keywords)


def make_type_variable(kind: type, name: str, constraints: tuple, keywords: dict):
    variable = kind(name, *constraints, **keywords)
    variable.__module__ = "__main__"
    return variable


def _keep_new_type(pickler: Pickler, new):
    return NotImplemented if importable(new) else (typing.NewType, (new.__name__, new.__supertype__))


def _keep_alias(pickler: Pickler, alias):
    return make_alias, (alias.__name__, alias.__value__, alias.__type_params__)


def make_alias(name: str, value, parameters: tuple):
    return typing.TypeAliasType(name, value, type_params=parameters)


_WAYS = {
    CodeType: _keep_code,
    FunctionType: _keep_function,
    CellType: _keep_cell,
    MethodType: _keep_method,
    classmethod: _keep_wrapper,
    staticmethod: _keep_wrapper,
    property: _keep_property,
    type(make_cached(len, {})): _keep_cached,
    MappingProxyType: _keep_view,
    typing.TypeVar: _keep_type_variable,
    typing.ParamSpec: _keep_type_variable,
    typing.NewType: _keep_new_type,
}
if hasattr(typing, "TypeAliasType"):
    _WAYS[typing.TypeAliasType] = _keep_alias
_WAYS_BY_BASE = {
    type: _keep_class,
    ModuleType: _keep_module,
    enum.Enum: _keep_member,
    BaseException: _keep_exception,
}
