"""Rank support tickets: mixed sort directions, None last, ties share a rank."""
from itertools import groupby
from operator import itemgetter

TICKETS = [
    ("T-104", "high", 3, None),
    ("T-101", "low", 9, 4.0),
    ("T-107", "high", 3, 2.5),
    ("T-102", "urgent", 0, 1.0),
    ("T-103", "high", 8, 2.5),
    ("T-105", "urgent", 0, None),
    ("T-106", "low", 9, 4.0),
    ("T-108", "medium", 5, 0.0),
]
FIELDS = ("id", "priority", "age", "sla_hours")
SEVERITY = {name: n for n, name in enumerate(["urgent", "high", "medium", "low"])}
tickets = [dict(zip(FIELDS, t)) for t in TICKETS]


def sort_key(t):
    sla = t["sla_hours"]
    return SEVERITY[t["priority"]], -t["age"], sla is None, sla or 0.0


ranked = sorted(tickets, key=sort_key)

# The same order, from least to most significant key, thanks to stability.
staged = list(tickets)
staged.sort(key=lambda t: (t["sla_hours"] is None, t["sla_hours"] or 0.0))
staged.sort(key=itemgetter("age"), reverse=True)
staged.sort(key=lambda t: SEVERITY[t["priority"]])
assert [t["id"] for t in staged] == [t["id"] for t in ranked]

position = 1
for key, block in groupby(ranked, key=sort_key):
    block = list(block)
    for t in block:
        tie = "=" if len(block) > 1 else " "
        sla = "-" if t["sla_hours"] is None else format(t["sla_hours"], ".1f")
        print(f"{position:>2}{tie} {t['id']} {t['priority']:<7} age={t['age']} sla={sla}")
    position += len(block)

# reverse=True keeps the original order among equals; reversed(sorted()) does not.
by_age_desc = [t["id"] for t in sorted(tickets, key=itemgetter("age"), reverse=True)]
flipped = [t["id"] for t in reversed(sorted(tickets, key=itemgetter("age")))]
print(by_age_desc)
print(flipped)

falsy_but_set = [t["id"] for t in tickets if not t["sla_hours"] and t["sla_hours"] is not None]
print("zero SLA:", falsy_but_set)
try:
    sorted(tickets, key=itemgetter("sla_hours"))
except TypeError as exc:
    print("naive sort fails:", type(exc).__name__)
print("oldest:", max(tickets, key=itemgetter("age"))["id"],
      "newest:", min(tickets, key=itemgetter("age"))["id"])
