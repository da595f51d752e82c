"""asyncio.Runner and contextvars: isolation between tasks, resets, shared contexts."""
import asyncio
from contextvars import Context, ContextVar, copy_context

request_id = ContextVar("request_id", default="-")
trail: ContextVar[tuple] = ContextVar("trail", default=())


def note(text):
    trail.set((*trail.get(), f"{request_id.get()}:{text}"))


async def inner(text):
    await asyncio.sleep(0)
    note(text)


async def handle(number):
    token = request_id.set(f"r{number}")
    try:
        note("start")
        await inner("plain await shares")  # same task, same context
        await asyncio.create_task(inner("a task gets a copy"))
        await asyncio.gather(inner("so does gather"))
        return trail.get()
    finally:
        request_id.reset(token)
        note("after reset")


async def main():
    for result in await asyncio.gather(*(handle(n) for n in (1, 2))):
        print(result)
    print("outside:", request_id.get(), trail.get())

    # An explicit context makes changes visible to whoever holds it.
    context = copy_context()
    await asyncio.create_task(inner("explicit"), context=context)
    print("held:", context[trail], request_id in context, trail.get())

    seen = []
    request_id.set("callback")
    asyncio.get_running_loop().call_soon(lambda: seen.append(request_id.get()))
    request_id.set("changed later")
    await asyncio.sleep(0)
    print("call_soon captured:", seen)


async def bump():
    request_id.set(request_id.get() + "+")
    return request_id.get()


asyncio.run(main())
print("run() left nothing behind:", request_id.get())
with asyncio.Runner() as runner:
    print("runner keeps its context:", [runner.run(bump()) for _ in range(3)], request_id.get())
    fresh = Context()
    print("unless given another:", runner.run(bump(), context=fresh), fresh[request_id], runner.run(bump()))

plain = copy_context()
plain.run(note, "one"), plain.run(note, "two")
print(plain[trail], len(plain), plain.get(request_id), list(plain)[0].name, trail.get())
token = request_id.set("x")
try:
    plain.run(request_id.reset, token)
except ValueError:
    print("a token belongs to its context;", token.var is request_id, token.old_value is token.MISSING)
