"""A priority scheduler on heapq with lazy deletion, and bisect lookups."""
import heapq
from bisect import bisect, bisect_left, insort
from dataclasses import dataclass, field
from itertools import count


@dataclass(order=True)
class Job:
    priority: int
    seq: int
    name: str = field(compare=False)
    payload: dict = field(compare=False, default_factory=dict)
    live: bool = field(compare=False, default=True)


class Scheduler:
    def __init__(self):
        self.heap, self.jobs, self.tick = [], {}, count()

    def add(self, name, priority, **payload):
        if name in self.jobs:  # a new priority: mark the old entry dead
            self.jobs.pop(name).live = False
        job = Job(priority, next(self.tick), name, payload)
        self.jobs[name] = job
        heapq.heappush(self.heap, job)

    def cancel(self, name):
        self.jobs.pop(name).live = False

    def __iter__(self):
        while self.heap:
            job = heapq.heappop(self.heap)
            if job.live:
                del self.jobs[job.name]
                yield job


s = Scheduler()
for name, priority in (("mail", 5), ("backup", 9), ("alert", 1), ("report", 5), ("sync", 5)):
    s.add(name, priority)
s.add("backup", 0, reason="disk failing")
s.cancel("report")
ran = []
for job in s:
    ran.append(f"{job.name}@{job.priority}")
    if job.name == "alert":
        s.add("page-oncall", 2)
        s.add("mail", 8)
print(ran, len(s.jobs), [j.live for j in s.heap])

numbers = [23, 5, 42, 8, 16, 4, 15]
heap = numbers[:]
heapq.heapify(heap)
assert all(heap[i] <= heap[c] for i in range(len(heap)) for c in (2 * i + 1, 2 * i + 2) if c < len(heap))
print(heapq.heapreplace(heap, 100), heapq.heappushpop(heap, 1), [heapq.heappop(heap) for _ in range(len(heap))])
print(heapq.nlargest(2, numbers), heapq.nsmallest(3, ["pear", "fig", "apple", "kiwi"], key=len))

cutoffs, letters = [60, 70, 80, 90], "FDCBA"
print([letters[bisect(cutoffs, score)] for score in (33, 99, 77, 70, 89, 90, 100)])
ordered = []
for word in ["delta", "Alpha", "charlie", "bravo", "alpha"]:
    insort(ordered, word, key=str.lower)
print(ordered, bisect_left(ordered, "c", key=str.lower), ordered[bisect_left(ordered, "ALPHA".lower(), key=str.lower)])
