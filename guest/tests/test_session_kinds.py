"""What a session keeps: each kind of value, function and class comes back as it was."""

import inspect
import sys
import traceback
import types
import unittest
from unittest import mock

from notebook import NotebookTest
from _narrows import session, state


class Values(NotebookTest):
    def test_shared_references_and_cycles(self):
        self.comes_back(
            "a = [1]; b = a; c = {'a': a}; loop = []; loop.append(loop); t = (loop,); loop.append(t)",
            "a is b and c['a'] is a", "loop[0] is loop and loop[1] is t and t[0] is loop",
        )

    def test_values_of_the_standard_library(self):
        self.comes_back(
            "import re, datetime, zoneinfo, collections, decimal, fractions, uuid, pathlib, io, random, array, string\n"
            "r = re.compile('a+', re.I); d = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)\n"
            "m = decimal.Decimal('1.10'); f = fractions.Fraction(1, 3); q = collections.deque([1, 2], maxlen=2)\n"
            "n = collections.Counter('aab'); dd = collections.defaultdict(lambda: [7]); dd['x'].append(1)\n"
            "o = collections.OrderedDict(a=1); big = 3 ** 5000; by = bytes(range(256)); s = {1, frozenset({2})}\n"
            "p = pathlib.PurePosixPath('a/b'); u = uuid.UUID(int=5); text = io.StringIO('abc'); arr = array.array('d', [1.5])\n"
            "chain = collections.ChainMap({'a': 1}); c = 1 + 2j; e = ...; ni = NotImplemented; rg = range(3); sl = slice(1, 2)\n"
            "g = random.Random(7); first = random.Random(7).random(); ns = __import__('types').SimpleNamespace(x=1)\n",
            "r.match('AA') and d.year == 2026 and d.tzinfo is datetime.UTC", "str(m) == '1.10' and f.denominator == 3",
            "q.maxlen == 2 and n['a'] == 2 and dd['y'] == [7] and dd['x'] == [7, 1]",
            "o['a'] == 1 and big == 3 ** 5000 and len(by) == 256 and frozenset({2}) in s",
            "p.name == 'b' and u.int == 5 and text.getvalue() == 'abc' and arr[0] == 1.5 and chain['a'] == 1",
            "e is ... and ni is NotImplemented and list(rg) == [0, 1, 2] and sl.stop == 2 and ns.x == 1",
            "g.getstate() == random.Random(7).getstate()",
        )

    def test_modules_and_what_is_imported_from_them(self):
        self.comes_back(
            "import json as j, os.path, xml.etree.ElementTree as ET\nfrom collections import Counter\n"
            "from math import pi, floor\nhere = globals(); me = __import__('sys').modules['__main__']\n",
            "j.loads('[1]') == [1] and os.path.join('a', 'b') and ET.Element and Counter('a') and floor(pi) == 3",
            "here is globals() and me.__dict__ is globals()",
        )

    def test_exceptions_whose_init_takes_other_arguments(self):
        self.comes_back(
            "class Refused(ValueError):\n"
            "    def __init__(self, code, text):\n        super().__init__(text)\n        self.code = code\n"
            "e = Refused(7, 'no'); k = KeyError('x'); t = ToolError('bad', status=5)\n"
            "o = FileNotFoundError(2, 'none', 'f'); g = ExceptionGroup('many', [e, k])\n"
            "u = UnicodeDecodeError('utf-8', b'a', 0, 1, 'why'); x = SystemExit(3); n = ValueError('a'); n.add_note('b')\n",
            "type(e) is Refused and e.code == 7 and str(e) == 'no'", "type(t) is ToolError and t.status == 5",
            "o.filename == 'f' and o.errno == 2 and g.exceptions == (e, k)", "u.reason == 'why' and x.code == 3",
            "n.__notes__ == ['b']",
        )

    def test_what_tools_give(self):
        self.scope["__builtins__"] = __builtins__
        self.comes_back(
            "from _narrows.calls import RecoveredDict, RecoveredList\n"
            "d = RecoveredDict(a=1); d.raw = 'a: 1'; l = RecoveredList([d]); l.raw = '-'\n",
            "type(d) is RecoveredDict and d == {'a': 1} and d.raw == 'a: 1' and l[0] is d and l.raw == '-'",
        )

    def test_what_the_host_gave_is_not_kept_unless_it_was_rebound(self):
        self.run_cell("pass")
        self.move()
        state, _ = self.save()
        self.assertNotIn(b"ToolError", state)
        self.run_cell("ToolError = 5")
        self.move()
        self.assertEqual(self.scope["ToolError"], 5)

    def test_what_asyncio_has_to_wait_for_comes_back_when_nobody_waits(self):
        self.comes_back(
            "import asyncio\nlimit = asyncio.Semaphore(3); lock = asyncio.Lock(); queue = asyncio.Queue(); queue.put_nowait(7)\n"
            "event = asyncio.Event(); event.set()\n",
            "limit._value == 3 and not lock.locked() and queue.qsize() == 1 and event.is_set()",
        )

    def test_boards_remember_what_was_seen(self):
        with mock.patch.object(state, "_boards", {}):
            self.run_cell("from _narrows.state import board, shared\nb = board('plan', 'team'); b._seen = 5; team = shared.of('x')\n")
            state._boards.clear()
            self.assertEqual(self.move(), {})
            self.assertIs(self.scope["b"], state.board("plan", "team"))
            self.assertEqual((self.scope["b"]._seen, repr(self.scope["team"])), (5, "shared.of('x')"))
            self.assertIs(self.scope["team"].ABSENT, state.shared.ABSENT)

    def test_streams_as_default_arguments(self):
        self.comes_back("import sys\ndef log(x, file=sys.stderr): return file\n", "log(1) is sys.stderr")


