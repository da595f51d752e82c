"""Find common working hours across time zones, over a DST change."""
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

TEAM = {
    "Lima": ZoneInfo("America/Lima"),
    "New York": ZoneInfo("America/New_York"),
    "Berlin": ZoneInfo("Europe/Berlin"),
    "Kolkata": ZoneInfo("Asia/Kolkata"),
}
START, END = time(8), time(18, 30)


def working(instant, zone):
    local = instant.astimezone(zone)
    return local.weekday() < 5 and START <= local.time() and local.time() <= END


def common_slots(day, team, step=timedelta(minutes=30)):
    instant = datetime.combine(day, time(), tzinfo=timezone.utc)
    stop = instant + timedelta(days=1)
    while instant < stop:
        if all(working(instant, z) for z in team.values()):
            yield instant
        instant += step


for day in (date(2024, 3, 8), date(2024, 3, 11), date(2024, 4, 1), date(2024, 6, 1)):
    slots = [s.strftime("%H:%M") for s in common_slots(day, TEAM)]
    print(day, day.strftime("%a"), slots or "no common slot")

call = datetime(2024, 3, 11, 13, 0, tzinfo=timezone.utc)
for city, zone in TEAM.items():
    local = call.astimezone(zone)
    minutes = local.utcoffset() // timedelta(minutes=1)
    print(f"{city:<9}{local:%Y-%m-%d %H:%M} {local.tzname():<5}{minutes:+5d} min dst={bool(local.dst())}")

# Wall-clock arithmetic and elapsed time are different things in the same zone.
ny = TEAM["New York"]
before = datetime(2024, 3, 9, 12, 0, tzinfo=ny)
wall = before + timedelta(days=1)
elapsed = (before.astimezone(timezone.utc) + timedelta(days=1)).astimezone(ny)
print("wall:", wall.isoformat(), "elapsed:", elapsed.isoformat())
print("same zone subtraction:", wall - before, "| through UTC:",
      wall.astimezone(timezone.utc) - before.astimezone(timezone.utc))

weekly = [datetime.combine(date(2024, 10, 21) + timedelta(weeks=n), time(16), tzinfo=TEAM["Berlin"]) for n in range(3)]
print("Berlin 16:00 weekly, in New York:", [w.astimezone(ny).strftime("%m-%d %H:%M") for w in weekly])
try:
    print(datetime(2024, 1, 1) < call)
except TypeError as exc:
    print("naive and aware do not compare:", type(exc).__name__, datetime(2024, 1, 1) == call)
