"""weakref: observers that vanish, weak dictionaries, finalizers, WeakMethod."""
import gc
import weakref


class Signal:
    def __init__(self): self._slots = []

    def connect(self, slot):
        make = weakref.WeakMethod if hasattr(slot, "__self__") else weakref.ref
        self._slots.append(make(slot, self._slots.remove))

    def emit(self, *args):
        return [slot(*args) for ref in list(self._slots) if (slot := ref()) is not None]


class Listener:
    def __init__(self, name): self.name = name
    def heard(self, what): return f"{self.name} heard {what}"


signal = Signal()
ana, bob = map(Listener, ("ana", "bob"))
signal.connect(ana.heard), signal.connect(bob.heard)
signal.connect(shout := lambda what: what.upper())
print(signal.emit("rain"), len(signal._slots))
del bob
gc.collect()
print(signal.emit("sun"), len(signal._slots))

naive = weakref.ref(ana.heard)  # a bound method is a fresh object each time
print("plain ref to a method is dead at once:", naive() is None)


class Image:
    instances = weakref.WeakSet()
    cache = weakref.WeakValueDictionary()

    def __init__(self, name):
        self.name = name
        self.instances.add(self)

    @classmethod
    def load(cls, name):
        if (image := cls.cache.get(name)) is None:
            image = cls.cache[name] = cls(name)
        return image


a, b = Image.load("a"), Image.load("b")
print(Image.load("a") is a, sorted(Image.cache), len(Image.instances))
a.twin, b.twin = b, a  # a cycle: only the collector can free it
log = []
weakref.finalize(a, log.append, "a finalized")
last = weakref.finalize(b, log.append, "b finalized")
gc.disable()
del a, b
print("before collect:", sorted(Image.cache), log)
gc.enable()
gc.collect()
print("after collect:", sorted(Image.cache), sorted(log), last.alive, len(Image.instances))
sizes = weakref.WeakKeyDictionary({ana: 1})
proxy = weakref.proxy(ana)
print(proxy.name, sizes[ana], weakref.getweakrefcount(ana) > 1, weakref.ref(ana) is weakref.ref(ana))
del ana
gc.collect()
try:
    proxy.name
except ReferenceError:
    print("proxy is dead;", len(sizes), len(signal._slots), shout("x"))
