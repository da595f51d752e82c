"""Backtracking: n-queens by bit masks, a sudoku solver, subset sums, permutations."""
from functools import lru_cache
from itertools import islice

PUZZLE = """
53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79
"""


def queens(n):
    full = (1 << n) - 1

    def place(columns, left, right, row):
        if columns == full:
            yield row
            return
        free = full & ~(columns | left | right)
        while free:
            bit = free & -free
            free ^= bit
            yield from place(columns | bit, (left | bit) << 1, (right | bit) >> 1, (*row, bit.bit_length() - 1))
    return place(0, 0, 0, ())


def solve(grid):
    """The most constrained cell first; strings are immutable, so no undo is needed."""
    def choices(i):
        r, c = divmod(i, 9)
        seen = {grid[r * 9 + k] for k in range(9)} | {grid[k * 9 + c] for k in range(9)}
        seen |= {grid[(r // 3 * 3 + k // 3) * 9 + c // 3 * 3 + k % 3] for k in range(9)}
        return [d for d in "123456789" if d not in seen]

    empty = [(len(options := choices(i)), i, options) for i, v in enumerate(grid) if v == "."]
    if not empty:
        return grid
    _, i, options = min(empty)
    for digit in options:
        if solved := solve(grid[:i] + digit + grid[i + 1:]):
            return solved
    return None


print([sum(1 for _ in queens(n)) for n in range(1, 8)], next(queens(8)))
for row in islice(queens(5), 1):
    print("\n".join(" ".join("Q" if c == q else "." for c in range(5)) for q in row))

solved = solve("".join(PUZZLE.split()))
print(solved[:9], solved[-9:], all(len(set(solved[r * 9:r * 9 + 9])) == 9 for r in range(9)))


@lru_cache(maxsize=None)
def subset(numbers, target):
    if target == 0:
        return ()
    if not numbers or target < 0:
        return None
    head, *tail = numbers
    taken = subset(tuple(tail), target - head)
    return (head, *taken) if taken is not None else subset(tuple(tail), target)


print(subset((17, 5, 31, 8, 23, 12, 3), 40), subset((4, 6, 10), 7), subset.cache_info().hits > 0)
