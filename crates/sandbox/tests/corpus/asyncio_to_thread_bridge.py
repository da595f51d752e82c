"""asyncio.to_thread: blocking work off the loop, contextvars, errors, ordering."""
import asyncio
from contextvars import ContextVar
from functools import partial

user = ContextVar("user", default="nobody")
events = []


def blocking_sum(limit, *, step=1):
    return sum(range(0, limit, step))


def who():
    return user.get(), user.set("changed inside the thread").old_value


def fail(kind):
    raise kind("from the thread")


async def heartbeat(stop):
    beats = 0
    while not stop.is_set():
        beats += 1
        await asyncio.sleep(0)
    return beats > 0


async def cached(cache, locks, key):
    async with locks.setdefault(key, asyncio.Lock()):
        if key not in cache:
            events.append(f"compute {key}")
            cache[key] = await asyncio.to_thread(blocking_sum, key)
        return cache[key]


async def main():
    print(await asyncio.to_thread(blocking_sum, 10), await asyncio.to_thread(blocking_sum, 10, step=3))

    user.set("ana")
    print("thread saw", await asyncio.to_thread(who), "| here still", user.get())

    try:
        await asyncio.to_thread(fail, KeyError)
    except LookupError as exc:
        print(type(exc).__name__, exc.args)

    results = await asyncio.gather(*(asyncio.to_thread(blocking_sum, n) for n in (5, 50, 500)), asyncio.to_thread(fail, OSError), return_exceptions=True)
    print("in call order:", [r if isinstance(r, int) else type(r).__name__ for r in results])

    stop = asyncio.Event()
    beat = asyncio.create_task(heartbeat(stop))
    total = await asyncio.to_thread(partial(blocking_sum, 2000, step=2))
    stop.set()
    print("loop stayed alive:", await beat, total)

    cache, locks = {}, {}
    values = await asyncio.gather(*(cached(cache, locks, key) for key in (4, 6, 4, 4, 6)))
    print(values, sorted(events), len(locks))

    loop, done = asyncio.get_running_loop(), asyncio.Event()
    await asyncio.to_thread(loop.call_soon_threadsafe, done.set)
    await done.wait()
    print(done.is_set(), await asyncio.wait_for(asyncio.to_thread(len, "four"), timeout=5))


if __name__ == "__main__":
    asyncio.run(main())
