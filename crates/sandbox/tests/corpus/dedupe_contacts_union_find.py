"""Merge duplicate contacts that share any e-mail or phone (transitively)."""
import re
from collections import defaultdict

RECORDS = [
    {"id": 10, "name": "Ana Silva", "emails": ["ana@x.org"], "phones": ["+1 (555) 010-0001"]},
    {"id": 11, "name": "A. Silva", "emails": ["a.silva@y.org"], "phones": ["15550100001"]},
    {"id": 12, "name": "Bob Stone", "emails": ["bob@x.org"], "phones": []},
    {"id": 13, "name": "Silva, Ana Maria", "emails": ["A.Silva@Y.org", "am@z.net"], "phones": []},
    {"id": 14, "name": "Carol", "emails": [], "phones": ["555-0199"]},
    {"id": 15, "name": "Robert Stone", "emails": ["bob+work@x.org"], "phones": ["555 0142"]},
    {"id": 16, "name": "", "emails": ["AM@z.net "], "phones": ["(555)0199x9"]},
]


class DisjointSet:
    def __init__(self):
        self.parent = {}
        self.size = {}

    def find(self, item):
        self.parent.setdefault(item, item)
        self.size.setdefault(item, 1)
        root = item
        while self.parent[root] != root:
            root = self.parent[root]
        while self.parent[item] != root:
            self.parent[item], item = root, self.parent[item]
        return root

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return True


def keys_of(record):
    for mail in record["emails"]:
        local, _, host = mail.strip().lower().rpartition("@")
        yield "mail", f"{local.split('+')[0]}@{host}"
    for phone in record["phones"]:
        main = re.split(r"x", phone)[0]
        yield "phone", re.sub(r"\D", "", main)[-10:]


links = DisjointSet()
merges = sum(links.union(("rec", r["id"]), key) for r in RECORDS for key in keys_of(r))
groups = defaultdict(list)
for r in RECORDS:
    groups[links.find(("rec", r["id"]))].append(r)

print(f"{len(RECORDS)} records, {merges} links made, {len(groups)} people")
for members in sorted(groups.values(), key=lambda ms: (-len(ms), ms[0]["id"])):
    name = max((m["name"] for m in members), key=len)
    shared = defaultdict(set)
    for m in members:
        for kind, value in keys_of(m):
            shared[kind].add(value)
    print(f"{name!r}: ids={[m['id'] for m in members]}")
    for kind in sorted(shared):
        print(f"    {kind}: {sorted(shared[kind])}")
