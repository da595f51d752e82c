"""Ambiguous and imaginary local times: fold, gaps and round trips."""
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

UTC = timezone.utc
PARIS = ZoneInfo("Europe/Paris")


def classify(naive, zone):
    """'ok', 'ambiguous' or 'imaginary' for a wall-clock time in a zone."""
    first, second = (naive.replace(tzinfo=zone, fold=f) for f in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return "ok"
    back = first.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    return "ambiguous" if back == naive else "imaginary"


for text in ("2023-10-29 01:59", "2023-10-29 02:30", "2023-10-29 03:00",
             "2024-03-31 01:59", "2024-03-31 02:00", "2024-03-31 03:00"):
    print(text, classify(datetime.fromisoformat(text), PARIS))

a = datetime(2023, 10, 29, 2, 30, tzinfo=PARIS)
b = a.replace(fold=1)
print(a.isoformat(), b.isoformat(), "equal:", a == b, "minus:", b - a)
print("in UTC:", a.astimezone(UTC).time(), b.astimezone(UTC).time(), b.astimezone(UTC) - a.astimezone(UTC))
print("problem times never equal another zone's:", a == a.astimezone(UTC))

gap = datetime(2024, 3, 31, 2, 15, tzinfo=PARIS)
print("gap normalises to", gap.astimezone(UTC).astimezone(PARIS).isoformat(),
      "or", gap.replace(fold=1).astimezone(UTC).astimezone(PARIS).isoformat())

hours = [datetime(2023, 10, 29, h, tzinfo=UTC).astimezone(PARIS) for h in range(4)]
print("local hours:", [(h.hour, h.fold, h.tzname()) for h in hours])


class Fixed(tzinfo):
    """A hand-made zone: +05:45, never DST."""

    def utcoffset(self, dt):
        return timedelta(hours=5, minutes=45)

    def dst(self, dt):
        return timedelta(0)

    def tzname(self, dt):
        return "NPT"


nepal = datetime(2024, 1, 1, 0, 0, tzinfo=Fixed())
print(nepal.isoformat(), nepal.strftime("%z %Z"), nepal.astimezone(UTC))
print(repr(nepal.utctimetuple().tm_yday), nepal.timestamp())
print(nepal == nepal.astimezone(UTC), hash(nepal) == hash(nepal.astimezone(UTC)))
print(repr(timezone(timedelta(hours=-3, minutes=-30))), timezone(timedelta(seconds=-1)), timezone.utc)
print(ZoneInfo("Europe/Paris") is PARIS, ZoneInfo.no_cache("Europe/Paris") is PARIS, PARIS.key)
