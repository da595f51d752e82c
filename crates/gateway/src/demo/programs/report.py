import sqlite3, statistics
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

@dataclass
class Reading:
    at: datetime
    celsius: float

def readings():
    for hour in range(48):
        at = datetime(2026, 3, 28 + hour // 24, hour % 24, tzinfo=ZoneInfo("Europe/Berlin"))
        yield Reading(at, 8 + (hour % 24 - 12) / 3)

db = sqlite3.connect(":memory:")
db.execute("create table reading (at text, celsius real)")
db.executemany("insert into reading values (?, ?)", [(r.at.isoformat(), r.celsius) for r in readings()])
for day, warmest in db.execute("select substr(at, 1, 10), max(celsius) from reading group by 1"):
    print(f"{day}: up to {warmest:.1f} °C")
statistics.quantiles([r.celsius for r in readings()], n=4)
