"""Context managers: order of exits, suppression, ExitStack, reuse, decorators."""
import io
from contextlib import ContextDecorator, ExitStack, closing, contextmanager, nullcontext, redirect_stdout, suppress


class Resource:
    def __init__(self, name, swallow=()):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        print("open", self.name)
        return self.name.upper()

    def __exit__(self, kind, value, trace):
        print("close", self.name, "after", kind.__name__ if kind else "success")
        return kind is not None and issubclass(kind, self.swallow)


@contextmanager
def transaction(db):
    snapshot = dict(db)
    try:
        yield db
    except LookupError as exc:
        db |= snapshot | {"error": type(exc).__name__}
    else:
        db["commits"] = db.get("commits", 0) + 1
    finally:
        db["runs"] = db.get("runs", 0) + 1


with Resource("a") as a, Resource("b", (ValueError,)) as b:
    print("body", a, b)
    raise ValueError("swallowed by b, so a sees success")

db = {"x": 1}
with transaction(db):
    db["x"] = 2
with transaction(db) as inside:
    inside["x"] = 99
    inside["missing"]["deeper"] = 1
print(db)

with ExitStack() as stack:
    names = [stack.enter_context(Resource(n)) for n in "pq"]
    stack.callback(print, "callback between", names, sep=" | ")
    stack.push(lambda kind, value, trace: print("push saw", repr(value)) or True)
    raise RuntimeError("boom")
with ExitStack() as stack:
    stack.enter_context(Resource("kept"))
    later = stack.pop_all()
print("not closed yet")
later.close()


class Tag(ContextDecorator):
    def __enter__(self): print("<", end="")
    def __exit__(self, *exc): print(">")


@Tag()
def shout(text): print(text, end="")


shout("decorated")
with redirect_stdout(io.StringIO()) as captured, nullcontext(7) as seven:
    print("hidden", seven)
with suppress(ZeroDivisionError, KeyError), closing(io.StringIO("x")) as handle:
    1 // 0
print(repr(captured.getvalue()), handle.closed)
