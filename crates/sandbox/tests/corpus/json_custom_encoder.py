"""JSON with a custom encoder, tagged decoding and the format's odd corners."""
import json
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum, IntEnum


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Color(Enum):
    RED = "r"


@dataclass
class Item:
    sku: str
    price: Decimal
    tags: set = field(default_factory=set)


class Encoder(json.JSONEncoder):
    def default(self, o):
        if is_dataclass(o):
            return {"$type": type(o).__name__, **asdict(o)}
        if isinstance(o, Decimal):
            return {"$dec": str(o)}
        if isinstance(o, (date, datetime)):
            return o.isoformat()
        if isinstance(o, (set, frozenset)):
            return sorted(o)
        if isinstance(o, Enum):
            return f"{type(o).__name__}.{o.name}"
        return super().default(o)


def revive(d):
    if d.keys() == {"$dec"}:
        return Decimal(d["$dec"])
    if d.get("$type") == "Item":
        return Item(d["sku"], d["price"], set(d["tags"]))
    return d


payload = {
    "items": [Item("x1", Decimal("9.90"), {"b", "a"}), Item("x2", Decimal("1E+2"))],
    "when": datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc),
    "level": Level.HIGH, "color": Color.RED,
    1: "int key", True: "bool key wins", None: "none key", 2.5: (1, 2),
}
text = json.dumps(payload, cls=Encoder)
print(text)
back = json.loads(text, object_hook=revive)
print(back["items"][0] == payload["items"][0], back["items"][1].price.as_tuple())
print("keys back:", list(back)[4:])

print(json.dumps({"b": [1, {"z": []}], "a": {}}, indent=2, sort_keys=True, separators=(",", ": ")))
print(json.dumps("tab\t quote\" slash/ \u00e9 \U0001f600 \x7f"), json.dumps("\u00e9", ensure_ascii=False) == '"\u00e9"')
print(json.loads('"\\ud83d\\ude00"') == "\U0001f600", json.loads("1e2"), json.loads("-0"), json.loads(" [1E400] "))
print(json.loads('{"a": 1, "a": 2}'), json.loads('{"a": 1, "a": 2}', object_pairs_hook=list))
print(json.loads("[1.10, 7]", parse_float=Decimal, parse_int=str), json.dumps([float("nan"), float("-inf")]))
for bad in (lambda: json.dumps({(1, 2): 3}), lambda: json.dumps(float("nan"), allow_nan=False), lambda: json.dumps({1, 2})):
    try:
        bad()
    except (TypeError, ValueError) as exc:
        print("refused:", type(exc).__name__)
print(json.dumps({(1, 2): 3, "k": 1}, skipkeys=True))
