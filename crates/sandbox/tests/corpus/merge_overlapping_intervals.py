"""Merge, intersect and subtract half-open intervals; find the busiest moment."""
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise


@dataclass(frozen=True, order=True)
class Span:
    start: datetime
    end: datetime

    def __and__(self, other):
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Span(start, end) if start < end else None

    def __str__(self):
        return f"{self.start:%H:%M}-{self.end:%H:%M}"


def span(text):
    ends = (datetime.strptime(f"2024-05-06 {part}", "%Y-%m-%d %H:%M") for part in text.split("-"))
    return Span(*ends)


def merge(spans):
    out = []
    for s in sorted(spans):
        if out and s.start <= out[-1].end:
            out[-1] = Span(out[-1].start, max(out[-1].end, s.end))
        else:
            out.append(s)
    return out


def subtract(whole, busy):
    cursor = whole.start
    for s in merge(filter(None, (whole & b for b in busy))):
        if cursor < s.start:
            yield Span(cursor, s.start)
        cursor = s.end
    if cursor < whole.end:
        yield Span(cursor, whole.end)


ana = [span(t) for t in ("09:00-10:00", "09:30-11:15", "13:00-14:00", "14:00-14:30")]
bob = [span(t) for t in ("08:00-09:15", "11:00-12:00", "13:45-15:00", "17:30-19:00")]
day = span("09:00-18:00")

print("ana busy:", *merge(ana))
print("both busy:", *(c for a in merge(ana) for b in merge(bob) if (c := a & b)))
free = list(subtract(day, ana + bob))
print("free:", *free, "| total", sum((s.end - s.start for s in free), timedelta()))
print("gaps in bob:", *(Span(a.end, b.start) for a, b in pairwise(merge(bob))))

edges = sorted([(s.start, 1) for s in ana + bob] + [(s.end, -1) for s in ana + bob], key=lambda e: (e[0], e[1]))
depth = list(accumulate(step for _, step in edges))
peak = depth.index(max(depth))
print("peak:", max(depth), "at", edges[peak][0].strftime("%H:%M"), "| ends at", depth[-1])

starts = [s.start for s in free]
for probe in ("12:00", "12:30", "16:00"):
    at = datetime.strptime(f"2024-05-06 {probe}", "%Y-%m-%d %H:%M")
    i = bisect_right(starts, at) - 1
    print(probe, "free" if i >= 0 and at < free[i].end else "busy", bisect_left(starts, at), bisect_right(starts, at))
