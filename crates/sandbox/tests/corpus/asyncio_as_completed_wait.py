"""asyncio.as_completed and asyncio.wait: first result, first error, leftovers."""
import asyncio


async def reply(name, turns, error=None, gate=None):
    for _ in range(turns):
        await asyncio.sleep(0)
    if gate:
        await gate.wait()
    if error:
        raise error
    return name


async def first_good(*coros):
    """The first success; failures are collected; losers are cancelled."""
    tasks, errors = [asyncio.ensure_future(c) for c in coros], []
    try:
        while tasks:
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if task.exception() is None:
                    return task.result(), errors
                errors.append(str(task.exception()))
        raise ExceptionGroup("nobody answered", [RuntimeError(e) for e in errors])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def main():
    jobs = [reply("slow", 15), reply("fast", 0), reply("middle", 6)]
    print("completed:", [await future for future in asyncio.as_completed(jobs)])

    outcomes = []
    for future in asyncio.as_completed([reply("ok", 8), reply("bad", 0, ValueError("bad"))]):
        try:
            outcomes.append(await future)
        except ValueError as exc:
            outcomes.append(repr(exc))
    print("mixed:", outcomes)

    print("race:", await first_good(reply("a", 12), reply("b", 4), reply("c", 0, OSError("down"))))
    try:
        await first_good(reply("x", 0, OSError("1")), reply("y", 5, OSError("2")))
    except* RuntimeError as group:
        print("all failed:", group.message, [str(e) for e in group.exceptions])

    gate = asyncio.Event()
    plans = (("p", 2, None, None), ("q", 6, KeyError("q"), None), ("r", 0, None, gate))
    tasks = [asyncio.create_task(reply(*plan), name=plan[0]) for plan in plans]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    print("until an error:", sorted(t.get_name() for t in done), [t.get_name() for t in pending], repr(tasks[1].exception()))
    gate.set()
    done, pending = await asyncio.wait(pending)
    print("the rest:", {t.result() for t in done}, pending)

    never = asyncio.create_task(asyncio.Event().wait())
    done, pending = await asyncio.wait([never], timeout=0.003)
    print("wait does not cancel:", len(done), never in pending, never.cancelled(), never.cancel())
    try:
        for future in asyncio.as_completed([never, reply("soon", 0)], timeout=5):
            print("got", await future)
    except asyncio.CancelledError:
        print("a cancelled member surfaces")


asyncio.run(main())
