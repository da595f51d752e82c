"""Runs one program: compiles it, runs it to its end, and tells what came of it."""

import ast
import asyncio
import atexit
import builtins
import gc
import inspect
import sys
from contextvars import Context
from json import JSONEncoder, loads
from types import CoroutineType, ModuleType

from . import encode, errors, importer, session
from .loop import HostEventLoop

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
# Where the value of the last expression goes; no program can write this name.
_LAST = "<last>"
# How long tasks that outlive the program may take to end when they are cancelled.
_GRACE_SECONDS = 1.0
# More than this is not handed over at all.
_MOST_RESULT = 16 << 20
# Of a session's variables as bytes; with the sources it has to pass to the host in one piece.
_MOST_STATE = 48 << 20
_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_missing = object()
_ASYNCHRONOUS = {CoroutineType, asyncio.Task, asyncio.Future}
# Tasks that refused to end; they need the program's variables until the isolate is gone.
_kept: list = []


# The programs of a session so far: their names and sources.
_cells: list[tuple[str, str]] = []


def run(name: str, source: str, context: str, in_session: bool = False) -> str:
    """Gives the outcome as JSON: `{ok, error, result, notes}`."""
    notes: list[str] = []
    before: object = _missing
    main = None
    try:
        if in_session:
            name = _begin_cell(source)
        else:
            sys.modules.pop("__main__", None)
        main = _main(name)
        scope = main.__dict__
        if context != "{}":
            scope.update(loads(context))
            importer.bind_implied(scope)
        before = scope.get("result", _missing)
        # Its own context: the snapshot's holds what modules put there when they were imported.
        error = Context().run(_run, name, source, scope, notes)
    except BaseException as failure:  # also what a program did to the modules that we use
        error = failure
    ending = _ending(error, name)
    result, result_notes = _result(main, error, before, in_session)
    notes += result_notes
    _finish(main, in_session)
    if len(result) > _MOST_RESULT:
        ending += f'"result_too_large":{len(result)},'
        result = "null"
    return f'{{{ending}"result":{result},"notes":{_texts(notes)}}}'


def _run(name: str, source: str, scope: dict, notes: list[str]) -> BaseException | None:
    sys.argv[:] = [name]
    source = source.removeprefix("\ufeff")
    errors.remember_source(name, source)
    try:
        code = _compile(source, name)
        value = eval(code, scope)
        if code.co_flags & inspect.CO_COROUTINE:
            _run_async(value, notes)
    except BaseException as error:
        return error
    return None


def _main(name: str) -> ModuleType:
    """The module of the program: a new one, or that of the session's programs before it."""
    main = sys.modules.get("__main__")
    if main is None:
        main = sys.modules["__main__"] = ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
    main.__file__ = name
    return main


def _begin_cell(source: str) -> str:
    """A name of its own for each program of a session, so that its lines can be shown later."""
    number = int(_cells[-1][0].removeprefix("cell-").removesuffix(".py")) + 1 if _cells else 1
    name = f"cell-{number}.py"
    _cells.append((name, source))
    return name


def save() -> tuple[bytes, str]:
    """The variables of a session, and as JSON what of them cannot be kept."""
    state, lost = session.save(sys.modules["__main__"].__dict__, _cells, {}, _MOST_STATE)
    return state, _text(lost)


def restore(state: bytes) -> str:
    """Brings back the variables of a session; gives as JSON what could not be brought back."""
    lost = session.restore(state, _main("cell-0.py").__dict__)
    _cells[:] = session.cells(state)
    return _text(lost)


def _compile(source: str, name: str):
    try:
        return _compiled(source, name)
    except SyntaxError as error:
        if error.text is None and error.lineno:
            error.text = "".join(source.splitlines(True)[error.lineno - 1 : error.lineno])
        raise error.with_traceback(None)


