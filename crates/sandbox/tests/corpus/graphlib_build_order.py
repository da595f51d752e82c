"""Dependency order with graphlib: static, level by level, cycles, critical path."""
from graphlib import CycleError, TopologicalSorter

DEPS = {
    "app": ["api", "ui", "config"],
    "api": ["db", "auth"],
    "ui": ["assets"],
    "auth": ["db", "crypto"],
    "db": ["config"],
    "tests": ["app"],
}
COST = {"app": 5, "api": 8, "ui": 6, "auth": 4, "db": 7, "tests": 20, "assets": 3, "crypto": 9, "config": 1}


def levels(graph):
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        yield ready
        sorter.done(*ready)


for number, level in enumerate(levels(DEPS)):
    print(number, level)

order = list(TopologicalSorter(DEPS).static_order())
position = {name: i for i, name in enumerate(order)}
print("valid order:", all(position[d] < position[n] for n, ds in DEPS.items() for d in ds), len(order))

# Earliest finish with unlimited workers, and the chain that decides it.
finish, decided_by = {}, {}
for name in order:
    deps = DEPS.get(name, [])
    decided_by[name] = max(sorted(deps), key=finish.__getitem__, default=None)
    finish[name] = COST[name] + finish.get(decided_by[name], 0)
path, step = [], max(finish, key=finish.get)
while step:
    path.append(step)
    step = decided_by[step]
print("critical path:", " <- ".join(path), "=", finish[path[0]], "of", sum(COST.values()))


def simulate(workers):
    """Greedy list scheduling with a fixed number of workers."""
    sorter = TopologicalSorter(DEPS)
    sorter.prepare()
    clock, running, waiting = 0, [], []
    while sorter.is_active():
        waiting = sorted({*waiting, *sorter.get_ready()}, key=lambda n: (-COST[n], n))
        while waiting and len(running) < workers:
            job = waiting.pop(0)
            running.append((clock + COST[job], job))
        running.sort()
        clock, job = running.pop(0)
        sorter.done(job)
    return clock


print("makespan:", {workers: simulate(workers) for workers in (1, 2, 3)})
sorter = TopologicalSorter({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
try:
    sorter.prepare()
except CycleError as exc:
    cycle = exc.args[1]
    print("cycle:", cycle[0] == cycle[-1], sorted(cycle[:-1]), "d" in cycle, isinstance(exc, ValueError))
