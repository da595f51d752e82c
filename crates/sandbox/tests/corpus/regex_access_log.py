"""Parse a web access log with one verbose regex and summarise it."""
import re
from collections import Counter, defaultdict
from datetime import datetime

LOG = r'''
10.0.0.1 - alice [12/Mar/2024:06:25:24 +0000] "GET /api/items?page=2 HTTP/1.1" 200 5120 "-" "curl/8.0"
10.0.0.2 - - [12/Mar/2024:06:25:25 +0100] "POST /api/items HTTP/1.1" 201 87 "https://x.example/\"q\"" "Mozilla/5.0 (X11)"
10.0.0.1 - alice [12/Mar/2024:06:25:26 +0000] "GET /static/app.js HTTP/2" 304 - "-" "curl/8.0"
broken line that matches nothing
10.0.0.3 - bob [12/Mar/2024:06:26:01 +0000] "DELETE /api/items/77 HTTP/1.1" 500 0 "-" ""
10.0.0.2 - - [12/Mar/2024:06:26:02 +0000] "GET /api/items/77?verbose HTTP/1.1" 404 19 "-" "Mozilla/5.0 (X11)"
10.0.0.9 - - [12/Mar/2024:06:26:02 +0000] "\x16\x03\x01" 400 226 "-" "-"
'''.strip()

LINE = re.compile(r'''
    ^(?P<host>\S+)\ \S+\ (?P<user>\S+)\          # who
    \[(?P<when>[^\]]+)\]\                        # when
    "(?:(?P<method>[A-Z]+)\ (?P<path>[^\s?]+)(?:\?(?P<query>\S*))?\ HTTP/(?P<version>[\d.]+)|(?P<junk>[^"]*))"[ ]
    (?P<status>\d{3})\ (?P<size>\d+|-)[ ]
    "(?P<referer>(?:[^"\\]|\\.)*)"\ "(?P<agent>(?:[^"\\]|\\.)*)"$
''', re.VERBOSE | re.MULTILINE)

records = []
for m in LINE.finditer(LOG):
    rec = m.groupdict()
    rec["when"] = datetime.strptime(rec["when"], "%d/%b/%Y:%H:%M:%S %z")
    rec["status"] = int(rec["status"])
    rec["size"] = 0 if rec["size"] == "-" else int(rec["size"])
    rec["span"] = m.span("status")
    records.append(rec)

print("parsed", len(records), "of", LOG.count("\n") + 1, "lines")
print("earliest:", min(records, key=lambda r: r["when"])["when"].isoformat())
print("by class:", sorted(Counter(f"{r['status'] // 100}xx" for r in records).items()))

routes = defaultdict(lambda: [0, 0])
for r in records:
    if r["path"] is None:
        print("junk request:", repr(r["junk"]), r["method"])
        continue
    route = re.sub(r"/\d+(?=/|$)", "/{id}", r["path"])
    stats = routes[r["method"], route]
    stats[0] += 1
    stats[1] += r["size"]
for (method, route), (hits, size) in sorted(routes.items()):
    print(f"{method:<7}{route:<18}{hits:>2} {size:>6}")

print("queries:", [r["query"] for r in records if r["query"] is not None])
print("quoted referer:", records[1]["referer"], re.sub(r"\\(.)", r"\1", records[1]["referer"]))
print("empty agent:", [r["host"] for r in records if not r["agent"]])
print("groups:", LINE.groups, sorted(LINE.groupindex.items(), key=lambda kv: kv[1])[:3])
print("status text:", [LOG[slice(*r["span"])] for r in records if r["status"] >= 400])
