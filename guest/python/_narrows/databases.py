"""Random numbers of SQL.

SQLite seeds its generator once, and the snapshot has frozen it: `random()` would give the same
numbers in every run.
"""

import os
import sqlite3

_connect = sqlite3.connect


def connect(*args, **kwargs):
    connection = _connect(*args, **kwargs)
    connection.create_function("random", 0, _random)
    connection.create_function("randomblob", 1, _randomblob)
    return connection


def _random() -> int:
    return int.from_bytes(os.urandom(8), "little", signed=True)


def _randomblob(size) -> bytes:
    return os.urandom(max(1, int(size or 0)))


def install() -> None:
    connect.__doc__ = _connect.__doc__
    sqlite3.connect = sqlite3.dbapi2.connect = connect
