"""The package `servers` and programs that use it as documents do."""

import ast
import json
import sys
import unittest
from unittest import mock

import support
from _narrows import errors, importer
from _narrows.discovery import servers

SOURCES = {
    "servers": "from _narrows.tools import package\n"
               "__all__, __getattr__, __dir__ = package('servers', ['crm', 'mail'])\n",
    "servers.crm": "from _narrows.tools import module, tool as _tool\n"
                   "__all__, __getattr__, __dir__ = module('servers.crm', 'crm', ['list_orders'])\n",
    "client": "from _narrows.discovery import call_mcp_tool\n",
}


class Servers(unittest.TestCase):
    def setUp(self):
        known = sys.meta_path[:]
        sys.meta_path[:] = [importer._HostModules(), *known, importer._Refusals()]
        self.addCleanup(sys.meta_path.__setitem__, slice(None), known)
        self.addCleanup(self.forget)
        sources = {name: (source, name == "servers") for name, source in SOURCES.items()}
        for name, answer in (("module_source", sources.get), ("query", self.query)):
            patch = mock.patch.object(support.host, name, answer)
            patch.start()
            self.addCleanup(patch.stop)

    def forget(self):
        for name in [name for name in sys.modules if name.partition(".")[0] in ("servers", "client")]:
            del sys.modules[name]

    def query(self, name, arguments):
        if name == "search_tools":
            return json.dumps([{"name": "list_orders", "import": "from servers.crm import list_orders"}, {"name": "x"}])
        wanted = json.loads(arguments)["name"]
        return json.dumps({"name": wanted, "source": f"@_tool('crm:{wanted}')\nasync def {wanted}(*, page=1): ...\n"})

    def ran(self, source: str, **scope):
        """What a program puts into `result`, or what is said of its error."""
        tree = ast.parse(source, "program.py")
        importer.make_absolute(tree)
        importer.bind_implied(scope)
        try:
            exec(compile(tree, "program.py", "exec"), scope)
        except Exception as error:
            return errors.describe(error, "program.py")["message"]
        return scope["result"]

    def test_servers_are_gone_through_and_asked_by_name(self):
        self.assertEqual((list(servers), len(servers), "crm" in servers, "x" in servers), (["crm", "mail"], 2, True, False))
        self.assertIs(servers["crm"], servers.crm)
        self.assertEqual(list(servers.crm), ["list_orders"])
        self.assertEqual(servers.crm["list_orders"].__name__, "list_orders")
        with self.assertRaisesRegex(KeyError, "did you mean crm"):
            servers["cmr"]
        with self.assertRaisesRegex(TypeError, r"list_servers\(\) lists"):
            servers()
        import servers as package
        self.assertEqual(list(package), ["crm", "mail"])

    def test_a_tool_that_the_host_has_found_needs_no_import(self):
        self.assertEqual(self.ran("result = list_orders.__name__", **{"<tools>": {"list_orders": "crm"}}), "list_orders")
        self.assertIn("not defined; add `from servers.crm import list_orders`", self.ran("result = list_orders"))
        self.assertTrue(self.ran("result = list_order").endswith("not defined"))

    def test_relative_imports_of_what_is_here_work(self):
        for module, name in (("...client", "call_mcp_tool"), ("..servers.crm", "list_orders")):
            self.assertEqual(self.ran(f"from {module} import {name}\nresult = {name}.__name__"), name)
        self.assertIn("leave out the dots", self.ran("from ..helpers import x", __package__=""))

    def test_a_tool_has_no_module_of_its_own(self):
        said = self.ran("from servers.crm.list_orders import list_orders")
        self.assertIn("write `from servers.crm import list_orders`", said)


if __name__ == "__main__":
    unittest.main()
