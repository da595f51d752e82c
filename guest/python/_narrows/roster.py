"""Lists every object of the snapshot, for the build to make them immortal.

Python counts references in the objects themselves. A program that only reads the standard
library would still write to nearly every page of it, and each first write to a page of the
snapshot costs a copy. Objects with an immortal count are not written to. Python cannot set that
count, but the build can: it knows where in the component's memory the objects are.
"""

import gc
import sys
from array import array
from types import CodeType, FrameType

# Attributes of code objects, which the collector does not look into.
_CODE = ("co_consts", "co_names", "co_filename", "co_name", "co_qualname", "co_linetable", "co_exceptiontable")


def write(path: str) -> None:
    """Writes the address and the type's address of each object that modules refer to."""
    seen = bytearray(32 << 20 >> 3)  # a bit for each eight bytes of memory
    found = array("I")
    waiting = [sys.modules, sys.__dict__, *gc.get_objects()]
    ours = {id(seen), id(found), id(waiting)}
    while waiting:
        item = waiting.pop()
        place = id(item)
        if place in ours or place >> 6 >= len(seen) or seen[place >> 6] & 1 << (place >> 3 & 7):
            continue
        seen[place >> 6] |= 1 << (place >> 3 & 7)
        if isinstance(item, FrameType):
            continue
        found.append(place)
        found.append(id(type(item)))
        if type(item) is CodeType:
            waiting.extend(getattr(item, name) for name in _CODE)
        else:
            waiting.extend(gc.get_referents(item))
    with open(path, "wb") as file:
        file.write(found)
    # Freed memory is part of the snapshot as well; zeros take no room in it.
    seen[:] = bytes(len(seen))
    found[:] = array("I", bytes(len(found) * 4))
