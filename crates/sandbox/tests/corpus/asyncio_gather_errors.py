"""asyncio.gather: result order, return_exceptions, sibling survival, nesting."""
import asyncio

log = []


async def job(name, turns, fail=None):
    log.append(f"+{name}")
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
        if fail:
            raise fail
        return name.upper()
    except asyncio.CancelledError:
        log.append(f"x{name}")
        raise
    finally:
        log.append(f"-{name}")


async def main():
    print(await asyncio.gather(job("a", 3), job("b", 1), job("c", 2)), log)
    log.clear()

    mixed = await asyncio.gather(job("d", 1), job("e", 1, ValueError("bad e")), job("f", 4, KeyError("f")), return_exceptions=True)
    print([r if isinstance(r, str) else repr(r) for r in mixed])

    # Without return_exceptions the first error comes out and the others keep running.
    log.clear()
    slow = asyncio.create_task(job("slow", 6))
    try:
        await asyncio.gather(slow, job("boom", 2, RuntimeError("boom")))
    except RuntimeError as exc:
        print("caught", exc, "| slow done:", slow.done())
    print(await slow, log)

    # Cancelling a gather cancels all its children.
    log.clear()
    group = asyncio.gather(job("g", 99), job("h", 99))
    await asyncio.sleep(0)
    print("cancel accepted:", group.cancel())
    try:
        await group
    except asyncio.CancelledError:
        print("cancelled:", group.cancelled(), sorted(log))

    # One child cancelled from outside surfaces as an error; the rest go on.
    victim, other = (asyncio.create_task(job(n, 3)) for n in ("victim", "other"))
    await asyncio.sleep(0)
    victim.cancel("by hand")
    results = await asyncio.gather(victim, other, return_exceptions=True)
    print([type(r).__name__ for r in results], victim.cancelled(), other.result())

    nested = await asyncio.gather(asyncio.gather(job("i", 1), job("j", 2)), *(job(n, 0) for n in "kl"))
    same = asyncio.ensure_future(job("m", 0))
    print(nested, await asyncio.gather(same, same), await asyncio.gather())
    try:
        await asyncio.gather(*[job(str(n), n, ValueError(n)) for n in (3, 1, 2)])
    except ValueError as exc:
        print("first to fail:", exc)
    await asyncio.sleep(0.01)


asyncio.run(main())
