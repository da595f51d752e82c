"""Timeouts: asyncio.timeout, wait_for, rescheduling, nesting, cleanup on expiry."""
import asyncio

log = []


async def stuck(name):
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        log.append(f"{name} interrupted")
        raise
    finally:
        log.append(f"{name} cleaned")


async def stubborn():
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "salvaged"


async def quick(value):
    await asyncio.sleep(0)
    return value


async def main():
    try:
        await asyncio.wait_for(stuck("a"), timeout=0.005)
    except TimeoutError as exc:
        print("wait_for:", type(exc).__name__, asyncio.TimeoutError is TimeoutError, log)
    print(await asyncio.wait_for(quick(1), timeout=5), await asyncio.wait_for(quick(2), timeout=None))

    log.clear()
    try:
        async with asyncio.timeout(0.005) as scope:
            print("deadline set:", scope.when() is not None, scope.expired())
            await stuck("b")
    except TimeoutError as exc:
        print("timeout:", scope.expired(), type(exc.__cause__).__name__, log)

    async with asyncio.timeout(None) as scope:
        result = await quick("fast")
        scope.reschedule(asyncio.get_running_loop().time() + 60)
    print(result, scope.expired())

    # The inner deadline fires; the outer scope goes on as if nothing happened.
    log.clear()
    async with asyncio.timeout(30) as outer:
        try:
            async with asyncio.timeout(0.005) as inner:
                await asyncio.gather(stuck("c"), stuck("d"))
        except TimeoutError:
            print("inner only:", inner.expired(), outer.expired(), sorted(log))
        print(await quick("still running"), asyncio.current_task().cancelling())

    async with asyncio.timeout(0.005):  # no error when the body swallows the cancellation
        print("rescued:", await stubborn())
    try:
        async with asyncio.timeout_at(asyncio.get_running_loop().time() - 1):
            await asyncio.sleep(0)
    except TimeoutError:
        print("a deadline in the past")


asyncio.run(main())