class Functions(NotebookTest):
    def test_all_kinds_of_functions(self):
        self.comes_back(
            "import functools\n"
            "def ended(c):\n    try: c.send(None)\n    except StopIteration as e: return e.value\n"
            "def f(a, b=[1], *c, d=2, **e):\n    'doc'\n    return a, b, c, d, e\n"
            "async def co(x): return x\ndef gen(n): yield from range(n)\nasync def agen(): yield 1\n"
            "lam = lambda x: x + 1\nf.note = 'n'\npart = functools.partial(f, 1, d=3)\n"
            "def deco(g):\n    @functools.wraps(g)\n    def w(*a): return 'w', g(*a)\n    return w\n"
            "@deco\ndef deced(x): return x\n"
            "@functools.cache\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
            "fs = [lambda i=i: i for i in range(3)]\n",
            "f(0) == (0, [1], (), 2, {}) and f.__doc__ == 'doc' and f.note == 'n' and f.__defaults__[0] == [1]",
            "ended(co(3)) == 3 and list(gen(2)) == [0, 1] and lam(1) == 2 and part() == (1, [1], (), 3, {})",
            "deced(1) == ('w', 1) and deced.__wrapped__(1) == 1 and deced.__name__ == 'deced' and fib(30) == 832040",
            "[g() for g in fs] == [0, 1, 2] and f.__globals__ is globals() and f.__module__ == '__main__'",
        )

    def test_closures_share_their_cells(self):
        self.run_cell(
            "def outer():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n"
            "    return up, lambda: n, lambda: later\n    later = 1\nup, get, unset = outer()\nup()\n"
        )
        self.assertEqual(self.move(), {})
        self.assertEqual((self.scope["up"](), self.scope["get"]()), (2, 2))
        self.move()
        self.assertEqual((self.scope["up"](), self.scope["get"]()), (3, 3))
        with self.assertRaises(NameError):
            self.scope["unset"]()

    def test_recursive_closures_and_cached_ones(self):
        self.comes_back(
            "import functools\ndef make():\n    @functools.lru_cache(maxsize=9)\n"
            "    def fact(n): return 1 if n < 2 else n * fact(n - 1)\n    def even(n): return n == 0 or odd(n - 1)\n"
            "    def odd(n): return n > 0 and even(n - 1)\n    return fact, even\nfact, even = make()\n",
            "fact(5) == 120 and fact.cache_info().maxsize == 9 and even(10)",
            "fact.__wrapped__.__closure__[0].cell_contents is fact",
        )

    def test_a_restored_function_sees_later_rebinding(self):
        self.run_cell("k = 1\ndef f(): return k, g()\ndef g(): return 'old'")
        self.move()
        self.run_cell("k = 2\ndef g(): return 'new'")
        self.assertEqual(self.scope["f"](), (2, "new"))

    def test_functions_of_code_that_was_run_in_a_dict(self):
        self.comes_back(
            "d = {'y': 3}\nexec('def f():\\n    return y\\ndef g(): return f()', d)\nf = d['f']; g = d['g']\n",
            "f() == 3 and g() == 3 and f.__globals__ is g.__globals__ and g.__globals__['f'] is f and len('x') == 1",
        )

    def test_methods_and_context_managers(self):
        self.comes_back(
            "import contextlib\nseen = []\n@contextlib.contextmanager\ndef cm():\n    seen.append(1)\n    yield 5\n"
            "def use():\n    with cm() as x: return x\nadd = seen.append\nlow = 'ABC'.lower\n"
            "class A:\n    def m(self): return self\n    @classmethod\n    def c(cls): return cls\na = A(); m = a.m; c = A.c\n"
            "a.again = a.m\n",
            "use() == 5 and add.__self__ is seen and low() == 'abc' and m() is a and c() is A and a.again() is a",
        )

    def test_annotations_are_not_evaluated(self):
        self.comes_back(
            "def f(x: 'Later', y: int = 1) -> list['Later']: ...\nclass Later: pass\n",
            "f.__annotations__['y'] is int and f.__annotations__['x'] == 'Later'",
        )

    def test_tracebacks_and_getsource_show_the_source(self):
        self.run_cell("x = 1\n\ndef broken(n):\n    return n / 0  # here\n")
        self.move()
        self.run_cell("y = 2")
        self.assertEqual(inspect.getsource(self.scope["broken"]), "def broken(n):\n    return n / 0  # here\n")
        try:
            self.scope["broken"](1)
        except ZeroDivisionError:
            shown = traceback.format_exc()
        self.assertIn("return n / 0  # here", shown)
        self.assertIn("line 4", shown)


