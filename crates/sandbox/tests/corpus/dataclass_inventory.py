"""Dataclass features: ordering, frozen, slots, InitVar, replace, inheritance."""
from dataclasses import (FrozenInstanceError, InitVar, KW_ONLY, asdict, astuple, dataclass,
                         field, fields, make_dataclass, replace)
from typing import ClassVar


@dataclass(order=True)
class Part:
    sort_index: tuple = field(init=False, repr=False)
    name: str
    grams: float = field(compare=False)
    stock: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    discount: InitVar[float] = 0.0
    price: float = field(default=10.0, metadata={"unit": "EUR"})
    created: ClassVar[int] = 0

    def __post_init__(self, discount):
        self.price *= 1 - discount
        self.sort_index = (-self.stock, self.name)
        type(self).created += 1


bolt = Part("bolt", 4.5, 100, discount=0.25)
nut = Part("nut", 1.25, 100)
gear = Part("gear", 55, 3, ["steel"], price=99.0)
print(bolt)
print([p.name for p in sorted([gear, nut, bolt])], "created", Part.created)
print("compare ignores grams:", Part("a", 1) == Part("a", 2), "unhashable:", Part.__hash__ is None)
bolt.tags.append("m4")
print("no shared default:", nut.tags, [f.name for f in fields(Part)], fields(Part)[-1].metadata["unit"])
half = replace(gear, stock=7, discount=0.5)
print("replaced:", half.price, gear.price, half.tags is gear.tags, half < gear, replace(half).price)


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    _: KW_ONLY
    y: int = 0
    history: tuple = field(default=(), hash=False, compare=True)

    def moved(self, dx):
        return replace(self, x=self.x + dx, history=(*self.history, self))


@dataclass(frozen=True, slots=True)
class Named(Point):
    label: str = field(default="?", kw_only=True)


p = Point(1, y=2).moved(4)
print(p, hash(p) == hash(Point(5, y=2)), p == Point(5, y=2), Point.__match_args__)
for attempt in (lambda: setattr(p, "x", 9), lambda: Point(1, 2), lambda: setattr(Part("q", 1), "anything", 1)):
    try:
        attempt()
        print("allowed")
    except (FrozenInstanceError, TypeError) as exc:
        print(type(exc).__name__)
n = Named(3, label="home")
print(n, asdict(n), hasattr(n, "__dict__"), n == Point(3), Named.__slots__)
deep = asdict(p)
print(deep["history"][0], astuple(p))
Row = make_dataclass("Row", [("a", int), ("b", list, field(default_factory=list))], namespace={"size": lambda s: len(s.b)})
print(Row(1, [2, 3]), Row(1).size())
