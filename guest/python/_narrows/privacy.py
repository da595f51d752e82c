"""Personal data: `sanitize_pii` puts tokens in its place, `restore_pii` puts it back."""

from .awaitable import awaitable
from .calls import query
from .parameters import forgiving


@forgiving
def sanitize_pii(value):
    """The text, or any value that JSON can hold, with tokens such as `[EMAIL_abc]` for personal data."""
    return awaitable(query("sanitize_pii", {"value": value}))


@forgiving
def restore_pii(value):
    """The text or value with the personal data that its tokens stand for, where that is allowed."""
    return awaitable(query("restore_pii", {"value": value}))
