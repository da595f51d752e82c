"""collections in use: Counter algebra, ChainMap layers, defaultdict, UserDict."""
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, namedtuple

stock = Counter(apple=5, pear=2, fig=0)
sold = Counter("apple apple pear pear pear plum".split())
print(stock - sold, stock | sold, stock & sold)
left = stock.copy()
left.subtract(sold)
print(dict(left), +left, -left, left.total(), stock >= Counter(apple=2), "fig" in stock, stock["none"])
print(Counter("mississippi").most_common(2), Counter(a=1, b=0) == Counter(a=1), list(Counter(x=2, y=-1, z=1).elements()))

defaults = {"colour": "red", "size": "m", "debug": False}
env, cli = {"size": "l"}, {"debug": True}
config = ChainMap(cli, env, defaults)
config["colour"] = "blue"
print(dict(config), cli, defaults["colour"], list(config))
child = config.new_child({"size": "xl"})
del config["colour"]
print(child["size"], config["size"], child["colour"], child.parents["debug"], len(child.maps))
try:
    del config["size"]
except KeyError as exc:
    print("only the first map can lose keys:", type(exc).__name__)

tree = lambda: defaultdict(tree)
root = tree()
root["a"]["b"]["c"] = 1
root["a"]["d"]
print({k: {kk: dict(vv) for kk, vv in v.items()} for k, v in root.items()}, root.get("zzz"), "zzz" in root)


class CaseFold(UserDict):
    def __setitem__(self, key, value): super().__setitem__(key.casefold(), value)
    def __getitem__(self, key): return super().__getitem__(key.casefold())
    def __contains__(self, key): return key.casefold() in self.data


headers = CaseFold({"Content-Type": "json"}, ETAG="x")
headers.update(etag="y")
print(headers, headers["CONTENT-type"], "Etag" in headers, headers.get("nope", 0), headers.setdefault("A", 1), len(headers))

order = OrderedDict.fromkeys("abcd")
order.move_to_end("b")
order.move_to_end("d", last=False)
print("".join(order), order.popitem(last=False)[0], OrderedDict(a=1, b=2) == OrderedDict(b=2, a=1), OrderedDict(a=1, b=2) == dict(b=2, a=1))

Point = namedtuple("Point", "x y label", defaults=["?"])
p = Point(1, y=2)
print(p, p._replace(x=9), p._asdict(), Point._make("abc"), p == (1, 2, "?"), p < (1, 3), Point._field_defaults)
Odd = namedtuple("Odd", ["id", "class", "id", "_x"], rename=True)
print(Odd._fields, hash(p) == hash((1, 2, "?")), [*map(type(p).y.__get__, [p])])
d = {"b": 1, "a": 2}
d["b"] = d.pop("b")
print(d, d | {"c": 3, "a": 0}, list(reversed(d)), d.keys() & {"a", "z"}, sorted(d.items() ^ {("a", 2), ("q", 0)}))
