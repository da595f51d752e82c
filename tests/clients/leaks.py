"""Looks for planted values in what a client received: as they are, in pieces, and encoded.

It does what somebody would do who reads the answers and wants the values: whatever it can decode
counts as out.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
import urllib.parse
import zlib
from collections.abc import Iterator
from typing import Any

# So much of a value in one piece is a leak.
PIECE = 10
XOR = 42
Json = Any


def strings(value: Json, *, keys: bool) -> Iterator[str]:
    """All texts and numbers of a JSON value, in order."""
    match value:
        case dict():
            for key, field in value.items():
                if keys:
                    yield str(key)
                yield from strings(field, keys=keys)
        case list():
            for item in value:
                yield from strings(item, keys=keys)
        case bool() | None:
            pass
        case _:
            yield str(value)


def letters(text: str) -> str:
    """Without all that may stand between the letters of a value."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).lower()


def is_within(part: list[int], whole: list[int]) -> bool:
    joined = ",".join(map(str, part))
    return f",{joined}," in f",{','.join(map(str, whole))},"


def _unescaped(text: str) -> str:
    """With the escapes of JSON and Python undone."""
    return re.sub(
        r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\([0-7]{3})",
        lambda found: chr(int(found[1] or found[2], 16) if not found[3] else int(found[3], 8)),
        text,
    )


def _decoded(text: str) -> Iterator[bytes]:
    """What looks like base64 or hexadecimal, as bytes."""
    for run in set(re.findall(r"[A-Za-z0-9+/_-]{12,}={0,2}", text)):
        for decode in (lambda run: base64.b64decode(run.translate({45: 43, 95: 47}) + "=="), bytes.fromhex):
            try:
                yield decode(run)
            except (ValueError, binascii.Error):
                continue


def _unpacked(data: bytes) -> bytes:
    """The same without compression, if it is compressed."""
    try:
        # Whatever its header says, of zlib or of gzip.
        return zlib.decompress(data, 47)
    except zlib.error:
        return data


def _pieces(value: str) -> Iterator[str]:
    # The frame of a private key is no secret.
    for line in value.splitlines():
        if not line.startswith("-----"):
            yield from (line[at : at + PIECE] for at in range(max(1, len(line) - PIECE + 1)))


def _base64_cores(value: str) -> Iterator[str]:
    """The part of the value in base64 that does not depend on what stands around it."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + value.encode()).decode().rstrip("=")
        core = encoded[(0, 2, 3)[before] : len(encoded) - 1]
        yield core.translate({45: None, 43: None, 47: None})


class Received:
    """All that a client received, in the forms in which it may hide something."""

    def __init__(self, received: list[Json]) -> None:
        texts = list(strings(received, keys=True))
        self.text = "\n".join(texts)
        self.letters = {letters(self.text), letters("".join(strings(received, keys=False)))}
        # Numbers are looked for in each text by itself and in lists of numbers.
        self.numbers = [int(number) for number in re.findall(r"\d{1,4}(?!\d)", self.text)]
        self.exact = re.sub(r"[^A-Za-z0-9]", "", self.text)
        undone = (urllib.parse.unquote, html.unescape, _unescaped)
        self.undone = {undo.__name__.strip("_"): undo(self.text) for undo in undone}
        decoded = (_unpacked(data).decode(errors="replace") for data in _decoded(self.text))
        self.decoded = "\n".join(decoded)

    def forms(self, value: str) -> Iterator[str]:
        """In which forms a value is there."""
        if any(piece in self.text for piece in _pieces(value)):
            yield "plain"
        for name, text in self.undone.items():
            if value in text and value not in self.text:
                yield name
        short = letters(value)
        spelled = {
            "spelled": short,
            "reversed": short[::-1],
            "rot13": codecs.encode(short, "rot13"),
            "hex": value.encode().hex(),
            "base32": base64.b32encode(value.encode()).decode().rstrip("=").lower(),
            "number": str(int.from_bytes(value.encode(), "big")),
        }
        for name, form in spelled.items():
            if (name == "spelled" or form != short) and any(form in text for text in self.letters):
                yield name
        if any(core in self.exact for core in _base64_cores(value)):
            yield "base64"
        if any(piece in self.decoded for piece in _pieces(value)):
            yield "decoded"
        if base64.b85encode(value.encode()).decode() in self.text:
            yield "base85"
        codes = [ord(letter) for letter in value]
        if is_within(codes, self.numbers):
            yield "codes"
        if is_within([code ^ XOR for code in codes], self.numbers):
            yield "xor"


def leaks(received: list[Json], planted: dict[str, str]) -> list[str]:
    """What got out, and how, such as `email base64`."""
    all_of_it = Received(received)
    return [f"{kind} {form}" for kind, value in planted.items() for form in all_of_it.forms(value)]
