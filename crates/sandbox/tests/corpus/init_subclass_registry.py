"""Plugin registries: __init_subclass__, metaclass __prepare__, __class_getitem__."""


class Exporter:
    registry = {}

    def __init_subclass__(cls, /, fmt=None, priority=0, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.fmt, cls.priority = fmt or cls.__name__.removesuffix("Exporter").lower(), priority
        Exporter.registry.setdefault(cls.fmt, []).append(cls)

    @classmethod
    def best(cls, fmt):
        return max(cls.registry[fmt], key=lambda c: c.priority)()

    def __call__(self, rows):
        return self.sep.join(map(str, rows))


class CsvExporter(Exporter): sep = ","
class FastCsv(CsvExporter, fmt="csv", priority=5): sep = ", "
class PipeExporter(Exporter, priority=-1): sep = "|"


print({fmt: [c.__name__ for c in classes] for fmt, classes in Exporter.registry.items()})
print(Exporter.best("csv")([1, 2]), Exporter.best("pipe")("ab"), FastCsv.priority, CsvExporter.priority)


class Namespace(dict):
    def __setitem__(self, key, value):
        if key in self and not key.startswith("__"):
            raise NameError(f"{key} defined twice")
        super().__setitem__(key, value)


class Strict(type):
    @classmethod
    def __prepare__(mcls, name, bases, **options):
        return Namespace(version=options.get("version", 1))

    def __new__(mcls, name, bases, namespace, **options):
        cls = super().__new__(mcls, name, bases, dict(namespace))
        cls.order = [k for k in namespace if not k.startswith("__")]
        return cls

    def __call__(cls, *args, **kwargs):
        instance = super().__call__(*args, **kwargs)
        instance.sealed = True
        return instance

    def __iter__(cls): return iter(cls.order)


class Api(metaclass=Strict, version=3):
    label = f"v{version}"

    def get(self): return self.label
    def put(self): return type(self).version
    def __class_getitem__(cls, item): return f"{cls.__name__}<{item}>"


print(list(Api), Api["int"], (api := Api()).sealed, api.get(), api.put(), type(Api).__name__, "sealed" in vars(Api))
try:
    class Twice(metaclass=Strict):
        def run(self): ...
        def run(self): ...
except NameError as exc:
    print(type(exc).__name__, exc)
Made = Strict("Made", (Api,), {"x": 1, "__slots__": ()})
print(list(Made), Made.label, isinstance(Made(), Api), issubclass(Made, Api), Made.__mro__[1] is Api)
