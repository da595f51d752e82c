"""Producer/consumer with bounded, priority and LIFO queues, join and sentinels."""
import asyncio
from collections import Counter


async def producer(queue, items, log):
    for item in items:
        await queue.put(item)
        log.append(queue.qsize())
    await queue.put(None)


async def consumer(queue, out):
    while (item := await queue.get()) is not None:
        out.append(await asyncio.sleep(0, item * item))
        queue.task_done()
    queue.task_done()
    return len(out)


async def bounded():
    queue, log, out = asyncio.Queue(maxsize=2), [], []
    async with asyncio.TaskGroup() as group:
        group.create_task(producer(queue, range(1, 7), log))
        counted = group.create_task(consumer(queue, out))
    print("bounded:", out, counted.result(), "deepest", max(log), queue.empty())


async def pool():
    queue, handled, failures = asyncio.Queue(), Counter(), []

    async def worker():
        while True:
            job = await queue.get()
            try:
                if job % 5 == 0: raise ValueError(f"job {job}")
                if job in (2, 3): queue.put_nowait(job * 10 + 1)
                handled.update(jobs=await asyncio.sleep(0, 1))
            except ValueError as exc: failures.append(str(exc))
            finally: queue.task_done()

    workers = [asyncio.create_task(worker()) for _ in range(3)]
    for job in range(1, 11):
        queue.put_nowait(job)
    await queue.join()
    [w.cancel() for w in workers]
    ended = await asyncio.gather(*workers, return_exceptions=True)
    print("pool:", dict(handled), failures, [type(e).__name__ for e in ended])


async def orders():
    urgent, stack = asyncio.PriorityQueue(), asyncio.LifoQueue()
    for n, (level, name) in enumerate([(5, "mail"), (1, "alarm"), (5, "log"), (3, "sync")]):
        await urgent.put((level, n, name))
        stack.put_nowait(name)
    print("priority:", [(await urgent.get())[2] for _ in range(4)], "lifo:", [stack.get_nowait() for _ in range(stack.qsize())])
    (tiny := asyncio.Queue(1)).put_nowait("x")
    for action in (lambda: tiny.put_nowait("y"), stack.get_nowait, *[stack.task_done] * 5):
        try:
            action()
        except (asyncio.QueueFull, asyncio.QueueEmpty, ValueError) as exc:
            print(type(exc).__name__, end=" ")
    waiting = asyncio.create_task(tiny.put("z"))
    await asyncio.sleep(0)
    print(tiny.full(), waiting.done(), tiny.get_nowait(), await waiting, await tiny.get())


if __name__ == "__main__":
    for part in (bounded, pool, orders):
        asyncio.run(part())
