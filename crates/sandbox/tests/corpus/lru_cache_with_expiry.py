"""An LRU cache with expiry on an injected clock, as a MutableMapping."""
from collections import OrderedDict
from collections.abc import MutableMapping


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class LRU(MutableMapping):
    def __init__(self, size, ttl, clock, on_evict=None):
        self.size, self.ttl, self.clock = size, ttl, clock
        self.on_evict = on_evict or (lambda *_: None)
        self._data = OrderedDict()
        self.hits = self.misses = 0

    def __getitem__(self, key):
        try:
            value, expires = self._data[key]
        except KeyError:
            self.misses += 1
            return self.__missing__(key)
        if expires <= self.clock():
            self._drop(key, "expired")
            self.misses += 1
            return self.__missing__(key)
        self.hits += 1
        self._data.move_to_end(key)
        return value

    def __missing__(self, key):
        raise KeyError(key)

    def __setitem__(self, key, value):
        self._data[key] = value, self.clock() + self.ttl
        self._data.move_to_end(key)
        while len(self._data) > self.size:
            self._drop(next(iter(self._data)), "full")

    def __delitem__(self, key):
        self._drop(key, "deleted")

    def __iter__(self):
        now = self.clock()
        return (k for k, (_, expires) in list(self._data.items()) if expires > now)

    def __len__(self):
        return sum(1 for _ in self)

    def _drop(self, key, why):
        value, _ = self._data.pop(key)
        self.on_evict(key, value, why)


clock, evicted = Clock(), []
cache = LRU(3, ttl=10, clock=clock, on_evict=lambda *args: evicted.append(args))
cache.update(a=1, b=2, c=3)
print(cache["a"], cache.get("zz", "default"), list(cache))
cache["d"] = 4
clock.now = 6
cache["c"] = 33
clock.now = 11
print(list(cache), len(cache), "a" in cache, "c" in cache, cache.hits, cache.misses)
print(evicted, cache.pop("c"), cache.setdefault("e", 5), cache.popitem(), dict(cache), bool(cache))
print(evicted[-3:], cache == {}, isinstance(cache, dict), hasattr(cache, "items"))
