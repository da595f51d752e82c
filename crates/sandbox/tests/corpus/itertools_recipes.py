"""Itertools in earnest: chunking, merging, run lengths, tee, product orders."""
from collections import deque
from heapq import merge
from itertools import (accumulate, chain, combinations, combinations_with_replacement, compress, count, cycle,
                       dropwhile, filterfalse, groupby, islice, pairwise, permutations, product, repeat, starmap,
                       takewhile, tee, zip_longest)
from operator import itemgetter, mul


def chunks(iterable, size):
    it = iter(iterable)
    return iter(lambda: tuple(islice(it, size)), ())


def partition(predicate, iterable):
    a, b = tee(iterable)
    return filterfalse(predicate, a), filter(predicate, b)


def roundrobin(*iterables):
    turns = cycle([iter(it).__next__ for it in iterables])
    pending = len(iterables)
    while pending:
        try:
            for turn in turns:
                yield turn()
        except StopIteration:
            pending -= 1
            turns = cycle(islice(turns, pending))


def unique_by(iterable, key):
    seen = set()
    return (x for x in iterable if (k := key(x)) not in seen and not seen.add(k))


print(list(chunks("abcdefg", 3)), list(chunks([], 2)), ["".join(c) for c in zip_longest(*[iter("abcde")] * 2, fillvalue="-")])
print([list(p) for p in partition(lambda n: n % 3 == 0, range(10))], "".join(roundrobin("ABC", "D", "EF")))
print([(k, len(list(g))) for k, g in groupby("aaabccdaa")], "".join(starmap(mul, [("x", 3), ("yo", 2), ("z", 0)])))
print(list(accumulate([3, 1, 4, 1, 5], max)), list(accumulate([1, 2, 3, 4], mul, initial=1)), list(islice(accumulate(repeat(2), mul), 6)))
print(list(map("".join, combinations("abcd", 2))), len(list(permutations(range(5), 3))), list(permutations("ab", 3)))
print(list(combinations_with_replacement("xy", 2)), list(product("ab", repeat=2))[1:3], list(product([], "a")), list(product()))
print(list(unique_by(["Apple", "avocado", "Berry", "blueberry", "fig"], lambda s: s[0].lower())))
print(list(takewhile(lambda n: n < 30, (n * n for n in count(1, 2)))), list(dropwhile(str.isspace, "  a b")), list(islice(count(0.5, 0.25), 3)))
print(list(merge([1, 4, 9], [2, 4, 8], [5], reverse=False)), list(merge("ca", "b", reverse=True)))
print(list(compress("ABCDEF", cycle([1, 0, 1]))), [b - a for a, b in pairwise([1, 4, 9, 16])], list(pairwise([1])))

groups = groupby(sorted(["bb", "a", "cc", "d"], key=len), key=len)
kept = [(k, g) for k, g in groups]
print("groups read too late:", [(k, list(g)) for k, g in kept])

source = iter(range(6))
pairs = list(zip(source, source))
print(pairs, next(source, "empty"))
a = iter([1, 2, 3])
print(list(zip(a, [10, 20])), list(a), "- zip ate one")
tail = deque(range(100), maxlen=3)
left, right = tee(iter("hello"))
next(right)
print(list(tail), "".join(map("".join, zip(left, right))), next(chain.from_iterable([[], [], "xy"])), min(enumerate("qwe"), key=itemgetter(1)))
try:
    list(zip([1], [1, 2], strict=True))
except ValueError:
    print("strict zip noticed")