def _compiled(source: str, name: str):
    is_relative = "from ." in source
    if not is_relative and _seems_to_set_result(source):
        code = compile(source, name, "exec", flags=_FLAGS, dont_inherit=True)
        # Else it was the name of an argument, at the beginning of a line.
        if "result" in code.co_names:
            return code
    tree = ast.parse(source, name)
    if is_relative:
        importer.make_absolute(tree)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.copy_location(ast.Name(_LAST, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    return compile(tree, name, "exec", flags=_FLAGS, dont_inherit=True)


def _seems_to_set_result(source: str) -> bool:
    """Whether the program assigns `result` for certain, so that its last expression does not matter."""
    assigned = source.startswith(("result = ", "result=")) or "\nresult = " in source
    return assigned and not any(doubt in source for doubt in ('"""', "'''", "\\\n", "del "))


def _run_async(main, notes: list[str]) -> None:
    loop = HostEventLoop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(main)
    finally:
        try:
            _end_tasks(loop, notes)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _end_tasks(loop, notes: list[str]) -> None:
    left = asyncio.all_tasks(loop)
    if not left:
        return
    # Not the program itself, nor what asyncio does by itself to close generators.
    own = [task for task in left - {loop._first_task} if type(task.get_coro()) is CoroutineType]
    if own:
        names = ", ".join(sorted({task.get_coro().__qualname__ for task in own})[:10])
        count, was = ("1 task", "was") if len(own) == 1 else (f"{len(own)} tasks", "were")
        notes.append(
            f"{count} {was} still running when the program ended and {was} cancelled: {names}; "
            "await what must finish"
        )
    for task in left:
        task.cancel()
    _, stubborn = loop.run_until_complete(asyncio.wait(left, timeout=_GRACE_SECONDS))
    for task in stubborn:
        task._log_destroy_pending = False
        _kept.append(task)  # it would run on when it is freed


def _ending(error: BaseException | None, name: str) -> str:
    """How the program ended, as the opening fields of the outcome."""
    if error is None:
        return '"ok":true,'
    if isinstance(error, SystemExit):
        code = error.code
        if code is None or code == 0:
            return '"ok":true,'
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
        code = int(code)
        message = f"the program ended itself with exit status {code}"
        details = {"type": "SystemExit", "message": message, "line": None, "traceback": ""}
        try:
            # As from CPython: no traceback, but the line helps.
            details["line"] = errors.describe(error, name)["line"]
        except Exception:
            pass
        return f'"ok":false,"error":{_text(details)},'
    try:
        details = errors.describe(error, name)
    except BaseException:
        details = {"type": type(error).__name__, "message": "", "line": None, "traceback": ""}
        if isinstance(error, MemoryError):
            details["cause"] = "memory"
    return f'"ok":false,"error":{_text(details)},'


def _result(main, error, before, in_session: bool) -> tuple[str, list[str]]:
    if main is None or error is not None and not isinstance(error, SystemExit):
        return "null", []
    value = _value(main.__dict__, before, in_session)
    if value is None:
        return "null", []
    try:
        return encode.to_json(value)
    except BaseException as failure:
        return "null", [f"result: it could not be turned into JSON ({type(failure).__name__}: {failure})"]


def _value(scope: dict, before, in_session: bool):
    """What the program put into `result`, or else the value of its last expression."""
    last = scope.pop(_LAST, _missing)
    value = scope.get("result", _missing)
    if value is before:
        if last is not _missing:
            return last
        # An earlier program of the session put it there, and its caller has seen it.
        if in_session:
            return None
    return None if value is _missing else value


def _finish(main, in_session: bool) -> None:
    """What an interpreter does when it ends: exit handlers, finalizers, and the last output."""
    try:
        if not in_session:
            atexit._run_exitfuncs()
        if main is not None and not in_session:
            _report_coroutines(main)
            kinds = set(map(type, main.__dict__.values()))
            if not _kept:
                main.__dict__.clear()
            if not kinds.isdisjoint(_ASYNCHRONOUS):
                gc.collect()  # reports coroutines that were never awaited and errors nobody saw
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass


def _report_coroutines(main) -> None:
    """Names the coroutines that were called, kept in a variable and never awaited."""
    for name, value in main.__dict__.items():
        if type(value) is CoroutineType and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
            value.close()
            print(
                f"{main.__file__}: RuntimeWarning: coroutine {value.__qualname__!r} in the variable "
                f"{name!r} was never awaited; write `await {value.__name__}(...)`",
                file=sys.stderr,
            )


def _text(value) -> str:
    text = _encode(value)
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()


def _texts(notes: list[str]) -> str:
    return _text([str(note) for note in notes])
