"""Async generators and context managers: pipelines, aclose, asend, AsyncExitStack."""
import asyncio
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

log = []


async def ticks(limit):
    try:
        for n in range(limit):
            yield await asyncio.sleep(0, n)
    finally:
        log.append(await asyncio.sleep(0, f"ticks({limit}) closed"))


async def batches(source, size):
    batch = []
    async for item in source:
        batch.append(item)
        if len(batch) == size:
            yield tuple(batch)
            batch.clear()
    if batch: yield tuple(batch)


async def averager():
    total, count, average = 0, 0, None
    while True:
        try:
            total, count = total + (yield average), count + 1
            average = total / count
        except ValueError:
            total, count, average = 0, 0, None


@asynccontextmanager
async def resource(name):
    log.append(f"open {name}")
    try:
        yield name.upper()
    except KeyError as exc:
        log.append(f"{name} swallowed {exc}")
    finally:
        log.append(f"close {name}")


async def main():
    print([b async for b in batches(ticks(7), 3)], log)
    print({n: n * n async for n in ticks(3) if n % 2 == 0})

    log.clear()
    async with aclosing(ticks(100)) as source:
        async for n in source:
            if n == 2: break
    print("left early:", log, await anext(source, "exhausted"))

    avg = averager()
    await anext(avg)
    print([await avg.asend(n) for n in (10, 20)], await avg.athrow(ValueError), await avg.asend(7))
    await avg.aclose()

    log.clear()
    async with AsyncExitStack() as stack:
        names = [await stack.enter_async_context(resource(n)) for n in ("db", "cache")]
        stack.push_async_callback(asyncio.sleep, 0)
        raise KeyError(names[0])
    print(log)


asyncio.run(main())
