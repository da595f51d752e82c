"""Multiple inheritance: C3 order, cooperative super(), mixins, abstract parts."""
from abc import ABC, abstractmethod


class Handler(ABC):
    def __init__(self, **options):
        if options:
            raise TypeError(f"unknown options: {sorted(options)}")

    @abstractmethod
    def work(self, value): ...

    def handle(self, value):
        return self.work(value)


class Trimming(Handler):
    def handle(self, value):
        return super().handle(value.strip())


class Logging(Handler):
    def __init__(self, *, prefix="log", **options):
        super().__init__(**options)
        self.prefix, self.lines = prefix, []

    def handle(self, value):
        self.lines += [f"{self.prefix}<{value}>", result := super().handle(value)]
        return result


class Caching(Handler):
    def __init__(self, *, limit=2, **options):
        super().__init__(**options)
        self.limit, self.memo = limit, {}

    def handle(self, value):
        if value in self.memo:
            return self.memo[value] + "*"
        if len(self.memo) >= self.limit:
            del self.memo[next(iter(self.memo))]
        return self.memo.setdefault(value, super().handle(value))


class Upper(Handler):
    def work(self, value):
        return value.upper()


class LoggedFirst(Logging, Trimming, Caching, Upper): ...
class CachedFirst(Trimming, Caching, Logging, Upper): ...


for cls in (LoggedFirst, CachedFirst):
    h = cls(prefix="p", limit=1)
    out = [h.handle(v) for v in (" a ", "a", "b", "a")]
    print(cls.__name__, [c.__name__ for c in cls.__mro__[:-2]], out)
    print("  ", h.lines)

try:
    type("Broken", (Handler, Upper), {})
except TypeError as exc:
    print("no consistent order:", type(exc).__name__)
for make in (lambda: Logging(), lambda: Upper(colour=1), lambda: CachedFirst(limit=1, nope=2)):
    try:
        make()
    except TypeError as exc:
        print("refused:", "abstract" if "abstract" in str(exc) else exc)
print(sorted(Logging.__abstractmethods__), Upper.__abstractmethods__ == frozenset(), super(Caching, h).handle("zz"))
