"""What agents share: message boards, and values by key."""

import copy
import time
from collections.abc import MutableMapping
from json import dumps, loads

from .awaitable import AwaitableDict, AwaitableList
from .calls import call, query

_boards: dict = {}


class Board:
    """A list of messages that all agents of a namespace read and post to.

    A message is a dict: `seq`, `at`, `author` and `body`. The board remembers the last message
    that the program has seen; `wait()` and `async for` go on from there. They leave out what
    the program itself has posted.
    """

    def __init__(self, name: str, namespace: str | None):
        self.name = name
        self.namespace = namespace
        self._seen: int | None = None
        self._own: set[int] = set()

    def __repr__(self) -> str:
        return f"board({self.name!r})" if self.namespace is None else f"board({self.name!r}, {self.namespace!r})"

    def __reduce__(self):
        return board, (self.name, self.namespace), (self._seen, self._own)

    def __setstate__(self, state) -> None:
        self._seen, self._own = state

    def post(self, value) -> AwaitableDict:
        """Adds a message, which is anything that JSON can hold; gives its `seq`, `at` and `author`."""
        posted = AwaitableDict(query("board_post", {**self._address(), "body": value}))
        if self._seen is None:
            # Who begins by asking waits for answers, not for what was said before.
            self._seen = posted["seq"]
        else:
            self._own.add(posted["seq"])
        return posted

    def read(self, since: int = 0, limit: int = 100) -> AwaitableList:
        """Gives the messages after the number `since`, the oldest first."""
        messages = AwaitableList(query("board_read", {**self._address(), "since": since, "limit": limit}))
        self._seen = max([self._seen or 0, *(message["seq"] for message in messages)])
        return messages

    async def wait(self, since: int | None = None, timeout: float = 30) -> list[dict]:
        """Waits for messages, at most `timeout` seconds; gives none when the time is over.

        Without `since` these are the messages of others after the last one that was seen here; a
        program that has seen none gets those that are there already. With `since` they are all
        messages after that number.
        """
        messages = await (self._news(timeout) if since is None else self._after(since, timeout))
        if messages:
            self._seen = max(self._seen or 0, messages[-1]["seq"])
        return messages

    async def __aiter__(self):
        while True:
            for message in await self._news(30):
                # One by one: a loop that is left early has not seen the rest.
                self._seen = message["seq"]
                yield message

    async def _news(self, timeout: float) -> list[dict]:
        ends = time.monotonic() + timeout
        while True:
            messages = await self._after(self._seen or 0, max(0, ends - time.monotonic()))
            news = [message for message in messages if message["seq"] not in self._own]
            if news or not messages:
                return news
            self._seen = messages[-1]["seq"]
            self._own = {seq for seq in self._own if seq > self._seen}

    async def _after(self, since: int, timeout: float) -> list[dict]:
        return await call("narrows:board_wait", {**self._address(), "since": since, "timeout": timeout})

    def _address(self) -> dict:
        return {"board": self.name, "namespace": self.namespace}


def board(name: str, namespace: str | None = None) -> Board:
    """The message board of that name; it begins to exist with its first message."""
    if (name, namespace) not in _boards:
        _boards[name, namespace] = Board(name, namespace)
    return _boards[name, namespace]


def boards(namespace: str | None = None) -> AwaitableList:
    """Lists the boards that have messages."""
    return AwaitableList(query("boards", {"namespace": namespace}))


class _Absent:
    """Stands for the value of a key that is not there."""

    def __repr__(self) -> str:
        return "shared.ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class Shared(MutableMapping):
    """Values by key that all agents of a namespace see. A value is anything that JSON can hold."""

    ABSENT = ABSENT

    def __init__(self, namespace: str | None = None):
        self._namespace = namespace

    def of(self, namespace: str) -> "Shared":
        """The values of another namespace."""
        return Shared(namespace)

    def __repr__(self) -> str:
        return "shared" if self._namespace is None else f"shared.of({self._namespace!r})"

    def __getitem__(self, key: str):
        found = self._get(key)
        if not found["found"]:
            raise KeyError(key)
        return found["value"]

    def __setitem__(self, key: str, value) -> None:
        self._set(key, value)

    def __delitem__(self, key: str) -> None:
        if not query("shared_remove", self._address(key))["found"]:
            raise KeyError(key)

    def __iter__(self):
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self, prefix: str = "") -> AwaitableList:
        return AwaitableList(query("shared_keys", {"namespace": self._namespace, "prefix": prefix}))

    def items(self, prefix: str = "") -> AwaitableList:
        # Another agent may have removed a key since they were listed.
        found = ((key, self._get(key)) for key in self.keys(prefix))
        return AwaitableList((key, value["value"]) for key, value in found if value["found"])

    def values(self, prefix: str = "") -> AwaitableList:
        return AwaitableList(value for _, value in self.items(prefix))

    def setdefault(self, key: str, default=None):
        done = self._set(key, default, if_absent=True)
        return default if done["done"] else done["current"]

    def version(self, key: str) -> int | None:
        """A number that grows with each change of the value; None when there is none."""
        found = self._get(key)
        return found["version"] if found["found"] else None

    def compare_and_set(self, key: str, expected, new) -> bool:
        """Sets the value if it is the expected one, and says whether it did.

        `shared.ABSENT` expects that the key is not there; so does None, which also expects a null.
        """
        if expected is not ABSENT:
            expected = loads(dumps(expected))  # as it would come back: a tuple is a list then
        while True:
            found = self._get(key)
            if found["found"] and (expected is ABSENT or found["value"] != expected):
                return False
            if not found["found"] and expected is not None and expected is not ABSENT:
                return False
            if self._replace(key, found, new):
                return True

    def update_with(self, key: str, function, default=None):
        """Sets the value to `function(value)` and gives that; again, if another agent was faster."""
        while True:
            found = self._get(key)
            new = function(found["value"] if found["found"] else copy.deepcopy(default))
            if new is None:
                raise TypeError("the function of update_with() gave None; it must return the new value")
            if self._replace(key, found, new):
                return new

    def _replace(self, key: str, found: dict, new) -> bool:
        """Sets a value unless somebody has changed it since it was found."""
        if found["found"]:
            return self._set(key, new, if_version=found["version"])["done"]
        return self._set(key, new, if_absent=True)["done"]

    def _get(self, key: str) -> dict:
        return query("shared_get", self._address(key))

    def _set(self, key: str, value, if_version: int | None = None, if_absent: bool = False) -> dict:
        change = {"value": value, "if_version": if_version, "if_absent": if_absent}
        return query("shared_set", {**self._address(key), **change})

    def _address(self, key: str) -> dict:
        if not isinstance(key, str):
            raise TypeError(f"a key of shared is text, not {type(key).__name__}")
        return {"namespace": self._namespace, "key": key}


shared = Shared()
