import asyncio
from collections import defaultdict
from servers.shop import get_invoices, list_customers

customers = await list_customers()
invoices = await asyncio.gather(*[get_invoices(customer_id=c["id"]) for c in customers])

overdue = defaultdict(float)
for customer, rows in zip(customers, invoices):
    for row in rows:
        if row["status"] == "open" and row["due"] < "2026-06-01":
            overdue[customer["region"]] += row["amount"]

print(f"looked at {sum(map(len, invoices))} invoices of {len(customers)} customers")
result = {region: round(amount, 2) for region, amount in sorted(overdue.items())}
