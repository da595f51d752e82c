"""Puts together what programs write to.

An isolate maps the snapshot, and each page that it writes to for the first time costs a copy, and
work again when the isolate ends. A new object goes where memory is free, and after all the imports
that is a little everywhere. So a room is kept free, early in memory, beside what the interpreter
itself has made; and all else that is free is taken, once: what is allocated after that lies in the
room. What every program writes to beside its own objects are the inline caches of the functions
that it passes through; these get copies of their code, in that same place, and the table of
modules, which gets an entry for each program, moves there too.
"""

import builtins
import gc
import sys
from types import CodeType, FunctionType

# In which many small programs have room for all that they make.
_ROOM = 768 << 10
_PAGE = 4096
# Of a type that is not part of the interpreter itself.
_ON_HEAP = 1 << 9
# Larger than any piece that is free between others.
_PROBE = 8 << 20
# In halves first, then in steps of the allocator.
_SIZES = [*(1 << power for power in range(20, 8, -1)), *range(248, 2, -8), 2]

# Made before any import of the library, so that it comes before all of that.
_room: bytes | None = bytes(_ROOM)
_start = id(_room)
# Never freed, and never moved.
_taken: list = [None] * 400_000
_count = 0


def fill() -> None:
    """Takes all memory that is free below the last piece in use, except for the room."""
    gc.collect()
    end = id(bytes(_PROBE))
    rest = _rest_of_room()
    for size in _SIZES:
        _take(bytes, size, end)
    _take(_smallest, 0, end)
    del rest


def release() -> None:
    """From now on, new objects go into the room."""
    global _room
    _room = None


def _rest_of_room() -> bytes | None:
    """The largest piece of the room that is free."""
    for size in range(_ROOM, _PAGE, -_PAGE // 4):
        if _start <= id(piece := bytes(size)) < _start + _ROOM:
            return piece
    return None


def _take(make, size: int, end: int) -> None:
    global _count
    place = _count
    while place < len(_taken) and id(piece := make(size)) < end:
        _taken[place] = piece
        place += 1
    _count = place


def _smallest(_size: int) -> object:
    return object()


def copy_code(rehearse) -> None:
    """Gives each function that is called meanwhile a copy of its code."""
    called: set[CodeType] = set()

    def note(frame, event, _argument):
        if event == "call":
            called.add(frame.f_code)

    sys.setprofile(note)
    try:
        rehearse()
    finally:
        sys.setprofile(None)
    gc.unfreeze()
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__ in called:
            function.__code__ = _copied(function.__code__, called)


def _copied(code: CodeType, called: set[CodeType]) -> CodeType:
    """With copies of what is called of the functions inside."""
    return code.replace(
        co_consts=tuple(
            _copied(constant, called) if type(constant) is CodeType and constant in called else constant
            for constant in code.co_consts
        )
    )


def move_modules() -> None:
    """A dict that is filled anew has new memory."""
    modules = sys.modules.copy()
    sys.modules.clear()
    sys.modules.update(modules)


def write_layout(path: str) -> None:
    """Writes where programs write: from the interpreter's own state, which follows its types, over
    what it made when it started, to the end of the room; and where all memory in use ends."""
    types = (item for item in vars(builtins).values() if type(item) is type and not item.__flags__ & _ON_HEAP)
    addresses = [max(map(id, types)), _start + _ROOM, id(bytes(_PROBE))]
    with open(path, "wb") as file:
        for address in addresses:
            file.write(address.to_bytes(4, "little"))
