"""Structural pattern matching over JSON-like events, classes, guards, captures."""
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    SALE = "sale"
    REFUND = "refund"


@dataclass
class Line:
    sku: str
    qty: int = 1


class Range:
    __match_args__ = ("low", "high")

    def __init__(self, low, high):
        self.low, self.high = low, high


LIMIT = 3


def describe(event):
    match event:
        case {"type": "order", "lines": [], **rest}:
            return f"empty order, other keys {sorted(rest)}"
        case {"type": "order", "lines": [{"sku": first}, *others], "user": {"name": str(name)}}:
            return f"{name} ordered {first} and {len(others)} more"
        case {"type": "ping" | "pong" as word}:
            return f"heartbeat {word}"
        case [Kind.SALE, Line(sku, qty)] if qty > LIMIT:
            return f"bulk sale of {sku}"
        case [Kind.SALE | Kind.REFUND as kind, Line(sku=sku), *_]:
            return f"{kind.value} of {sku}"
        case Range(low, high) if low > high:
            return "backwards range"
        case Range(0, high) | Range(high, 0):
            return f"range touching zero, other end {high}"
        case (int() | float() as x, int() | float() as y):
            return f"point {x + y}"
        case [[a, b], [c, d]] if a * d - b * c == 0:
            return "singular 2x2"
        case [first, *middle, last]:
            return f"sequence {first!r}..{last!r} with {len(middle)} between"
        case bool(flag):
            return f"flag {flag}"
        case int(n) if n < 0:
            return "negative"
        case 0 | 1 | None:
            return f"constant {event}"
        case str() as text if (parts := text.split(":")) and len(parts) == 2:
            return f"pair {parts}"
        case str():
            return "text"
        case _:
            return f"unmatched {type(event).__name__}"


events = [
    {"type": "order", "lines": [], "id": 4, "at": 1}, {"type": "ping", "extra": 1}, {"type": "order", "lines": [{"sku": "x"}], "user": {}},
    {"type": "order", "lines": [{"sku": "a1"}, {}, {}], "user": {"name": "Ana", "age": 3}},
    [Kind.SALE, Line("w", 5)], (Kind.REFUND, Line("w", 5), "note"), Range(5, 2), Range(0, 9), Range(-4, 0), Range(1, 2),
    (1, 2.5), [[1, 2], [2, 4]], "ab", b"ab", [7], True, -3, 1.0, None, "k:v", range(3), {1, 2},
]
for n, event in enumerate(events):
    print(f"{n:>2} {describe(event)}")