class Classes(NotebookTest):
    def test_plain_classes_with_inheritance(self):
        self.comes_back(
            "class A:\n    'doc'\n    count = 0\n    def __init__(self, v): self.v = v\n    def who(self): return 'A'\n"
            "    @property\n    def twice(self): return self.v * 2\n    @twice.setter\n    def twice(self, x): self.v = x / 2\n"
            "    @classmethod\n    def make(cls): return cls(1)\n    @staticmethod\n    def two(): return 2\n"
            "    class Inner:\n        z = 1\n    def __eq__(self, o): return self.v == o.v\n"
            "class B(A):\n    def who(self): return 'B' + super().who()\nclass C(B, dict): pass\n"
            "b = B(3); c = C(4); c['k'] = b; inner = A.Inner(); A.count = 9; A.link = A; A.first = b\n",
            "b.who() == 'BA' and b.twice == 6 and B.make().v == 1 and A.two() == 2 and A.__doc__ == 'doc'",
            "c['k'] is b and c.who() == 'BA' and type(inner) is A.Inner and A.Inner.__qualname__ == 'A.Inner'",
            "A.count == 9 and A.link is A and A.first is b and A.__hash__ is None and issubclass(C, dict)",
            "B.__mro__ == (B, A, object) and isinstance(b, A) and A.__subclasses__() == [B]",
        )

    def test_dataclasses(self):
        self.comes_back(
            "from dataclasses import dataclass, field, fields, asdict, replace, KW_ONLY, InitVar\nimport typing\n"
            "@dataclass\nclass P:\n    x: int\n    y: list = field(default_factory=list)\n    k: typing.ClassVar[int] = 3\n"
            "@dataclass(slots=True, frozen=True, order=True)\nclass F:\n    a: int\n    _: KW_ONLY\n    b: str = 'b'\n"
            "@dataclass\nclass Q(P):\n    z: InitVar[int] = 1\n    parent: 'P | None' = None\n"
            "    def __post_init__(self, z): self.w = z\n"
            "p = P(1); f = F(1); q = Q(1, parent=p); many = {F(1): [P(2), p]}\n",
            "p == P(1) and P(1).y is not P(1).y and repr(p) == 'P(x=1, y=[])' and asdict(q)['parent'] == {'x': 1, 'y': []}",
            "[x.name for x in fields(F)] == ['a', 'b'] and F(1) < F(2) and many[F(1)][1] is p and q.parent is p and q.w == 1",
            "replace(f, b='c').b == 'c' and not hasattr(f, '__dict__') and [x.name for x in fields(P)] == ['x', 'y']",
        )
        with self.assertRaises(AttributeError):
            self.scope["f"].a = 2

    def test_enums(self):
        self.comes_back(
            "import enum\nclass Color(enum.Enum):\n    RED = 1\n    GREEN = 2\n    ALSO = 1\n    def low(self): return self.name.lower()\n"
            "class Planet(enum.Enum):\n    EARTH = (2, 3)\n    def __init__(self, m, r): self.g = m * r\n"
            "class Perm(enum.IntFlag):\n    R = enum.auto()\n    W = enum.auto()\n"
            "class Kind(str, enum.Enum):\n    A = 'a'\nclass S(enum.StrEnum):\n    X = enum.auto()\n"
            "class Code(int, enum.Enum):\n    def __new__(cls, n, text):\n        o = int.__new__(cls, n)\n        o._value_ = text\n"
            "        return o\n    OK = 200, 'fine'\n"
            "g = Color.GREEN; rw = Perm.R | Perm.W; by = {Color.RED: [g]}\n",
            "Color.GREEN is g and Color(1) is Color.ALSO is Color['RED'] and g.low() == 'green' and by[Color.RED] == [Color(2)]",
            "list(Color) == [Color.RED, g] and len(Color) == 2 and Planet.EARTH.g == 6 and Planet((2, 3)) is Planet.EARTH",
            "rw is Perm(3) and Perm.R in rw and ~Perm.R == Perm.W and Kind('a') is Kind.A and Kind.A == 'a' and S.X == 'x'",
            "Code.OK == 200 and Code('fine') is Code.OK and isinstance(g, Color) and repr(g) == '<Color.GREEN: 2>'",
        )

    def test_tuples_and_dicts_with_names(self):
        self.comes_back(
            "from collections import namedtuple\nfrom typing import NamedTuple, TypedDict\nP = namedtuple('P', 'x y', defaults=[5])\n"
            "class N(NamedTuple):\n    a: int\n    b: str = 'x'\n    def both(self): return self.a, self.b\n"
            "class T(TypedDict, total=False):\n    k: int\np = P(1); n = N(2); t = T(k=1)\n",
            "p == (1, 5) and p.y == 5 and p._replace(x=3) == P(3) and type(p) is P and P._fields == ('x', 'y')",
            "n.both() == (2, 'x') and N.__annotations__['a'] is int and t == {'k': 1} and 'k' in T.__optional_keys__",
        )

    def test_abstract_and_generic_classes(self):
        self.comes_back(
            "import abc\nfrom typing import Generic, TypeVar, Protocol, runtime_checkable, NewType, Optional\nT = TypeVar('T', bound=int)\n"
            "class Base(abc.ABC):\n    @abc.abstractmethod\n    def m(self): ...\nclass Done(Base):\n    def m(self): return 1\n"
            "class Other: pass\nBase.register(Other)\nclass Alone(abc.ABC): pass\nclass Box(Generic[T]):\n    def __init__(self, v: T): self.v = v\n"
            "class IntBox(Box[int]): pass\n@runtime_checkable\nclass HasM(Protocol):\n    def m(self): ...\n"
            "Id = NewType('Id', int); alias = Box[int]; opt = Optional[Done]\nd = Done(); b = Box(1); i = IntBox(2)\n",
            "d.m() == 1 and isinstance(Other(), Base) and not isinstance(Other(), Alone) and Base.__abstractmethods__ == {'m'}",
            "alias.__origin__ is Box and Box.__parameters__ == (T,) and T.__bound__ is int and i.v == 2",
            "isinstance(d, HasM) and not isinstance(b, HasM) and Id(3) == 3 and opt.__args__[0] is Done",
        )
        with self.assertRaises(TypeError):
            self.scope["Base"]()

    def test_metaclasses_and_hooks_do_not_run_again(self):
        self.comes_back(
            "made = []\nclass Meta(type):\n    def __new__(m, name, bases, ns):\n        made.append(name)\n"
            "        return super().__new__(m, name, bases, ns)\n    def hi(cls): return cls.__name__\n"
            "class A(metaclass=Meta): pass\nclass Plug:\n    all = []\n    def __init_subclass__(cls, **k):\n"
            "        Plug.all.append(cls)\nclass X(Plug): pass\nclass Named:\n    def __set_name__(self, o, n): made.append(n)\n"
            "class H:\n    field = Named()\nclass Hook:\n    def __init_subclass__(cls): made.append('hook')\nclass Hooked(Hook): pass\n",
            "made == ['A', 'field', 'hook'] and A.hi() == 'A' and type(A) is Meta and Plug.all == [X]",
        )
        self.run_cell("class Y(Plug): pass")
        self.assertEqual(len(self.scope["Plug"].all), 2)

    def test_slots_and_descriptors(self):
        self.comes_back(
            "class S:\n    __slots__ = ('a', '__hidden', '__weakref__')\n    def __init__(self): self.a = 1; self.__hidden = 2\n"
            "    def get(self): return self.__hidden\nclass Sub(S):\n    __slots__ = ()\n"
            "class One:\n    __slots__ = 'only'\no = One(); o.only = 3\ns = Sub(); fresh = S()\n",
            "s.a == 1 and s.get() == 2 and not hasattr(s, '__dict__') and S().get() == 2 and o.only == 3",
            "__import__('weakref').ref(s)() is s",
        )

    def test_instances_with_their_own_way_of_pickling(self):
        self.comes_back(
            "class G:\n    def __init__(self): self.x = 1; self.skip = open\n    def __getstate__(self): return {'x': self.x}\n"
            "    def __setstate__(self, s): self.__dict__.update(s, back=True)\n"
            "class R:\n    def __init__(self, n): self.n = n\n    def __reduce__(self): return R, (self.n,)\n"
            "g = G(); r = R(4); both = [r, r]\n"
            "early = None\nclass Uses:\n    def __getstate__(self): return json.dumps([1])\n"
            "    def __setstate__(self, s): self.x = helper(json.loads(s))\nearly = Uses(); early.x = 1\n"
            "def helper(x): return x[0]\nimport json\n",
            "early.x == 1",
            "g.x == 1 and r.n == 4 and both[0] is both[1]",
        )


