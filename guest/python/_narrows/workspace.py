"""Files of the workspace: `read_file`, `write_file`, `list_files` and `delete_file`."""

import difflib
import os
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from json import JSONEncoder

from .awaitable import AwaitableDict, AwaitableList
from .parameters import forgiving

_ROOT = "/workspace"
# A file that is being written; it gets its name when it is complete.
_TEMPORARY = ".narrows-"
_PIECE = 1 << 20
_MOST_NAMES = 10
_encode = JSONEncoder(ensure_ascii=False).encode


@forgiving
def read_file(path, *, binary: bool = False, offset: int = 0, limit: int | None = None):
    """Gives the text of a file, or its bytes when `binary` is true.

    `offset` and `limit` choose a part: they count characters of text, else bytes.
    """
    if offset < 0 or limit is not None and limit < 0:
        raise ValueError("offset and limit of read_file() cannot be negative")
    place = _locate(path)
    try:
        if binary:
            with open(place, "rb") as file:
                file.seek(offset)
                return file.read(limit)
        # A mark of the byte order is no text; ends of lines stay as they are.
        with open(place, encoding="utf-8-sig", newline="") as file:
            while offset > 0 and (skipped := len(file.read(min(offset, _PIECE)))):
                offset -= skipped
            return file.read(limit)
    except UnicodeDecodeError:
        raise ValueError(f"{_shown(place)!r} is not UTF-8 text; read_file(path, binary=True) gives its bytes") from None
    except OSError as error:
        raise _clearer(error, place) from None


@forgiving
def write_file(path, content) -> AwaitableDict:
    """Writes text, bytes, or as JSON any other value; gives the path and the size.

    A reader sees the old file or the new one, never a part.
    """
    data = _data(content)
    place = _locate(path)
    folder = os.path.dirname(place)
    if place == _ROOT or os.path.isdir(place):
        raise IsADirectoryError(f"{_shown(place)!r} is a directory; write to a file in it")
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(f"{_shown(place)!r} cannot be written: a part of the path is a file") from None
    temporary = f"{folder}/{_TEMPORARY}{os.urandom(8).hex()}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, place)
    except BaseException:
        try:
            os.remove(temporary)
        except OSError:
            pass
        raise
    return AwaitableDict(path=_shown(place), bytes=len(data))


@forgiving
def list_files(pattern: str = "**") -> AwaitableList:
    """Lists files with their size and time. The pattern is a glob: `*.csv`, `reports/**`, `**/*.json`."""
    place = _locate(pattern or ".")
    wanted = ["**"] if place == _ROOT else _shown(place).split("/")
    if os.path.isdir(place) and place != _ROOT:
        wanted.append("**")
    found = AwaitableList()
    for path in _paths():
        if not _matches(path.split("/"), wanted):
            continue
        try:
            about = os.stat(f"{_ROOT}/{path}")
        except OSError:  # removed in the meantime
            continue
        modified = datetime.fromtimestamp(about.st_mtime, UTC).isoformat(timespec="seconds")
        found.append({"path": path, "bytes": about.st_size, "modified": modified})
    return found


@forgiving
def delete_file(path) -> None:
    """Removes a file."""
    place = _locate(path)
    if os.path.isdir(place):
        raise _directory(place)
    try:
        os.remove(place)
    except OSError as error:
        raise _clearer(error, place) from None


def _locate(path) -> str:
    """The absolute path of what a program named, which must be in the workspace."""
    path = os.fspath(path)
    if not isinstance(path, str):
        raise TypeError("a path in the workspace is text, not bytes")
    place = os.path.normpath(os.path.join(_ROOT, path))
    if place != _ROOT and not place.startswith(f"{_ROOT}/"):
        raise ValueError(f"{path!r} is outside of the workspace; use a relative path, or one under {_ROOT}")
    if not os.path.isdir(_ROOT):
        raise FileNotFoundError("this program has no workspace, so it has no files; keep the data in variables")
    return place


def _shown(place: str) -> str:
    return place[len(_ROOT) + 1 :] or "."


def _data(content) -> bytes:
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    if content is None:
        raise TypeError("write_file() got None as the content; is a `return` missing?")
    try:
        text = content if isinstance(content, str) else _encode(content)
    except (TypeError, ValueError) as error:
        raise TypeError(f"write_file() takes text, bytes or what JSON can hold: {error}") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text has lone surrogates, which UTF-8 cannot hold; write bytes instead") from None


def _paths() -> list[str]:
    """Relative paths of all files, sorted."""
    return sorted(
        _shown(f"{folder}/{name}")
        for folder, _, names in os.walk(_ROOT)
        for name in names
        if not name.startswith(_TEMPORARY)
    )


def _matches(parts: list[str], wanted: list[str]) -> bool:
    if not wanted or not parts:
        return wanted == parts
    if wanted[0] == "**":
        return len(wanted) == 1 or any(_matches(parts[skipped:], wanted[1:]) for skipped in range(len(parts)))
    return fnmatchcase(parts[0], wanted[0]) and _matches(parts[1:], wanted[1:])


def _clearer(error: OSError, place: str) -> OSError:
    if os.path.isdir(place):
        return _directory(place)
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return error
    return FileNotFoundError(f"there is no file {_shown(place)!r} in the workspace; {nearby(place)}")


def place_of(path: str) -> str | None:
    """The absolute path of what a program named; none if that is outside of the workspace."""
    place = os.path.normpath(os.path.join(_ROOT, path))
    return place if place.startswith(f"{_ROOT}/") else None


def nearby(place: str) -> str:
    """Says which file may have been meant, or which there are."""
    if not os.path.isdir(_ROOT):
        return "this program has no workspace, so it has no files; keep the data in variables"
    name, paths = _shown(place), _paths()
    by_name = {os.path.basename(path).lower(): path for path in paths}
    near = difflib.get_close_matches(name, paths, n=3, cutoff=0.6)
    for other in difflib.get_close_matches(os.path.basename(name).lower(), list(by_name), n=3, cutoff=0.75):
        if by_name[other] not in near:
            near.append(by_name[other])
    if near:
        return f"did you mean {' or '.join(map(repr, near[:3]))}?"
    if paths:
        more = f" and {len(paths) - _MOST_NAMES} more" if len(paths) > _MOST_NAMES else ""
        return f"there are {', '.join(map(repr, paths[:_MOST_NAMES]))}{more}"
    return "the workspace is empty; write_file() puts files there"


def _directory(place: str) -> OSError:
    pattern = "**" if place == _ROOT else f"{_shown(place)}/**"
    return IsADirectoryError(f"{_shown(place)!r} is a directory; list_files({pattern!r}) shows what is in it")
