"""Says of an error which value of a tool it is about, when that is not what its reader takes it for."""

import difflib
import linecache
import re

from .calls import RecoveredDict, RecoveredList

# Errors that come of a value of another type or form than was expected.
_OF_VALUES = (AttributeError, IndexError, KeyError, TypeError, ValueError)
_NAME = re.compile(r"[^\W\d]\w*")
_MOST_NAMES = 50
# Of a large result, so many parts are searched for the key that was meant.
_MOST_LOOKED_AT = 500
_missing = object()


def add_note(error: BaseException, program: str) -> None:
    """Adds a note to an error, and to those of its group, if it is about a value of a tool."""
    for inner in getattr(error, "exceptions", ()):
        add_note(inner, program)
    if not isinstance(error, _OF_VALUES):
        return
    near = _near_key(error, program)
    if near is not None:
        _add(error, f"did you mean {near!r}?")
    for name, value in _candidates(error, program):
        note = _note(name, value)
        if note is not None:
            _add(error, note)
            return


def _add(error: BaseException, note: str) -> None:
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _near_key(error: BaseException, program: str) -> str | None:
    """The key that was meant: one of a dict that the failed line names, or of one in it."""
    if type(error) is not KeyError or len(error.args) != 1 or not isinstance(error.args[0], str):
        return None
    own, _ = _frames(error, program)
    waiting = [value for _, value in _variables(*own)[0]] if own else []
    waiting.append(getattr(error, "obj", None))
    missing = error.args[0]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            break
        value = waiting.pop(0)
        if isinstance(value, dict):
            # It is not the dict that lacks the key.
            keys = [] if missing in value else [key for key in list(value)[:_MOST_NAMES] if isinstance(key, str)]
            near = difflib.get_close_matches(missing, keys, n=1, cutoff=0.7)
            if near:
                return near[0]
            waiting.extend(list(value.values())[:_MOST_NAMES])
        elif isinstance(value, (list, tuple)):
            waiting.extend(value[:1])
    return None


def _candidates(error: BaseException, program: str):
    """The values that the error may be about, each with its name where it has one."""
    own, inner = _frames(error, program)
    named, lists = _variables(*own) if own else ([], [])
    about = getattr(error, "obj", _missing)
    if about is not _missing:
        named = [(name, value) for name, value in named if value is about]
        yield from named
        yield None, about
    yield from named
    for _, part in named:
        if type(part) is dict:
            yield from ((name, whole) for name, whole in lists if any(item is part for item in whole))
    if about is _missing:
        # What the program handed to others, which failed with it.
        for frame in inner:
            yield from ((None, value) for value in list(frame.f_locals.values())[:_MOST_NAMES])


def _frames(error: BaseException, program: str) -> tuple[tuple | None, list]:
    """The program's innermost frame with its line, and the frames below it."""
    own, inner = None, []
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == program:
            own, inner = (step.tb_frame, step.tb_lineno), []
        else:
            inner.append(step.tb_frame)
        step = step.tb_next
    return own, inner if own else []


def _variables(frame, line: int) -> tuple[list, list]:
    """The variables that a line names, and all that are lists read from text."""
    source = linecache.getline(frame.f_code.co_filename, line)
    names = list(dict.fromkeys(_NAME.findall(source)))[:_MOST_NAMES]
    scopes = [frame.f_locals]
    if frame.f_globals is not frame.f_locals:
        scopes.append(frame.f_globals)
    named = [(name, scope[name]) for name in names for scope in scopes if name in scope]
    every = (item for scope in scopes for item in list(scope.items()))
    return named, [(name, value) for name, value in every if type(value) is RecoveredList]


def _note(name: str | None, value) -> str | None:
    what, at = name or "the value", name or "VALUE"
    if type(value) is RecoveredDict:
        return f"{what} is a dict that was read from the tool's text; the text itself is {at}.raw"
    if type(value) is RecoveredList:
        return f"{what} is a list of {len(value)} that was read from the tool's text; the text itself is {at}.raw"
    if type(value) is dict and len(value) == 1 and "content" in value:
        return f"{what} is a dict with the one key 'content', as the tool answered: write {at}['content']"
    return None
