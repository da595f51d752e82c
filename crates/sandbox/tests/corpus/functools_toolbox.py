"""functools: caches, partials, reduce, cmp_to_key, single dispatch, total ordering."""
from collections.abc import Mapping, Sequence
from functools import (cache, cached_property, cmp_to_key, lru_cache, partial, partialmethod, reduce,
                       singledispatch, singledispatchmethod)

square = lru_cache(maxsize=3)(lambda n: n * n)
print([square(n) for n in (1, 2, 3, 1, 4, 2, 1)], square.cache_info(), square.__wrapped__(9))


@cache
def ways(amount, coins=(50, 20, 10, 5, 2, 1)):
    if amount <= 0 or not coins:
        return int(amount == 0)
    return ways(amount - coins[0], coins) + ways(amount, coins[1:])


print("ways to pay 100:", ways(100), "cached:", ways.cache_info().currsize)


@singledispatch
def render(value): return f"<{value}>"


@render.register(int)
@render.register(float)
def _(value): return f"{value:,}"


render.register(Mapping, lambda value: "{" + "; ".join(f"{k}={render(v)}" for k, v in value.items()) + "}")
render.register(Sequence, lambda value: "[" + " ".join(map(render, value)) + "]")
render.register(str, str.title)
print(render({"a": [1234567, "hello world", None], "ok": True, "t": (2.5, {1})}), render.dispatch(bool).__name__)


class Cart:
    def __init__(self, *prices):
        self.prices, self.log = prices, []

    @cached_property
    def total(self):
        self.log.append("summed")
        return sum(self.prices)

    @singledispatchmethod
    def add(self, item): raise TypeError(type(item).__name__)

    @add.register
    def _(self, item: int):
        self.prices += (item,)

    @add.register
    def _(self, item: list): list(map(self.add, item))

    def scaled(self, factor, *, offset=0): return self.total * factor + offset
    double = partialmethod(scaled, 2, offset=1)


cart = Cart(5, 10)
cart.add([1, [2, 3]])
print(cart.total, cart.total, cart.double(), cart.double(offset=100), cart.log, cart.prices)
del cart.total
print(cart.add(79), cart.total, cart.log)

hexed = partial(int, base=16)
compose = lambda *fs: reduce(lambda f, g: lambda x: g(f(x)), fs)
print(hexed("ff"), hexed("11", base=2), partial(hexed, "7f")(), compose(hexed, str, reversed, list)("ff"))
by_version = cmp_to_key(lambda a, b: (a > b) - (a < b) if len(a) == len(b) else len(a) - len(b))
print(sorted(["v10", "v9", "v1", "v100"], key=by_version), reduce(lambda a, d: a * 10 + d, [4, 0, 7], 0))