class HostModules(NotebookTest):
    """Modules that the host provides are kept by name, and may be gone afterwards."""

    def setUp(self):
        super().setUp()
        module = types.ModuleType("servers.crm")
        exec("async def get_lead(id): return id", vars(module))
        self.modules = {"servers": types.ModuleType("servers"), "servers.crm": module}
        self.modules["servers"].crm = module
        sys.modules.update(self.modules)

    def tearDown(self):
        for name in self.modules:
            sys.modules.pop(name, None)
        super().tearDown()

    def test_tools_come_back_by_name(self):
        self.comes_back(
            "from servers.crm import get_lead\nfrom servers import crm\nimport servers.crm\ntools = {'lead': get_lead}\n",
            "crm.get_lead is get_lead and servers.crm is crm and tools['lead'] is get_lead",
        )
        self.assertIs(self.scope["get_lead"], self.modules["servers.crm"].get_lead)

    def test_a_tool_that_is_gone_is_named_with_all_that_needs_it(self):
        self.run_cell(
            "from servers.crm import get_lead\nshared = [get_lead]\na = {'s': shared}\nkeep = [1]\nb = [keep]\n"
            "def use(): return get_lead\ndef bound(f=get_lead): return f\n"
        )
        state, _ = self.save()
        del self.modules["servers.crm"].get_lead
        self.begin()
        lost = session.restore(state, self.scope)
        self.assertEqual(lost.keys(), {"get_lead", "shared", "a", "bound"})
        self.assertIn("get_lead", lost["get_lead"])
        self.assertIs(self.scope["b"][0], self.scope["keep"])
        self.assertEqual(self.scope["use"].__name__, "use")
        self.assertNotIn("shared", self.scope)


if __name__ == "__main__":
    unittest.main()
