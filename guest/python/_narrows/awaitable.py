"""Answers that are there already. `await` gives them too, since most calls need one."""


class AwaitableDict(dict):
    def __await__(self):
        return self
        yield


class AwaitableList(list):
    def __await__(self):
        return self
        yield


class AwaitableText(str):
    __slots__ = ()

    def __await__(self):
        return self
        yield


_KINDS = {str: AwaitableText, dict: AwaitableDict, list: AwaitableList}


def awaitable(answer):
    """Makes a text, dict or list one that may be awaited; anything else stays as it is."""
    kind = _KINDS.get(type(answer))
    return answer if kind is None else kind(answer)
