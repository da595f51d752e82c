"""Puts together what programs write to.

An isolate maps the snapshot, and each page that it writes to for the first time costs a copy, and
work again when the isolate ends. A new object goes where memory is free, and after all the imports
that is a little everywhere. So a room is kept free, early in memory, beside what the interpreter
itself has made; and all else that is free is taken, once: what is allocated after that lies in the
room. So is what the interpreter keeps of freed objects for the next ones of their kind. What every
program writes to beside its own objects are the inline caches of the functions that it passes
through; these get copies of their code, in that same place, and the table of modules, which gets an
entry for each program, moves there too.
"""

import builtins
import gc
import sys
from contextvars import Context
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


class _Owner:
    def method(self) -> None:
        pass


_owner = _Owner()
# Objects of the kinds that the interpreter keeps when they are freed, each with the sizes that it
# keeps apart.
_KEPT_KINDS = [
    (lambda size: tuple([None] * size), range(1, 21)),
    (lambda size: size + 1_000_000, [0]),
    (lambda size: size + 0.5, [0]),
    (lambda size: size + 1j, [0]),
    (lambda size: [], [0]),
    (lambda size: {}, [0]),
    (lambda size: iter([None]), [0]),
    (lambda size: iter((None,)), [0]),
    (lambda size: iter(range(size)), [0]),
    (lambda size: range(size), [1_000]),
    (lambda size: slice(size), [0]),
    (lambda size: _owner.method, [0]),
    (lambda size: [].append, [0]),
    (lambda size: Context(), [0]),
]
# More than it keeps of the tables of dicts, which have no address to be asked for.
_MOST_TABLES = 100

# Made before any import of the library, so that it comes before all of that.
_room: bytes | None = bytes(_ROOM)
_start = id(_room)
_end = _start + _ROOM
# Never freed, and never moved.
_taken: list = [None] * 400_000
_count = 0
_tables: list = []
_callers: list = []


def fill() -> None:
    """Takes all memory that is free below the last piece in use, except for the room."""
    gc.collect()
    rest = _rest_of_room()
    _tables.append([{"key": None} for _ in range(_MOST_TABLES)])
    _take_all(_start)
    del rest
    # What was made and freed meanwhile is free as well; now that happens in the room.
    for _ in range(2):
        _take_all(_end)
    gc.freeze()


def _take_all(room_end: int) -> None:
    end = id(bytes(_PROBE))
    for make, sizes in _KEPT_KINDS:
        for size in sizes:
            _take(make, size, room_end, end)
    for size in _SIZES:
        _take(bytes, size, room_end, end)
    _take(_smallest, 0, room_end, end)


def release() -> None:
    """From now on, new objects go into the room."""
    global _room
    _room = None


def _rest_of_room() -> bytes | None:
    """The largest piece of the room that is free."""
    for size in range(_ROOM, _PAGE, -_PAGE // 4):
        if _start <= id(piece := bytes(size)) < _end:
            return piece
    return None


def _take(make, size: int, room_end: int, end: int) -> None:
    """Takes pieces of this size, until they lie in the room or behind all others."""
    global _count
    place = _count
    while (
        place < len(_taken)
        and (at := id(piece := make(size))) < end
        and not _start <= at < room_end
    ):
        _taken[place] = piece
        place += 1
    _count = place


def _smallest(_size: int) -> object:
    return object()


def keep_callers() -> None:
    """Keeps what those who import the caller will leave when they are done: it would be free memory
    among what stays."""
    frame = sys._getframe(1)
    while frame is not None:
        _callers.append((frame.f_code, [*frame.f_locals.values()]))
        frame = frame.f_back


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
    addresses = [max(map(id, types)), _end, id(bytes(_PROBE))]
    with open(path, "wb") as file:
        for address in addresses:
            file.write(address.to_bytes(4, "little"))
