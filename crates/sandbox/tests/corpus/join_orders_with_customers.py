"""Inner, left and anti joins over lists of dict records."""
from collections import defaultdict

customers = [
    {"id": 1, "name": "Acme", "tier": "gold"},
    {"id": 2, "name": "Birch & Co", "tier": None},
    {"id": 3, "name": "Cobalt", "tier": "silver"},
    {"id": 4, "name": "Dunes", "tier": "gold"},
]
orders = [
    {"order": "A-1", "customer_id": 1, "total": 120.50, "status": "paid"},
    {"order": "A-2", "customer_id": 3, "total": 75.25, "status": "open"},
    {"order": "A-3", "customer_id": 1, "total": 19.75, "status": "refunded"},
    {"order": "A-4", "customer_id": 9, "total": 300.00, "status": "paid"},
    {"order": "A-5", "customer_id": "3", "total": 10.00, "status": "paid"},
    {"order": "A-6", "customer_id": 2, "total": 0, "status": "paid"},
]


def left_join(left, right, on, prefix):
    left_key, right_key = on
    index = defaultdict(list)
    for row in right:
        index[row[right_key]].append(row)
    blank = dict.fromkeys(right[0]) if right else {}
    for row in left:
        for match in index.get(row[left_key], [blank]):
            yield {**row, **{f"{prefix}.{k}": v for k, v in match.items()}}


joined = list(left_join(orders, customers, ("customer_id", "id"), "customer"))
inner = [r for r in joined if r["customer.id"] is not None]
orphans = [r["order"] for r in joined if r["customer.id"] is None]
seen = {r["customer.id"] for r in inner}
idle = [c["name"] for c in customers if c["id"] not in seen]

print(f"{len(joined)} joined, {len(inner)} matched, orphans={orphans}, idle={idle}")

totals = {}
for row in inner:
    if (status := row["status"]) == "refunded":
        sign = -1
    elif status == "open":
        continue
    else:
        sign = 1
    key = (row["customer.tier"] or "untiered", row["customer.name"])
    totals[key] = totals.get(key, 0) + sign * row["total"]

for (tier, name), amount in sorted(totals.items(), key=lambda kv: (-kv[1], kv[0])):
    print(f"{tier:<10}{name:<12}{amount:>10,.2f}")

# The string id "3" is not the integer id 3: coerce and count what that recovers.
fixed = [{**o, "customer_id": int(o["customer_id"])} for o in orders]
recovered = [
    r["order"]
    for r in left_join(fixed, customers, ("customer_id", "id"), "customer")
    if r["customer.name"] is not None and r["order"] in orphans
]
print("recovered after coercion:", recovered)
print("source untouched:", orders[4]["customer_id"] == "3", list(orders[0]))
