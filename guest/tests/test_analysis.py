"""Tables that go to the host, against one that tells what it was asked."""

import asyncio
import datetime
import decimal
import json
import marshal
import unittest
from unittest import mock

import support
from _narrows import analysis, calls
from _narrows.calls import RecoveredList

ROWS = [{"sector": "Tech", "roi": 15.5}, {"sector": "Energy", "roi": None}]


class AnalysisTest(unittest.TestCase):
    def setUp(self):
        self.asked = []
        patch = mock.patch.object(calls, "call", self.call)
        patch.start()
        self.addCleanup(patch.stop)

    async def call(self, tool, arguments, data):
        self.asked.append((tool, json.loads(json.dumps(arguments)), data))
        answer = {"analysis_type": "sql", "notes": ["a note"], "table": {"total_rows": 9, "path": "a.parquet"}}
        return answer, marshal.dumps([{"n": 1}])

    def tables(self):
        [(tool, arguments, data)] = self.asked
        self.assertEqual(tool, "narrows:analyze")
        return {
            table["name"]: self.sent(table, data) if "form" in table else table["source"]
            for table in arguments["tables"]
        }

    def sent(self, table, data):
        loads = {"marshal": marshal.loads, "json": json.loads}[table["form"]]
        start, count = table["data"]
        first, *others = map(loads, data[start:start + count])
        for part in others:
            first += part
        return first

    def test_sql_gives_rows_that_know_of_the_rest(self):
        rows = asyncio.run(analysis.sql("select 1 as n", t=ROWS, u="file.csv", v={"tool": "a.b", "arguments": {}}))
        self.assertEqual((rows, rows.total, rows.path, rows.notes), ([{"n": 1}], 9, "a.parquet", ["a note"]))
        self.assertEqual(self.tables(), {"t": ROWS, "u": "file.csv", "v": {"tool": "a.b", "arguments": {}}})
        self.assertEqual(self.asked[0][1]["parameters"], {"query": "select 1 as n"})

    def test_analyze_takes_parameters_both_ways(self):
        answer = asyncio.run(analysis.analyze("aggregate", ROWS, {"group_by": "sector"}, limit=3))
        self.assertEqual(answer["data"], [{"n": 1}])
        self.assertEqual(self.asked[0][1]["parameters"], {"group_by": "sector", "limit": 3})

    def test_a_field_of_the_data_is_its_rows(self):
        asyncio.run(analysis.analyze("filter", {"stocks": ROWS}, {"data_field": "stocks"}))
        self.assertEqual(self.tables(), {"data": ROWS})
        with self.assertRaisesRegex(ValueError, "data has no 'stock'; there are stocks"):
            asyncio.run(analysis.analyze("filter", {"stocks": ROWS}, {"data_field": "stock"}))
        self.asked.clear()
        asyncio.run(analysis.analyze("filter", source="page.json", data_field="items"))
        self.assertEqual(self.tables(), {"data": {"file": "page.json", "path": "items"}})

    def test_lists_of_an_object_are_tables(self):
        data = {"stocks": ROWS, "sectors": [{"sector": "Tech"}], "page": 1, "none": []}
        asyncio.run(analysis.analyze("filter", data, conditions=[]))
        self.assertEqual(self.tables(), {"stocks": ROWS, "sectors": [{"sector": "Tech"}]})
        self.asked.clear()
        asyncio.run(analysis.analyze("describe", {"a": [1, 2], "b": [3, 4]}))
        self.assertEqual(self.tables(), {"data": {"a": [1, 2], "b": [3, 4]}})

    def test_parameters_may_have_dates_and_decimals(self):
        given = {"value": [datetime.date(2026, 1, 2), decimal.Decimal("1.5")]}
        asyncio.run(analysis.analyze("filter", ROWS, conditions=[given]))
        self.assertEqual(self.asked[0][1]["parameters"], {"conditions": [{"value": ["2026-01-02", 1.5]}]})
        self.asked.clear()
        # Nothing becomes something else unseen.
        infinite = float("inf")
        asyncio.run(analysis.analyze("filter", ROWS, conditions=({"value": infinite}, {"value": {7}})))
        self.assertEqual(self.asked[0][1]["parameters"], {"conditions": [{"value": infinite}, {"value": [7]}]})

    def test_all_kinds_of_tables_are_sent(self):
        recovered = RecoveredList(ROWS)
        for table, sent in [
            (recovered, ROWS),
            ((row for row in ROWS), ROWS),
            (tuple(ROWS), ROWS),
            ({"a": [1, 2]}, {"a": [1, 2]}),
            ([{"d": datetime.date(2026, 1, 2)}], [{"d": "2026-01-02"}]),
            ([{"tool": "x", "n": 1}], [{"tool": "x", "n": 1}]),
            ({"tool": ["x"], "n": [1]}, {"tool": ["x"], "n": [1]}),
        ]:
            self.asked.clear()
            asyncio.run(analysis.sql("select 1", t=table))
            self.assertEqual(self.tables(), {"t": sent})

    def test_long_lists_come_in_parts(self):
        rows = [{"n": number, "text": "shared"} for number in range(20_000)]
        asyncio.run(analysis.sql("select 1", a=ROWS, b=rows, c=iter(rows), d={"n": [1]}))
        self.assertEqual(self.tables(), {"a": ROWS, "b": rows, "c": rows, "d": {"n": [1]}})
        places = [table["data"] for table in self.asked[0][1]["tables"]]
        self.assertEqual(places, [[0, 1], [1, 3], [4, 3], [7, 1]])
        self.asked.clear()
        # What marshal cannot write in one part is JSON in all.
        rows[15_000]["n"] = datetime.date(2026, 1, 2)
        asyncio.run(analysis.sql("select 1", t=rows))
        self.assertEqual(self.asked[0][1]["tables"], [{"name": "t", "data": [0, 1], "form": "json"}])
        self.assertEqual(self.tables()["t"][15_000]["n"], "2026-01-02")

    def test_what_is_changed_on_the_way_is_said(self):
        exact = decimal.Decimal("12345678901234567.89")
        table = [{"n": decimal.Decimal("1.5"), "f": float("inf")}, {"n": exact, "f": 0.5}]
        rows = asyncio.run(analysis.sql("select 1", t=table))
        self.assertEqual(self.tables(), {"t": [{"n": 1.5, "f": None}, {"n": str(exact), "f": 0.5}]})
        self.assertEqual(rows.notes, ["a note", "t: inf became null", "t: a Decimal became text"])

    def test_what_is_no_table_is_refused(self):
        for wrong in (7, 1.5, b"abc", object()):
            with self.assertRaisesRegex(TypeError, "a table is a list of dicts"):
                asyncio.run(analysis.sql("select 1", t=wrong))
        with self.assertRaisesRegex(TypeError, "not both"):
            asyncio.run(analysis.analyze("describe", ROWS, source="a.csv"))


if __name__ == "__main__":
    unittest.main()
