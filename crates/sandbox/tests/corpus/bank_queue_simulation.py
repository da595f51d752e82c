"""Discrete event simulation of a bank with two tellers, on a seeded generator."""
import heapq
from dataclasses import dataclass, field
from itertools import count
from random import Random


@dataclass
class Bank:
    rng: Random
    tellers: int
    now: int = 0
    events: list = field(default_factory=list)
    queue: list = field(default_factory=list)
    waits: list = field(default_factory=list)
    busy: int = 0
    lost: int = 0
    tick: count = field(default_factory=count)

    def schedule(self, delay, action, *args):
        heapq.heappush(self.events, (self.now + delay, next(self.tick), action, args))

    def arrive(self, customer, remaining):
        if remaining:
            self.schedule(self.rng.randint(1, 9), self.arrive, customer + 1, remaining - 1)
        if len(self.queue) >= 4:
            self.lost += 1
            return
        self.queue.append((self.now, customer))
        self.serve()

    def serve(self):
        while self.queue and self.busy < self.tellers:
            arrived, customer = self.queue.pop(0)
            self.busy += 1
            self.waits.append((self.now - arrived, customer))
            self.schedule(self.rng.choice([5, 8, 8, 20]), self.leave)

    def leave(self):
        self.busy -= 1
        self.serve()

    def run(self, customers):
        self.schedule(0, self.arrive, 1, customers - 1)
        while self.events:
            self.now, _, action, args = heapq.heappop(self.events)
            action(*args)
        return self


for tellers in (1, 2, 3):
    bank = Bank(Random(42), tellers).run(60)
    times = [w for w, _ in bank.waits]
    worst = max(bank.waits, key=lambda w: (w[0], -w[1]))
    print(f"{tellers} tellers: closed at {bank.now}, served {len(times)}, lost {bank.lost}, "
          f"mean wait {sum(times) / len(times):.2f}, worst {worst[0]} (customer {worst[1]})")

rng = Random("a string seed")
state = rng.getstate()
first = [rng.randrange(100) for _ in range(5)]
rng.setstate(state)
print(first, first == [rng.randrange(100) for _ in range(5)], Random(7).random() == Random(7).random())
deck = [f"{r}{s}" for s in "cdhs" for r in "A23456789TJQK"]
Random(1).shuffle(deck)
print(deck[:5], Random(2).sample(range(1000), 4), Random(3).choices("abc", weights=[5, 1, 1], k=8))
walk = Random(99)
position = [sum(walk.choice((-1, 1)) for _ in range(100)) for _ in range(200)]
print(f"{sum(position) / 200:+.2f}", max(position), all(p % 2 == 0 for p in position), Random(5).getrandbits(40), f"{Random(8).gauss(0, 1):.6f}", round(Random(9).uniform(2, 3), 6))
