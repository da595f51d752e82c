"""Comprehension and closure scoping: leaks, late binding, walrus, evaluation order."""
n = "outer"
squares = [n * n for n in range(4)]
print(squares, n)

# Closures capture variables, not values; a default argument freezes the value.
late = [lambda: i for i in range(3)]
frozen = [lambda i=i: i for i in range(3)]
print([f() for f in late], [f() for f in frozen])
loop = []
for j in range(3):
    loop.append(lambda: j)
j = "rebound"
print([f() for f in loop])

# The walrus inside a comprehension binds in the enclosing scope.
print([last := x for x in "abc"], last, any((hit := w).startswith("q") for w in ["ok", "quit", "z"]), hit)

# The first iterable is evaluated at once, the rest lazily.
data = [1, 2, 3]
lazy = (x * factor for x in data)
data, factor = [10, 20], 100
print(list(lazy))


class Config:
    base = 3
    sizes = [base * k for k in range(3)] if False else list(map(lambda k: k * 2, range(base)))
    total = sum(size for size in sizes)
    names = ("x",)
    from_first = [name for name in names]


print(Config.sizes, Config.total, Config.from_first)
try:
    class Broken:
        unit = 5
        scaled = [unit * k for k in range(2)]
except NameError as exc:
    print("class scope is invisible inside:", type(exc).__name__)

grid = [[r * 3 + c for c in range(3)] for r in range(3)]
print([v for row in grid for v in row if v % 2], [list(col) for col in zip(*grid)], [[row[i] for row in grid] for i in (0, 2)])
aliased, distinct = [[0] * 2] * 2, [[0] * 2 for _ in range(2)]
aliased[0][0] = distinct[0][0] = 1
print(aliased, distinct)


def noisy(label, value):
    print(label, end=" ")
    return value


print({noisy("k", k): noisy("v", k * 2) for k in (1, 2)})
inverted = {v: k for k, v in {"a": 1, "b": 2, "c": 1}.items()}
print(inverted, {k % 2: k for k in range(5)}, [x for x in [0, 1, 2] if x if x > 1])


def counter():
    total = 0

    def add(by=1):
        nonlocal total
        total += by
        return total
    return add


first, second = counter(), counter()
print(first(), first(5), second(), first.__closure__[0].cell_contents, counter.__code__.co_cellvars)
