"""Boards and shared values, against a host that keeps them in memory."""

import copy
import json
import unittest
from unittest import mock

import support
from _narrows import state
from _narrows.calls import ToolError
from _narrows.state import Shared, board, boards, shared


class MemoryHost:
    """Answers the queries about boards and values as the host does."""

    def __init__(self):
        self.messages: dict = {}
        self.values: dict = {}
        self.before_set = None
        self.seq = 0

    def query(self, name: str, arguments: str) -> str:
        return json.dumps(getattr(self, name)(**json.loads(arguments)))

    def post_as(self, author, board, body, namespace=None):
        self.seq += 1
        message = {"seq": self.seq, "at": "2026-01-01T00:00:00Z", "author": author, "body": body}
        self.messages.setdefault((namespace, board), []).append(message)
        return message

    def board_post(self, board, namespace, body):
        if namespace == "forbidden":
            raise support.Err(json.dumps({"message": "you may not post there"}))
        posted = self.post_as("me", board, body, namespace)
        return {key: posted[key] for key in ("seq", "at", "author")}

    def board_read(self, board, namespace, since, limit):
        return [m for m in self.messages.get((namespace, board), []) if m["seq"] > since][:limit]

    def boards(self, namespace):
        return [{"name": name} for space, name in self.messages if space == namespace]

    def shared_get(self, namespace, key):
        value, version = self.values.get((namespace, key), (None, 0))
        return {"found": (namespace, key) in self.values, "value": value, "version": version}

    def shared_set(self, namespace, key, value, if_version, if_absent):
        if self.before_set is not None:
            hook, self.before_set = self.before_set, None
            hook()
        current, version = self.values.get((namespace, key), (None, 0))
        if if_absent and version or if_version is not None and if_version != version:
            return {"done": False, "version": version, "current": current}
        self.values[namespace, key] = value, version + 1
        return {"done": True, "version": version + 1, "current": value}

    def shared_remove(self, namespace, key):
        return {"found": self.values.pop((namespace, key), None) is not None}

    def shared_keys(self, namespace, prefix):
        return sorted(key for space, key in self.values if space == namespace and key.startswith(prefix))

    async def call(self, tool, arguments):
        assert tool == "narrows:board_wait"
        timeout = arguments.pop("timeout")
        assert timeout >= 0
        return copy.deepcopy(self.board_read(**arguments, limit=100))


