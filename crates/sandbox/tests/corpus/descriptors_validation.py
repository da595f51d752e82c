"""Descriptors: validation with __set_name__, data vs non-data lookup order."""


class Field:
    def __init__(self, *checks, default=None):
        self.checks, self.default = checks, default

    def __set_name__(self, owner, name):
        self.name = name
        owner.registry = [*getattr(owner, "registry", []), name]

    def __get__(self, obj, owner=None):
        return self if obj is None else obj.__dict__.get(self.name, self.default)

    def __set__(self, obj, value):
        for check in self.checks:
            value = check(self.name, value)
        obj.__dict__[self.name] = value

    def __delete__(self, obj):
        obj.__dict__.pop(self.name, None)


def of_type(kind, low=None, high=None):
    def check(name, value):
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{name} wants {kind.__name__}, got {type(value).__name__}")
        if low is not None and not low <= value <= high:
            raise ValueError(f"{name}={value} is outside {low}..{high}")
        return value
    return check


class Lazy:
    def __init__(self, make):  # non-data: the instance dict shadows it after the first read
        self.make, self.name = make, make.__name__

    def __get__(self, obj, owner=None):
        print(f"  computing {self.name}")
        value = obj.__dict__[self.name] = self.make(obj)
        return value


class Server:
    host = Field(of_type(str), lambda _, v: v.strip().lower())
    port = Field(of_type(int, 1, 65535), default=8080)

    def __init__(self, **values):
        [setattr(self, name, value) for name, value in values.items()]

    @Lazy
    def url(self):
        return f"http://{self.host}:{self.port}"


TlsServer = type("TlsServer", (Server,), {"cert": Field(of_type(str), default="none")})
s = Server(host="  Example.ORG ")
print(s.url, s.url, s.port, vars(s))
s.port = 9000
print("stale:", s.url)
del s.url, s.port
print("fresh:", s.url, Server.registry, TlsServer.registry)
vars(s)["port"] = "sneaky"
print("unchecked write through the dict:", s.port, type(Server.port).__name__)
for name, value in (("port", True), ("port", 70000), ("host", 5)):
    try:
        setattr(s, name, value)
    except (TypeError, ValueError) as exc:
        print(type(exc).__name__, exc)
