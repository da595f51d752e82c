"""Personal data: `sanitize_pii` puts tokens in its place, `restore_pii` puts it back."""

from .calls import query
from .state import AwaitableDict, AwaitableList


class AwaitableText(str):
    """An answer that is there already; `await` gives it too, since most calls need one."""

    __slots__ = ()

    def __await__(self):
        return self
        yield


_AWAITABLE = {str: AwaitableText, dict: AwaitableDict, list: AwaitableList}


def sanitize_pii(value):
    """The text, or any value that JSON can hold, with tokens such as `[EMAIL_abc]` for personal data."""
    return _asked("sanitize_pii", value)


def restore_pii(value):
    """The text or value with the personal data that its tokens stand for, where that is allowed."""
    return _asked("restore_pii", value)


def _asked(name: str, value):
    answer = query(name, {"value": value})
    return _AWAITABLE.get(type(answer), lambda plain: plain)(answer)
