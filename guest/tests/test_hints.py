"""What a program is told after a usual mistake, and what is forgiven."""

import asyncio
import json
import os
import tempfile
import unittest
from unittest import mock

import support
from _narrows import errors, importer, workspace
from _narrows.discovery import get_tool_definition, list_servers, search_tools
from _narrows.tools import display
from _narrows.workspace import list_files, write_file


def _failed(source: str, **scope) -> dict:
    """How the host is told of the failure of a program."""
    try:
        exec(compile(source, "program.py", "exec"), scope)
    except BaseException as error:
        return errors.describe(error, "program.py")
    raise AssertionError("it did not fail")


class Hints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(workspace, "_ROOT", os.path.realpath(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def hinted(self, source: str, *parts: str, **scope):
        told = _failed(source, **scope)
        for part in parts:
            self.assertIn(part, told["message"], source)
            self.assertIn(part, told["traceback"], source)

    def test_a_mistake_is_told_with_the_next_step(self):
        async def tool():
            return []

        calls = []

        def call():
            calls.append(tool())
            return calls[-1]

        self.hinted("return 5", "put the value into `result`")
        self.hinted("def f():\n    await g()", "write `async def`")
        self.hinted("!pip install pandas", "nothing can be installed")
        self.hinted("%timeit 1", "no notebook")
        self.hinted("call()[0]", "write `await` before it", call=call)
        self.hinted("len(call())", "write `await` before it", call=call)
        self.hinted("call().title", "write `await` before it", call=call)
        self.hinted("import json; json.dumps(call())", "write `await` before it", call=call)
        for coroutine in calls:
            coroutine.close()
        self.hinted("import asyncio\nasync def f():\n    await 5\nasyncio.run(f())", "remove the `await`")
        awaits = "import asyncio\nasync def f():\n    await tool\nasyncio.run(f())"
        errors.remember_source("program.py", awaits)
        self.hinted(awaits, "write `await tool(...)`", tool=tool)
        nested = "import asyncio\nloop = asyncio.new_event_loop()\nasync def f():\n    c = tool()\n    try:\n" \
                 "        loop.run_until_complete(c)\n    finally:\n        c.close()\n"
        self.hinted(nested + "try:\n    loop.run_until_complete(f())\nfinally:\n    loop.close()", "a loop runs already", tool=tool)
        self.hinted("issue.title", "write ['title']", issue={"title": 1})
        self.hinted("issue.content[0].text", "a tool gives its value itself", issue={"title": 1})
        self.hinted("import json; json.loads(issue)", "leave out json.loads", issue={"title": 1})
        self.hinted("issues.title", "write [0]['title']", issues=[{"title": 1}])
        with mock.patch("builtins.input", side_effect=EOFError("EOF when reading a line")):
            self.hinted("input('name?')", "nobody can answer input()")

    def test_other_errors_are_left_as_they_are(self):
        for source in ("{}['x']", "[].x", "1 / 0", "x = (", "raise OSError(5, 'x')", "int('a')", "open('/tmp/none/x')"):
            told = _failed(source)
            self.assertNotIn(";", told["message"].replace("'(' was never closed", ""), source)
        told = _failed("class E(AttributeError):\n    def __str__(self):\n        raise ValueError\nraise E()")
        self.assertIn("cannot be shown", told["message"])

    def test_files_that_are_not_there_are_told_with_those_that_are(self):
        self.hinted("open('data.csv')", "the workspace is empty")
        write_file("sales.csv", "a\n1\n")
        self.hinted("open('sale.csv')", "did you mean 'sales.csv'?")
        self.hinted("open('data.json')", "there are 'sales.csv'")
        for path in ("/home/somebody/data.csv", "/etc/hosts-of-nobody", "../data.csv", "~/data.csv", "C:\\data\\x.csv"):
            self.hinted(f"open({path!r})", "programs see the files of /workspace only", "there are 'sales.csv'")
        for path in ("/home/somebody/sales.csv", "~/sales.csv", "C:\\data\\sales.csv"):
            self.hinted(f"open({path!r})", "did you mean 'sales.csv'?")

    def test_packages_for_data_are_refused_with_what_does_their_work(self):
        for package in ("pandas", "numpy", "polars", "scipy", "scipy.stats"):
            with self.assertRaises(ModuleNotFoundError) as refused:
                importer._Refusals().find_spec(package)
            for part in ("await sql(", "await analyze("):
                self.assertIn(part, str(refused.exception), package)

    def test_a_server_is_no_package_of_its_own(self):
        source = mock.patch.object(support.host, "module_source", {"servers.github": ("", False)}.get)
        for module, expected in (("github", "write `from servers import github`"),
                                 ("github.issues", "write `from servers import github`"),
                                 ("mcp", "`from servers.NAME import TOOL`"),
                                 ("tools", "`from servers.NAME import TOOL`"),
                                 ("gitlab", "standard library only")):
            with source, self.assertRaises(ModuleNotFoundError) as refused:
                importer._Refusals().find_spec(module)
            self.assertIn(expected, str(refused.exception), module)

    def test_what_is_there_already_may_be_awaited(self):
        answers = {"search_tools": [{"name": "a"}], "get_tool_definition": "def a()", "list_servers": []}

        async def awaited():
            return [
                await search_tools("a"), await get_tool_definition("a"), await list_servers(),
                (await write_file("a", "b"))["bytes"], len(await list_files()),
            ]

        with mock.patch.object(support.host, "query", lambda name, arguments: json.dumps(answers[name])):
            self.assertEqual(asyncio.run(awaited()), [[{"name": "a"}], "def a()", [], 1, 1])
            self.assertEqual(search_tools("a")[0]["name"], "a")

    def test_a_list_with_media_in_it_is_shown(self):
        shown = []

        def query(name, arguments):
            shown.append(json.loads(arguments))
            return "null"

        image = {"type": "image", "mime_type": "image/png", "bytes": 3, "path": "/workspace/image-1.png"}
        with mock.patch.object(support.host, "query", query):
            display(["a chart", image, {"data": "eA==", "mime_type": "image/png"}, {"rows": 3}])
            # As MCP itself has it.
            display([{"type": "image", "data": "eA==", "mimeType": "image/png"}])
            with self.assertRaisesRegex(TypeError, "no image, sound or file in this list"):
                display(["text", {"rows": 3}])
        self.assertEqual([item.get("path") for item in shown], ["/workspace/image-1.png", None, None])
        self.assertEqual({item["mime_type"] for item in shown}, {"image/png"})


if __name__ == "__main__":
    unittest.main()
