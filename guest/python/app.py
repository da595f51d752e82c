"""The component's entry: what the WIT world exports."""

import _narrows.packing  # (before all that takes memory)
import _narrows.preload  # noqa: F401  (first: fills the snapshot)
import wit_world
from componentize_py_types import Err
from _narrows import (
    databases, fresh, hashes, importer, loop, packing, program, refusals, roster, surroundings,
)

databases.install()
hashes.install()
importer.install()
loop.install()
refusals.install()
surroundings.install()


REHEARSALS = 20
# What most programs do.
TYPICAL = """
import asyncio, collections, dataclasses, datetime, json, re

@dataclasses.dataclass
class Row:
    name: str
    size: int = 0

async def answer(row):
    await asyncio.sleep(0)
    return row.size

rows = [Row(f"row {n}", n) for n in range(10)]
total = sum(await asyncio.gather(*[answer(row) for row in rows]))
text = json.dumps({"rows": [row.name for row in rows], "at": str(datetime.date(2024, 1, 1))})
counts = collections.Counter(re.findall(r"[a-z]+", text))
print(total, len(json.loads(text)), counts.most_common(1))
try:
    rows[99]
except IndexError:
    pass
result = {"total": total, "rows": [row.size for row in rows]}
"""


class WitWorld(wit_world.WitWorld):
    def run(self, name: str, source: str, context: str, workspace: bool, session: bool) -> str:
        fresh.begin(workspace)
        return program.run(name, source, context, session)

    def save(self) -> tuple[bytes, str]:
        return program.save()

    def restore(self, state: bytes, workspace: bool) -> str:
        fresh.begin(workspace)
        try:
            return program.restore(state)
        except ValueError as error:
            raise Err(str(error))

    def warm(self) -> None:
        """Runs the smallest program, so that the memory which every program writes to is in place.

        Whatever more a program does costs the program itself less than it would cost here: most
        isolates would have to be put back for it that never needed it.
        """
        fresh.begin(False)
        program.run("<warm>", "result = 1", "{}")
        fresh.forget()


def _rehearse() -> None:
    program.run("<warm>", TYPICAL, '{"given": 1}')
    program.run("<warm>", "result = 1", "{}")
    fresh.forget()
    fresh.collect()


# Last, when all modules are in memory. Byte code adapts itself to what it meets when it runs;
# what has adapted here need not do so, and write to its memory, in every isolate.
def _rehearse_as_called() -> None:
    """As the host calls it, from the first line to the last."""
    WitWorld().run("<warm>", "result = 1", "{}", False, False)
    fresh.unbegin()
    _rehearse()


def _rehearse_well() -> None:
    for _ in range(REHEARSALS):
        _rehearse_as_called()


_rehearse_well()
fresh.seal()
packing.fill()
packing.release()
packing.copy_code(_rehearse_as_called)
packing.move_modules()
_rehearse_well()
# What the copies replaced is free now, and what rehearsals leave behind shall not go there.
packing.fill()
_rehearse_as_called()
roster.write("/0/objects.bin")
packing.keep_callers()
# The interpreter's caches once more, which the roster has used. What a program replaces is free after
# it, and the next one would put something else there; in the end all of that is in the room.
for _ in range(3):
    _rehearse_as_called()
    packing.fill()
packing.write_layout("/0/layout.bin")
