"""Other names of parameters and of functions, as models write them."""

import asyncio
import json
import os
import tempfile
import unittest
from unittest import mock

import support
from _narrows import analysis, discovery, surroundings, workspace
from _narrows.analysis import sql
from _narrows.discovery import call_mcp_tool, search_tools
from _narrows.privacy import sanitize_pii
from _narrows.skills import load_skill, save_skill
from _narrows.workspace import list_files, read_file, write_file


class Parameters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.asked = []
        for owner, name, value in ((workspace, "_ROOT", os.path.realpath(folder.name)),
                                   (support.host, "query", self.query), (discovery, "call", self.call),
                                   (analysis, "_ask", self.ask)):
            patch = mock.patch.object(owner, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def query(self, name, arguments):
        self.asked.append((name, json.loads(arguments)))
        return json.dumps({"load_skill": {"code": "x = 5"}, "search_tools": [], "save_skill": {}}.get(name, "text"))

    async def call(self, name, arguments):
        self.asked.append((name, arguments))
        return {"number": 1}

    async def ask(self, *asked):
        self.asked.append(asked[:3])
        return {"data": []}

    def test_files_are_named_in_every_usual_way(self):
        write_file(filename="a.txt", text="x")
        write_file("d/b.txt", contents="y")
        self.assertEqual([read_file(filename="a.txt"), read_file(file_path="d/b.txt")], ["x", "y"])
        self.assertEqual([file["path"] for file in list_files(path="d")], ["d/b.txt"])

    def test_skills_text_and_searches_are_named_in_every_usual_way(self):
        save_skill(skill_name="x", source="def x(): pass")
        load_skill(skill_name="x")
        sanitize_pii(text="a@b.example")
        search_tools("issue", detail="full", max_results=3)
        self.assertEqual([arguments.get("name") for _, arguments in self.asked[:2]], ["x", "x"])
        self.assertEqual(self.asked[2][1], {"value": "a@b.example"})
        self.assertEqual(self.asked[3][1], {"query": "issue", "detail_level": "full", "limit": 3})

    def test_a_call_has_the_documents_own_parameter_names(self):
        forms = [
            call_mcp_tool(tool_name="t", input={"a": 1}, type=dict),
            call_mcp_tool(name="t", arguments={"a": 1}, expected_type=dict[str, int]),
            call_mcp_tool("t", {"a": 1}, dict),
            call_mcp_tool("t", {"a": 1}, type=dict),
            call_mcp_tool("t", a=1),
        ]
        for form in forms:
            self.assertEqual(asyncio.run(form), {"number": 1})
        self.assertEqual(self.asked, [("t", {"a": 1})] * len(forms))
        # What the tool itself has of these names stays its own.
        asyncio.run(call_mcp_tool("t", name="n", type="bug", input="text"))
        asyncio.run(call_mcp_tool("t", {"a": 1}, name="n"))
        self.assertEqual(self.asked[-2:], [("t", {"name": "n", "type": "bug", "input": "text"}), ("t", {"a": 1, "name": "n"})])
        with self.assertRaisesRegex(TypeError, "gave a dict, expected list"):
            asyncio.run(call_mcp_tool(tool_name="t", input={}, type=list))
        with self.assertRaisesRegex(TypeError, "needs the name of a tool"):
            asyncio.run(call_mcp_tool({"a": 1}))

    def test_queries_say_how_tables_are_named(self):
        asyncio.run(sql(query="select * from t", t=[{"a": 1}]))
        asyncio.run(sql("select * from query", query=[{"a": 1}]))
        asyncio.run(sql("select * from t", {"t": [{"a": 1}]}))
        named = [("select * from t", "t"), ("select * from query", "query"), ("select * from t", "t")]
        self.assertEqual([(p["query"], *tables) for _, p, tables in self.asked], named)
        with self.assertRaisesRegex(TypeError, r'by name: `await sql\("select \* from t", t=rows\)`'):
            asyncio.run(sql("select * from t", [{"a": 1}]))
        with self.assertRaisesRegex(TypeError, "needs a query"):
            asyncio.run(sql(t=[{"a": 1}]))

    def test_analyses_are_asked_for_in_every_usual_way(self):
        rows = [{"a": 1}]
        asyncio.run(analysis.analyze(type="describe", rows=rows))
        asyncio.run(analysis.analyze("pivot", rows, rows="region"))
        asyncio.run(analysis.analyze("pivot", file="a.csv", rows="region"))
        asyncio.run(analysis.analyze("describe", dataset="a.csv"))
        self.assertEqual(self.asked, [("describe", {}, {"data": rows}), ("pivot", {"rows": "region"}, {"data": rows}),
                                      ("pivot", {"rows": "region"}, {"data": "a.csv"}), ("describe", {}, {"data": "a.csv"})])

    def test_what_is_not_understood_is_told_with_what_is(self):
        for wrong, said in ((lambda: read_file("a", pth="b"), r"has no parameter 'pth', did you mean 'path'\?"),
                            (lambda: read_file("a", filename="b"), "got 'path' twice"),
                            (lambda: write_file("a"), r"needs content \(it takes path, content\)"),
                            (lambda: read_file("a", "b"), "takes 1 values by position, 2 were given")):
            with self.assertRaisesRegex(TypeError, said):
                wrong()

    def test_the_source_of_a_skill_may_be_awaited(self):
        async def awaited():
            scope = {}
            exec(await load_skill("x"), scope)
            return scope["x"]

        self.assertEqual(asyncio.run(awaited()), 5)

    def test_names_of_the_gateways_tools_are_those_of_functions(self):
        names = surroundings.NAMES
        self.assertIs(names["write_workspace_file"], names["write_file"])
        self.assertIs(names["execute_analysis"], names["analyze"])


if __name__ == "__main__":
    unittest.main()
