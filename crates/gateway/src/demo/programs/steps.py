import asyncio
from collections import Counter
from servers.company import get_trips, list_issues, list_parks

pages = await asyncio.gather(*(list_issues(page=n) for n in range(1, 6)))
open_bugs = [i for page in pages for i in page["rows"] if i["state"] == "open" and i["label"] == "bug"]
busiest, bugs = Counter(i["author"] for i in open_bugs).most_common(1)[0]

trips = (await get_trips(employee=busiest))["rows"]
parks = (await list_parks(state="CA"))["rows"]
best = max((p for p in parks if p["has_camping"]), key=lambda p: p["visitors"])
print(f"{busiest} opened {bugs} of {len(open_bugs)} open bugs, made {len(trips)} trips, and may like {best['name']}")
