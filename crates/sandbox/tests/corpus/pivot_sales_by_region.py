"""Pivot a flat sales feed into a region x quarter table with margins."""
from collections import Counter, defaultdict
from itertools import accumulate, groupby

FEED = """\
north,2024-01-14,widget,12,9.99
south,2024-02-02,widget,3,9.99
north,2024-04-30,gadget,1,149.00
east,2024-05-05,widget,40,9.49
north,2024-03-31,gadget,2,149.00
south,2024-11-11,gizmo,7,24.50
east,2024-12-31,gadget,1,139.00
south,2024-07-19,widget,5,9.99
"""


def parse(line):
    region, day, product, qty, price = line.split(",")
    whole, _, cents = price.partition(".")
    return region, (int(day[5:7]) + 2) // 3, product, int(qty), int(whole) * 100 + int(cents)


rows = [parse(line) for line in FEED.splitlines()]

pivot = defaultdict(Counter)
for region, quarter, _, qty, cents in rows:
    pivot[region][quarter] += qty * cents

quarters = range(1, 5)
print("region  " + "".join(f"{'Q%d' % q:>10}" for q in quarters) + f"{'total':>11}")
column_totals = Counter()
for region in sorted(pivot):
    cells = pivot[region]
    column_totals.update(cells)
    line = "".join(f"{cells[q] / 100:>10.2f}" if q in cells else f"{'.':>10}" for q in quarters)
    print(f"{region:<8}{line}{sum(cells.values()) / 100:>11.2f}")
print(f"{'all':<8}" + "".join(f"{column_totals[q] / 100:>10.2f}" for q in quarters)
      + f"{column_totals.total() / 100:>11.2f}")

running = list(accumulate((column_totals[q] for q in quarters), initial=0))
print("running:", [f"{c / 100:.2f}" for c in running])

# groupby only groups neighbours: compare unsorted and sorted use.
print("unsorted groups:", [k for k, _ in groupby(rows, key=lambda r: r[0])])
print("sorted groups:  ", [(k, sum(r[3] for r in g)) for k, g in
                           groupby(sorted(rows, key=lambda r: r[0]), key=lambda r: r[0])])

best = {
    product: max((r for r in rows if r[2] == product), key=lambda r: r[3] * r[4])[:2]
    for product in dict.fromkeys(r[2] for r in rows)
}
print("best sale:", best)
print("reading a Counter adds nothing:", sorted(pivot["north"]), pivot["north"][4], sorted(pivot["north"]))
print("reading a defaultdict does:", len(pivot), pivot["west"].total(), len(pivot))