def ended(coroutine):
    """The value of a coroutine that never really waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


class HostTest(unittest.TestCase):
    def setUp(self):
        self.host = MemoryHost()
        for patch in (
            mock.patch.object(support.host, "query", self.host.query),
            mock.patch.object(state, "call", self.host.call),
            mock.patch.object(state, "_boards", {}),
        ):
            patch.start()
            self.addCleanup(patch.stop)


class Boards(HostTest):
    def test_posts_and_reads(self):
        posted = board("plan").post({"task": 1})
        self.assertEqual((posted["seq"], posted["author"]), (1, "me"))
        self.assertEqual([m["body"] for m in board("plan").read()], [{"task": 1}])
        self.assertEqual(board("plan").read(since=1), [])
        self.assertEqual(boards(), [{"name": "plan"}])

    def test_what_is_there_at_once_can_be_awaited_too(self):
        async def program():
            posted = await board("plan").post("x")
            return posted, await board("plan").read(), await boards()

        posted, read, listed = ended(program())
        self.assertEqual((posted["seq"], read[0]["body"], listed), (1, "x", [{"name": "plan"}]))

    def test_waiting_goes_on_after_what_was_seen(self):
        self.host.post_as("you", "plan", "early")
        self.assertEqual([m["body"] for m in ended(board("plan").wait())], ["early"])
        self.assertEqual(ended(board("plan").wait(timeout=0)), [])
        self.host.post_as("you", "plan", "late")
        self.assertEqual([m["body"] for m in ended(board("plan").wait())], ["late"])

    def test_who_asks_gets_the_answers_and_not_what_was_said_before(self):
        self.host.post_as("you", "plan", "yesterday")
        board("plan").post("question")
        self.host.post_as("you", "plan", "answer")
        self.assertEqual([m["body"] for m in ended(board("plan").wait())], ["answer"])

    def test_own_posts_are_no_news_and_hide_none(self):
        board("plan").read()
        self.host.post_as("you", "plan", "between")
        board("plan").post("mine")
        self.assertEqual([m["body"] for m in ended(board("plan").wait())], ["between"])
        self.assertEqual(ended(board("plan").wait(timeout=0)), [])
        self.assertEqual([m["body"] for m in ended(board("plan").wait(since=1))], ["mine"])

    def test_a_loop_that_is_left_early_has_not_seen_the_rest(self):
        for body in "abc":
            self.host.post_as("you", "plan", body)

        async def program():
            async for message in board("plan"):
                return message["body"]

        self.assertEqual(ended(program()), "a")
        self.assertEqual([m["body"] for m in ended(board("plan").wait())], ["b", "c"])

    def test_errors_of_the_host_and_values_that_are_no_json(self):
        with self.assertRaisesRegex(ToolError, "may not post"):
            board("plan", "forbidden").post(1)
        with self.assertRaisesRegex(TypeError, "JSON"):
            board("plan").post({1, 2})

    def test_namespaces_are_apart(self):
        board("plan", "team").post(1)
        self.assertEqual(board("plan").read(), [])
        self.assertEqual(len(board("plan", "team").read()), 1)


class SharedValues(HostTest):
    def test_it_is_a_mapping(self):
        shared["a"] = {"n": (1, 2)}
        shared["b"] = None
        self.assertEqual(shared["a"], {"n": [1, 2]})
        self.assertEqual((shared.get("c", 5), "a" in shared, "c" in shared), (5, True, False))
        self.assertEqual((list(shared), len(shared), shared.items()), (["a", "b"], 2, [("a", {"n": [1, 2]}), ("b", None)]))
        self.assertEqual(shared.setdefault("a", 1), {"n": [1, 2]})
        self.assertEqual(shared.setdefault("d", 1), 1)
        self.assertEqual(shared.pop("d"), 1)
        del shared["b"]
        for use in (lambda: shared["b"], lambda: shared.__delitem__("b")):
            with self.assertRaises(KeyError):
                use()
        self.assertNotIn("a", shared.of("team"))

    def test_bad_keys_and_values_are_refused(self):
        with self.assertRaisesRegex(TypeError, "JSON"):
            shared["a"] = object()
        with self.assertRaisesRegex(TypeError, "text"):
            shared[5] = 1

    def test_compare_and_set(self):
        self.assertFalse(shared.compare_and_set("k", 1, 2))
        self.assertTrue(shared.compare_and_set("k", shared.ABSENT, (1, 2)))
        self.assertFalse(shared.compare_and_set("k", Shared.ABSENT, 5))
        self.assertFalse(shared.compare_and_set("k", None, 5))
        self.assertTrue(shared.compare_and_set("k", (1, 2), None))
        self.assertTrue(shared.compare_and_set("k", None, 3))
        self.assertTrue(shared.compare_and_set("other", None, 3))
        self.assertEqual((shared.version("k"), shared.version("none")), (3, None))

    def test_compare_and_set_loses_to_a_faster_agent(self):
        shared["k"] = 1
        self.host.before_set = lambda: shared.__setitem__("k", 9)
        self.assertFalse(shared.compare_and_set("k", 1, 2))
        self.assertEqual(shared["k"], 9)

    def test_update_with_tries_again(self):
        self.host.before_set = lambda: shared.__setitem__("list", ["theirs"])
        self.assertEqual(shared.update_with("list", lambda found: found + ["mine"], default=[]), ["theirs", "mine"])
        default = []
        self.host.before_set = lambda: shared.__setitem__("n", 1) or shared.__delitem__("n")

        def add(found):
            found.append(1)
            return found

        self.assertEqual(shared.update_with("m", add, default=default), [1])
        self.assertEqual(default, [])
        with self.assertRaisesRegex(TypeError, "return"):
            shared.update_with("m", lambda found: found.append(2))
        self.assertEqual(shared["m"], [1])


if __name__ == "__main__":
    unittest.main()
