"""Skills: saving them, and importing them in every way that Python has."""

import json
import linecache
import sys
import unittest
from unittest import mock

import support
from notebook import NotebookTest
from _narrows import importer
from _narrows.skills import list_skills, load_skill, save_skill

SOURCES = {
    "double": "def double(x):\n    return 2 * x\ndef helper(): return 'help'\n",
    "Shape": "class Shape:\n    sides = 3\n",
    "uses": "from skills import double\ndef uses(x): return double(x) + 1\n",
    "broken": "import no_such_module\ndef broken(): pass\n",
    "empty": "x = 1\n",
}
PACKAGE = "from _narrows.skills import package\n__getattr__, __dir__ = package('skills', 'skill_names')\n"


class SkillsTest(NotebookTest):
    def setUp(self):
        super().setUp()
        self.saved = []
        known = sys.meta_path[:]
        sys.meta_path[:] = [importer._HostModules(), *known, importer._Refusals()]
        self.addCleanup(sys.meta_path.__setitem__, slice(None), known)
        self.addCleanup(self.forget)
        for name, answer in (("module_source", self.module_source), ("query", self.query)):
            patch = mock.patch.object(support.host, name, answer)
            patch.start()
            self.addCleanup(patch.stop)

    def forget(self):
        for name in [name for name in sys.modules if name.partition(".")[0] == "skills"]:
            del sys.modules[name]

    def module_source(self, name):
        if name == "skills":
            return PACKAGE, True
        source = SOURCES.get(name.removeprefix("skills."))
        return None if source is None else (source, False)

    def query(self, name, arguments):
        arguments = json.loads(arguments)
        self.saved.append((name, arguments))
        if name == "skill_names":
            return json.dumps(list(SOURCES))
        if name == "load_skill":
            return json.dumps({"code": SOURCES[arguments["name"]]})
        return json.dumps([] if name == "list_skills" else {"name": arguments["name"], "version": 1})

    def value(self, expression: str, source: str = ""):
        self.run_cell(source)
        return eval(expression, self.scope)


class Imports(SkillsTest):
    def test_from_import_gives_the_function_or_class(self):
        self.assertEqual(self.value("double.__name__, double(2)", "from skills import double"), ("double", 4))
        self.assertEqual(self.value("Shape().sides, type(Shape)", "from skills import Shape"), (3, type))
        self.assertEqual(self.value("uses(1)", "from skills import uses, double as d"), 3)
        self.assertEqual(self.scope["d"](5), 10)

    def test_import_gives_the_module_and_either_can_be_called(self):
        self.assertEqual(self.value("skills.double(2), skills.double.helper()", "import skills.double"), (4, "help"))
        self.assertEqual(self.value("double(3)", "from skills import double"), 6)
        self.assertIs(self.scope["double"], self.value("skills.double.double"))
        self.assertEqual(self.value("d(4), d.helper()", "import skills.double as d"), (8, "help"))
        self.assertEqual(self.value("s.Shape().sides", "import skills as s"), 3)
        self.assertEqual(self.value("helper()", "from skills.double import helper"), "help")
        both = "import skills.double as d\nfrom skills import double"
        self.assertEqual(self.value("(d.helper(), type(double).__name__)", both), ("help", "function"))

    def test_from_import_inside_a_function(self):
        names = "\n".join(f"    n{n} = json.a{n}" for n in range(300))
        self.run_cell(f"import json\ndef f():\n    from skills import double\n    return double(2)\n    if 0:\n        pass\n{names}")
        self.assertEqual(self.scope["f"](), 4)

    def test_an_unknown_name_names_near_ones(self):
        with self.assertRaisesRegex(ImportError, "no skill 'dubble'; did you mean double"):
            self.run_cell("from skills import dubble")
        with self.assertRaisesRegex(AttributeError, "list_skills"):
            self.run_cell("import skills\nskills.zzzzzzzz")
        with self.assertRaises(ModuleNotFoundError):
            self.run_cell("import skills.nothing")

    def test_a_skill_that_cannot_be_imported_says_why(self):
        with self.assertRaisesRegex(ModuleNotFoundError, "no_such_module"):
            self.run_cell("from skills import broken")
        with self.assertRaisesRegex(ImportError, "has not defined 'empty'"):
            self.run_cell("from skills import empty")

    def test_dir_lists_the_skills(self):
        self.assertLessEqual({"double", "Shape"}, set(self.value("dir(skills)", "import skills")))

    def test_a_session_keeps_skills(self):
        self.run_cell("from skills import double\nimport skills.Shape\n")
        self.assertEqual(self.move(), {})
        self.assertEqual(self.value("double(1), skills.Shape().sides"), (2, 3))


class Saving(SkillsTest):
    def code_of(self, name: str) -> str:
        save_skill(self.scope[name], description="d", tags="one")
        asked, skill = self.saved[-1]
        self.assertEqual((asked, skill["name"], skill["tags"]), ("save_skill", name, ["one"]))
        return skill["code"]

    def runs(self, code: str) -> dict:
        scope = {"__name__": "skills.saved"}
        exec(code, scope)
        return scope

    def test_text_and_its_answer(self):
        self.assertEqual(save_skill("f", "def f(): ...", "about", ("a", "b"))["version"], 1)
        self.assertEqual(self.saved[-1][1]["tags"], ["a", "b"])
        self.assertEqual(load_skill("double"), SOURCES["double"])
        self.assertEqual(list_skills("x"), [])
        self.assertEqual(list_skills(query="x", limit=3), [])
        self.assertEqual(self.saved[-1][1], {"query": "x", "namespace": None, "limit": 3})

    def test_a_function_takes_along_what_it_uses_from_any_cell(self):
        self.run_cell("import json as j, math\nfrom collections import Counter as Many\nLIMIT = 3\nSTEP = 1\nunused = open\n")
        self.run_cell("def helper(x):\n    return x * LIMIT * STEP\n")
        self.run_cell("def decorate(f): return f\n@decorate\ndef work(text, most=LIMIT):\n    n = 1\n"
                      "    return [helper(math.floor(c)) for c in Many(j.loads(text)).values()][:most]\n")
        code = self.code_of("work")
        self.assertNotIn("unused", code)
        self.assertEqual(self.runs(code)["work"]('["a", "a"]'), [6])

    def test_async_functions_and_classes(self):
        self.run_cell("import dataclasses\nasync def go(): return 1\n@dataclasses.dataclass\nclass Row:\n    x: int\n")
        self.run_cell("class Base:\n    def m(self): return 5\nclass Sub(Base):\n    pass\n")
        self.assertIn("async def go", self.code_of("go"))
        self.assertEqual(self.runs(self.code_of("Row"))["Row"](3).x, 3)
        self.assertEqual(self.runs(self.code_of("Sub"))["Sub"]().m(), 5)

    def test_what_cannot_be_saved_is_refused(self):
        self.run_cell("rows = [object()]\ndef f(): return rows\ng = lambda: 1\n")
        with self.assertRaisesRegex(ValueError, "'rows'.*parameter"):
            save_skill(self.scope["f"])
        for wrong in (self.scope["g"], len, 5, "name"):
            with self.assertRaises(TypeError):
                save_skill(wrong)
        self.assertEqual(self.saved, [])

    def test_a_restored_function_can_be_saved(self):
        self.run_cell("import math\ndef area(r): return math.pi * r\n")
        linecache.cache.clear()
        self.move()
        self.assertIn("import math", self.code_of("area"))


if __name__ == "__main__":
    unittest.main()
