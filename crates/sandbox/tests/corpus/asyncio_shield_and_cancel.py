"""Cancellation: cleanup, shield, suppression with uncancel, messages, finally awaits."""
import asyncio

log, gate = [], asyncio.Event()


async def save(record):
    await gate.wait()
    log.append(f"saved {record}")
    return record


async def handler():
    saving = asyncio.create_task(save("order"))
    try:
        await asyncio.shield(saving)
    except asyncio.CancelledError:
        log.append(f"handler cancelled, saved yet: {saving.done()}")
        gate.set()
        await saving
        raise


async def with_cleanup(name):
    try:
        await asyncio.Event().wait()
    finally:
        log.append(await asyncio.sleep(0, f"{name} cleaned up"))  # awaiting is still fine


async def restarting(limit):
    me = asyncio.current_task()
    for life in range(limit):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as exc:
            log.append(f"life {life} {exc.args} cancelling={me.cancelling()}")
            me.uncancel()
    await asyncio.Event().wait()


async def parent():
    try:
        async with asyncio.TaskGroup() as group:
            [group.create_task(with_cleanup(name)) for name in ("one", "two")]
    finally:
        log.sort()  # a group cancels its members in no set order


async def cancel_and_report(coro, *messages):
    task = asyncio.create_task(coro)
    for message in messages:
        await asyncio.sleep(0.001)
        task.cancel(message)
    try:
        print("finished normally", await task)
    except asyncio.CancelledError:
        print(coro.__name__, task.cancelled(), log)
    return log.clear() or task


async def main():
    await cancel_and_report(handler(), "stop")
    await cancel_and_report(parent(), "stop")
    await cancel_and_report(restarting(2), "a", "b", "c")
    done = await cancel_and_report(save("quick"))
    print(done.cancel(), done.result(), done.cancelled(), done.cancelling())


asyncio.run(main())
