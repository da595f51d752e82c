"""Coroutine-style generators: send, throw, close, delegation and return values."""
from contextlib import closing


def averager():
    total, count, average = 0, 0, None
    try:
        while True:
            try:
                value = yield average
            except ValueError as exc:
                print("reset:", exc)
                total, count, average = 0, 0, None
                continue
            total += value
            count += 1
            average = total / count
    finally:
        print(f"closing with {count} values")


avg = averager()
next(avg)
print([avg.send(n) for n in (10, 20, 60)], avg.throw(ValueError("bad batch")), avg.send(4))
avg.close()
try:
    avg.send(1)
except StopIteration as stop:
    print("finished:", stop.value)


def flatten(tree):
    depth = 0
    for node in tree:
        if isinstance(node, list):
            depth = max(depth, (yield from flatten(node)))
        else:
            yield node
    return depth + 1


def fragile():
    try:
        yield "first"
    except KeyError:
        yield "recovered"
    finally:
        print("cleanup")


def outer(inner):
    yield (yield from inner)


gen = outer(fragile())
print(next(gen), gen.throw(KeyError("k")), next(gen), next(gen, "exhausted"))
print(list(outer(flatten([1, [2, [3, []], 4], [[5]]]))))
with closing(fragile()) as g:
    print(next(g), g.gi_frame is not None)


try:
    list(next(iter([])) for _ in "x")
except RuntimeError as exc:
    print(type(exc).__name__, type(exc.__cause__).__name__)
lazy = (print("evaluated", n) or n for n in [1, 2])
print("nothing yet;", next(lazy), sum(lazy), list(lazy))
