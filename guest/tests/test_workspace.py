"""Files of the workspace, as programs use them."""

import os
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401
from _narrows import workspace
from _narrows.workspace import delete_file, list_files, read_file, write_file


class Workspace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        patch = mock.patch.object(workspace, "_ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def test_text_bytes_and_json_come_back(self):
        self.assertEqual(write_file("a/b.txt", "é\r\nx"), {"path": "a/b.txt", "bytes": 5})
        self.assertEqual(read_file("a/b.txt"), "é\r\nx")
        self.assertEqual(read_file(f"{self.root}/a/b.txt"), "é\r\nx")
        write_file("c.bin", bytearray(range(256)))
        self.assertEqual(read_file("c.bin", binary=True), bytes(range(256)))
        write_file("d.json", {"k": ["é", 1]})
        self.assertEqual(read_file("d.json"), '{"k": ["é", 1]}')

    def test_a_part_of_a_file_counts_characters_or_bytes(self):
        write_file("t", "aé" * 3_000_000)
        self.assertEqual(read_file("t", offset=2_000_001, limit=3), "éaé")
        self.assertEqual(read_file("t", binary=True, offset=1, limit=2), "é".encode())
        self.assertEqual(read_file("t", offset=9_000_000), "")
        with self.assertRaises(ValueError):
            read_file("t", offset=-1)

    def test_a_byte_order_mark_is_no_text(self):
        write_file("bom.csv", b"\xef\xbb\xbfname")
        self.assertEqual(read_file("bom.csv"), "name")

    def test_what_is_not_text_says_how_to_read_it(self):
        write_file("c.bin", b"\xff\xfe\x00")
        with self.assertRaisesRegex(ValueError, "binary=True"):
            read_file("c.bin")

    def test_paths_out_of_the_workspace_are_refused(self):
        outside = os.path.dirname(self.root)
        for path in ("../x", "/etc/passwd", "a/../../x", outside, f"{self.root}x/y"):
            for use in (read_file, delete_file, list_files, lambda path: write_file(path, "x")):
                with self.assertRaisesRegex(ValueError, "outside of the workspace"):
                    use(path)
        write_file("a/../ok", "x")
        self.assertEqual(read_file("./ok"), "x")

    def test_a_missing_file_names_the_nearest(self):
        write_file("data/sales.csv", "x")
        with self.assertRaisesRegex(FileNotFoundError, "did you mean 'data/sales.csv'"):
            read_file("sales.csv")
        with self.assertRaisesRegex(FileNotFoundError, "did you mean 'data/sales.csv'"):
            read_file("data/Sale.csv")
        with self.assertRaisesRegex(FileNotFoundError, "there are 'data/sales.csv'"):
            delete_file("zzzzzzzz")
        with self.assertRaisesRegex(FileNotFoundError, "no file"):
            read_file("data/sales.csv/x")

    def test_directories_are_no_files(self):
        write_file("d/x", "1")
        for use in (read_file, delete_file):
            with self.assertRaisesRegex(IsADirectoryError, r"list_files\('d/\*\*'\)"):
                use("d")
        with self.assertRaises(IsADirectoryError):
            write_file("d", "1")
        with self.assertRaises(NotADirectoryError):
            write_file("d/x/y", "1")

    def test_lists_by_pattern(self):
        for path in ("a.csv", "b.json", "reports/c.csv", "reports/2026/d.json", ".hidden"):
            write_file(path, "12")
        open(f"{self.root}/.narrows-0123", "w").close()

        def paths(*pattern):
            return [file["path"] for file in list_files(*pattern)]

        every = [".hidden", "a.csv", "b.json", "reports/2026/d.json", "reports/c.csv"]
        self.assertEqual(paths(), every)
        self.assertEqual(paths("."), every)
        self.assertEqual(paths("*.csv"), ["a.csv"])
        self.assertEqual(paths("**/*.json"), ["b.json", "reports/2026/d.json"])
        for pattern in ("reports", "reports/", "reports/**", f"{self.root}/reports/**"):
            self.assertEqual(paths(pattern), ["reports/2026/d.json", "reports/c.csv"], pattern)
        self.assertEqual(paths("reports/*/d.*"), ["reports/2026/d.json"])
        self.assertEqual(paths("nothing/*"), [])
        self.assertEqual(list_files("a.csv")[0]["bytes"], 2)
        self.assertRegex(list_files("a.csv")[0]["modified"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self):
        write_file("a", "old")
        with mock.patch("os.replace", side_effect=OSError("full")), self.assertRaises(OSError):
            write_file("a", "new")
        self.assertEqual(read_file("a"), "old")
        self.assertEqual(os.listdir(self.root), ["a"])

    def test_what_cannot_be_written_is_refused(self):
        for content in (None, {1, 2}, object(), {"k": {1}}):
            with self.assertRaises(TypeError):
                write_file("x", content)
        with self.assertRaisesRegex(ValueError, "surrogates"):
            write_file("x", "\ud800")
        self.assertEqual(os.listdir(self.root), [])

    def test_deletes(self):
        write_file("a", "x")
        delete_file("a")
        self.assertEqual(list_files(), [])

    def test_without_a_workspace_says_so(self):
        with mock.patch.object(workspace, "_ROOT", f"{self.root}/none"):
            for use in (list_files, lambda: read_file("a"), lambda: write_file("a", "x"), lambda: delete_file("a")):
                with self.assertRaisesRegex(FileNotFoundError, "no workspace"):
                    use()


if __name__ == "__main__":
    unittest.main()
