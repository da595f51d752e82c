from collections import defaultdict
from servers.company import get_expenses

rows = (await get_expenses())["rows"]
large = [row for row in rows if row["amount"] > 5000 and not row["approved"]]
by_department = defaultdict(float)
for row in large:
    by_department[row["department"]] += row["amount"]

print(f"{len(large)} of {len(rows)} expenses are over 5,000 and not approved")
result = {name: round(total, 2) for name, total in sorted(by_department.items())}
