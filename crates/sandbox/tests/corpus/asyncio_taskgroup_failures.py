"""asyncio.TaskGroup: results, sibling cancellation, nested groups, late spawns."""
import asyncio

log = []


async def worker(name, turns, error=None, cleanup=0):
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
        if error is not None:
            raise error
        return f"{name}:{turns}"
    except asyncio.CancelledError:
        for _ in range(cleanup):
            await asyncio.sleep(0)
        log.append(f"{name} cancelled")
        raise


async def fan_out(group, depth):
    """Spawns its own children into the group it runs in."""
    if depth:
        left, right = (group.create_task(fan_out(group, depth - 1)) for _ in range(2))
        return 1 + await left + await right
    return 1


async def main():
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(worker(f"t{n}", n), name=f"task-{n}") for n in (2, 0, 1)]
        tree = group.create_task(fan_out(group, 3))
    print([t.result() for t in tasks], [t.get_name() for t in tasks], tree.result())

    try:
        async with asyncio.TaskGroup() as group:
            forever = group.create_task(worker("forever", 10_000, cleanup=2))
            group.create_task(worker("bad", 2, ValueError("v")))
            group.create_task(worker("also bad", 2, KeyError("k")))
            quick = group.create_task(worker("quick", 0))
    except* ValueError as errors:
        print("values:", [str(e) for e in errors.exceptions])
    except* KeyError as errors:
        print("keys:", [repr(e) for e in errors.exceptions])
    print(forever.cancelled(), quick.result(), log)

    # The body itself fails: children are cancelled and both errors are kept.
    log.clear()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(worker("child", 10_000))
            await asyncio.sleep(0)
            raise LookupError("body")
    except ExceptionGroup as exc:
        print(type(exc.exceptions[0]).__name__, len(exc.exceptions), log)

    # A group inside a group: the inner failure is one member of the outer group.
    log.clear()
    try:
        async with asyncio.TaskGroup() as outer:
            outer.create_task(worker("outer child", 10_000))
            async with asyncio.TaskGroup() as inner:
                inner.create_task(worker("inner", 1, OSError("disk")))
    except* OSError as exc:
        print("nested:", isinstance(exc.exceptions[0], ExceptionGroup), exc.exceptions[0].exceptions, log)


asyncio.run(main())
