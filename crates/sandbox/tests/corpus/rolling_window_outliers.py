"""Rolling mean and median with a deque and a sorted window; flag anomalies."""
from bisect import bisect_left, insort
from collections import deque
from itertools import islice
from random import Random


def sliding(values, size):
    it = iter(values)
    window = deque(islice(it, size), maxlen=size)
    if len(window) == size:
        yield tuple(window)
    for value in it:
        window.append(value)  # the oldest falls out on its own
        yield tuple(window)


class RollingMedian:
    def __init__(self, size):
        self.queue = deque()
        self.ordered = []
        self.size = size

    def push(self, value):
        self.queue.append(value)
        insort(self.ordered, value)
        if len(self.queue) > self.size:
            gone = self.queue.popleft()
            del self.ordered[bisect_left(self.ordered, gone)]
        middle, odd = divmod(len(self.ordered), 2)
        return self.ordered[middle] if odd else (self.ordered[middle - 1] + self.ordered[middle]) / 2


rng = Random(20240518)
series = [50 + (n % 7) + rng.randint(-2, 2) for n in range(40)]
for spike, bump in ((9, 40), (23, -35), (24, -33), (38, 60)):
    series[spike] += bump
print("series:", series[:12])

rolling = RollingMedian(7)
medians = [rolling.push(v) for v in series]
assert medians[6:] == [sorted(w)[3] for w in sliding(series, 7)]
print("medians:", medians[:10])

means = [sum(w) / len(w) for w in sliding(series, 5)]
print(f"means: {len(means)} from {means[0]:.2f}, widest swing {max(means) - min(means):.2f}")

baseline = None
flags = []
for n, value in enumerate(series):
    baseline = value if baseline is None else baseline
    deviation = value - baseline
    if abs(deviation) > 15:
        flags.append((n, value, round(deviation, 2)))
    else:
        baseline += 0.3 * deviation
for n, value, deviation in flags:
    direction = "above" if deviation > 0 else "below"
    print(f"  index {n:>2}: {value:>3} is {abs(deviation):.1f} {direction} baseline")
print("consecutive:", [a[0] for a, b in zip(flags, flags[1:]) if b[0] - a[0] == 1])
print("short input:", list(sliding([1, 2], 3)), list(sliding("abcd", 3)), list(sliding([], 1)))

ring = deque(range(6), maxlen=6)
ring.rotate(2)
ring.extendleft("xy")
print(list(ring), ring.index(0), ring.count(1))
