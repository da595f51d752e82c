"""copy and pickle: identity, cycles, __reduce__, __getstate__, hooks, persistent ids."""
import copy
import io
import pickle
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum


class Node:
    def __init__(self, name, parent=None):
        self.name, self.parent, self.children = name, parent, []
        parent and parent.children.append(self)


@dataclass
class Connection:
    url: str
    cache: dict = field(default_factory=dict)
    handle: object = None

    def __getstate__(self): return {k: v for k, v in self.__dict__.items() if k != "handle"}
    def __setstate__(self, state): self.__dict__.update(state, handle="reopened")


class Singleton:
    def __reduce__(self): return "ONLY"

class Ratio:
    __slots__ = ("top", "bottom")
    def __init__(self, top, bottom): self.top, self.bottom = top, bottom


ONLY, Mode = Singleton(), Enum("Mode", "FAST SLOW", module=__name__)
shared = [1, 2]
data = {"a": shared, "b": shared, "t": (shared, {3})}
data["self"] = data
shallow, deep, loaded = copy.copy(data), copy.deepcopy(data), pickle.loads(pickle.dumps(data))
shared.append(3)
print(shallow["a"], deep["a"], loaded["a"], shallow["self"] is data, deep["self"] is deep, loaded["self"] is loaded)
print(deep["a"] is deep["b"], loaded["a"] is loaded["t"][0], copy.copy(shared) is shared, copy.deepcopy(ONLY) is ONLY)

root = Node("root")
Node("leaf", Node("mid", root))
clone = pickle.loads(pickle.dumps(root.children[0], protocol=4))
print(clone.parent.name, clone.parent.children[0] is clone, clone.children[0].parent is clone, clone.parent is root)

c = Connection("db://x", {"k": 1}, handle=object())
for copied in (pickle.loads(pickle.dumps(c)), copy.copy(c)):
    print(copied, copied.cache is c.cache)
r = copy.copy(Ratio(1, 3))
values = [datetime(2024, 1, 1, tzinfo=timezone.utc), Decimal("1.10"), OrderedDict(b=1, a=2), deque([1], maxlen=2), Mode.FAST, 3 + 4j, b"\x00", frozenset([1]), 2**70, float("inf"), ..., len]
for protocol in (0, 2, pickle.HIGHEST_PROTOCOL):
    print(protocol if protocol < 5 else "highest", pickle.loads(pickle.dumps(values, protocol)) == values, pickle.loads(pickle.dumps([ONLY, Mode.FAST], protocol))[0] is ONLY, r.bottom)


class Guarded(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{name} refused")


for value in (OrderedDict(x=1), Mode.FAST):
    try:
        print(list(Guarded(io.BytesIO(pickle.dumps(value))).load().items()))
    except pickle.UnpicklingError as exc:
        print(exc)
