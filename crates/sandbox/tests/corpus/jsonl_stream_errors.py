"""Read a JSON-lines stream, keep going past bad lines, and report on them."""
import json
from collections import Counter
from typing import Iterator, NamedTuple

STREAM = b"""\
{"ts": 1, "kind": "login", "user": "ana"}

{"ts": 2, "kind": "click", "user": "bob", "meta": {"x": 10, "y": -3}}
{"ts": 3, "kind": "click", "user": "ana", "meta": {"x": 1
nonsense
[1, 2, 3]
{"ts": 4, "kind": "logout", "user": "caf\xc3\xa9"}
{"ts": 5, "kind": "click", "user": "\xff\xfe"}
{"ts": "6", "kind": "click", "user": "bob"} {"ts": 7, "kind": "login", "user": "eve"}
null
"""


class Bad(NamedTuple):
    line: int
    kind: str
    detail: str


def read(stream: bytes) -> Iterator[dict | Bad]:
    decoder = json.JSONDecoder()
    for number, raw in enumerate(stream.split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as exc:
            yield Bad(number, "encoding", f"byte {exc.object[exc.start]:#x} at {exc.start}")
            continue
        at = 0
        while at < len(text):
            try:
                value, at = decoder.raw_decode(text, at)
            except json.JSONDecodeError as exc:
                yield Bad(number, "syntax", f"column {exc.colno} of {len(text)}")
                break
            if not isinstance(value, dict):
                yield Bad(number, "shape", type(value).__name__)
            else:
                yield value
            while at < len(text) and text[at].isspace():
                at += 1


good, bad = [], []
for entry in read(STREAM):
    (bad if isinstance(entry, Bad) else good).append(entry)

print("good:", len(good), "bad:", len(bad))
for problem in bad:
    print(f"  line {problem.line:>2} {problem.kind:<9}{problem.detail}")
print(Counter(p.kind for p in bad).most_common())

by_user = {}
for event in sorted(good, key=lambda e: int(e["ts"])):
    by_user.setdefault(event["user"], []).append(event["kind"])
for user, kinds in by_user.items():
    print(f"  {ascii(user)}: {' > '.join(kinds)}")
print("positions:", [(e["meta"]["x"], e["meta"]["y"]) for e in good if "meta" in e])
print("types of ts:", [type(e["ts"]).__name__ for e in good])
