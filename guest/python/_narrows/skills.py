"""Saved skills: `save_skill`, `load_skill`, `list_skills`, and what the package `skills` is made of."""

import ast
import builtins
import difflib
import dis
import importlib
import inspect
import linecache
import symtable
import sys
import textwrap
from opcode import opmap
from types import FunctionType, ModuleType

from . import calls
from .awaitable import AwaitableDict, AwaitableList, AwaitableText
from .parameters import forgiving
from .tools import _missing

_IMPORT_FROM = opmap["IMPORT_FROM"]
# Longer values are data, not constants of a program.
_LONGEST_CONSTANT = 1000


@forgiving
def save_skill(name, code=None, description: str = "", tags=(), namespace: str | None = None) -> AwaitableDict:
    """Keeps code for other programs, which get it by `from skills import name`.

    The code defines a function or class of that name. Instead of a name and code this takes a
    function or class itself: `save_skill(my_function, description=…)`.
    """
    if not isinstance(name, str):
        name, code = getattr(name, "__name__", None), name
    if isinstance(code, (FunctionType, type)):
        code = _source_with_needs(code)
    if not isinstance(name, str) or not isinstance(code, str):
        raise TypeError("save_skill() takes a name and the code as text, or a function or class of this program")
    tags = [tags] if isinstance(tags, str) else list(tags)
    skill = {"name": name, "code": code, "description": description, "tags": tags, "namespace": namespace}
    return AwaitableDict(calls.query("save_skill", skill))


@forgiving
def load_skill(name: str, version: int | None = None, namespace: str | None = None) -> AwaitableText:
    """Gives the source of a skill."""
    found = calls.query("load_skill", {"name": name, "version": version, "namespace": namespace})
    return AwaitableText(found["code"])


@forgiving
def list_skills(query: str | None = None, namespace: str | None = None, limit: int = 50) -> AwaitableList:
    """Lists skills, the best match first when there is something to look for."""
    return AwaitableList(calls.query("list_skills", {"query": query, "namespace": namespace, "limit": limit}))


class SkillModule(ModuleType):
    """The module of one skill. Calling it calls the function or class that it is named after."""

    def __call__(self, *args, **kwargs):
        return _promised(self)(*args, **kwargs)


class _SkillPackage(ModuleType):
    """The package `skills`. It holds no modules, so that each look at one passes `__getattr__`."""

    def __setattr__(self, name, value):
        if isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            value.__class__ = SkillModule
        else:
            super().__setattr__(name, value)


def package(name: str, names_query: str):
    """The package `skills`: gives its `__getattr__` and `__dir__`.

    `from skills import x` is the function x; `skills.x` is the module, which can be called as well.
    """
    sys.modules[name].__class__ = _SkillPackage

    def __getattr__(attribute: str):
        if attribute == "__all__":
            return calls.query(names_query, {"near": None})
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        full_name = f"{name}.{attribute}"
        try:
            module = importlib.import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:  # the skill exists and imports something that does not
                raise
            near = difflib.get_close_matches(attribute, calls.query(names_query, {"near": attribute}), n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "list_skills() shows what there is"
            raise _missing(f"there is no skill {attribute!r}; {hint}") from None
        return _promised(module) if _is_from_import(sys._getframe(1), full_name) else module

    return __getattr__, lambda: sorted({*vars(sys.modules[name]), *calls.query(names_query, {"near": None})})


def _promised(module: ModuleType):
    """What a skill is named after."""
    name = module.__name__.rpartition(".")[2]
    try:
        return vars(module)[name]
    except KeyError:
        raise ImportError(
            f"the skill {name!r} has not defined {name!r}; either it never does, or skills import one another in a circle"
        ) from None


def _is_from_import(frame, full_name: str) -> bool:
    """Whether a frame runs `from skills import x`; `import skills.x as y` takes the same instruction."""
    code, at = frame.f_code, frame.f_lasti
    if at < 0 or code.co_code[at] != _IMPORT_FROM:
        return False
    if full_name not in code.co_names:
        return True
    before = next((step for step in dis.get_instructions(code) if step.offset == at - 2), None)
    return before is None or before.argval != full_name


def _source_with_needs(thing) -> str:
    """The source of a function or class, after the imports, constants and functions that it uses."""
    scope = vars(sys.modules[thing.__module__])
    name = thing.__name__
    parts = {name: _source(thing)}
    imports: dict[str, str] = {}
    waiting = [name]
    while waiting:
        for needed in sorted(_free_names(parts[waiting.pop()])):
            if needed in parts or needed in imports or needed not in scope:
                continue
            value = scope[needed]
            if isinstance(value, (FunctionType, type)) and value.__module__ == thing.__module__:
                parts[needed] = _source(value)
                waiting.append(needed)
            elif (line := _import_line(needed, value)) is not None:
                imports[needed] = line
            elif (text := _constant(value)) is not None:
                parts[needed] = f"{needed} = {text}\n"
            elif not type(value).__module__.startswith("_narrows"):  # the host gives that to skills, too
                raise ValueError(f"{name} uses the variable {needed!r} of this program; make it a parameter")
    # What was found last is needed first.
    return "\n\n".join(filter(None, ["\n".join(imports.values()), *reversed(parts.values())]))


def _source(thing) -> str:
    try:
        text = inspect.getsource(thing) if isinstance(thing, FunctionType) else _class_source(thing)
        text = textwrap.dedent(text)
        defined = ast.parse(text).body[0]
        if getattr(defined, "name", None) == thing.__name__:
            return text
    except (OSError, TypeError, SyntaxError):
        pass
    raise TypeError(f"the source of {thing.__name__} is not known; give save_skill() a name and the code as text")


def _class_source(kind: type) -> str:
    """A class does not know its file. Its methods do; else it is in one of the program's calls."""
    files = [value.__code__.co_filename for value in vars(kind).values() if isinstance(value, FunctionType)]
    first_line = vars(kind).get("__firstlineno__")
    for file in [*files, *reversed(linecache.cache)]:
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if first_line in (None, begin):
                    return "".join(lines[begin - 1 : node.end_lineno])
    raise OSError("no source")


def _free_names(source: str) -> set[str]:
    """The global names that code uses and does not define, but for those of Python itself."""
    top = symtable.symtable(source, "<skill>", "exec")
    names = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    tables = list(top.get_children())
    while tables:
        table = tables.pop()
        names.update(symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
        tables.extend(table.get_children())
    return {name for name in names if not hasattr(builtins, name)}


def _import_line(name: str, value) -> str | None:
    if isinstance(value, ModuleType):
        return f"import {name}" if value.__name__ == name else f"import {value.__name__} as {name}"
    module, original = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(original, str) or module.startswith("_narrows"):
        return None
    found = sys.modules.get(module)
    if module == "__main__" or found is None or vars(found).get(original) is not value:
        return None
    return f"from {module} import {original}" + (f" as {name}" if original != name else "")


def _constant(value) -> str | None:
    try:
        text = repr(value)
        return text if len(text) <= _LONGEST_CONSTANT and ast.literal_eval(text) == value else None
    except Exception:
        return None
