"""Synchronisation: Event gates, Condition buffers, Lock order, Barrier phases."""
import asyncio

log = []


async def gated(name, gate):
    await gate.wait()
    log.append(name)


class Buffer:
    def __init__(self):
        self.changed, self.item = asyncio.Condition(), None

    async def put(self, item):
        async with self.changed:
            await self.changed.wait_for(lambda: self.item is None)
            self.item = item
            self.changed.notify_all()

    async def take(self):
        async with self.changed:
            await self.changed.wait_for(lambda: self.item is not None)
            item, self.item = self.item, None
            self.changed.notify_all()
            return item


async def critical(name, lock):
    async with lock:
        log.append(f"{name}>")
        await asyncio.sleep(0)
        log.append(f"<{name}")


async def runner(name, laps, barrier):
    for lap in range(laps):
        for _ in range(len(name)):
            await asyncio.sleep(0)
        log.append((lap, name))
        await barrier.wait()


async def main():
    gate = asyncio.Event()
    tasks = [asyncio.create_task(gated(n, gate)) for n in "abc"]
    await asyncio.sleep(0)
    print("before:", log, gate.is_set())
    gate.set()
    await asyncio.gather(*tasks, gated("late", gate))
    print("after:", log)

    buffer = Buffer()
    _, taken = await asyncio.gather(
        asyncio.gather(*(buffer.put(n) for n in range(5))), asyncio.gather(*(buffer.take() for _ in range(5))))
    print("buffer:", sorted(taken), buffer.item)

    log.clear()
    lock = asyncio.Lock()
    await asyncio.gather(*(critical(n, lock) for n in "xyz"))
    print("lock:", log, lock.locked())

    log.clear()
    barrier = asyncio.Barrier(3)
    await asyncio.gather(*(runner(n, 2, barrier) for n in ("i", "iii", "ii")))
    print("phases in order:", [lap for lap, _ in log] == [0, 0, 0, 1, 1, 1], [n for lap, n in log if lap == 0], barrier.n_waiting)


asyncio.run(main())
