"""ISO weeks at year ends, ISO durations parsed and printed, timedelta algebra."""
import re
from datetime import MAXYEAR, date, datetime, timedelta, timezone

DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


def parse_duration(text):
    match = DURATION.fullmatch(text)
    if not match or text.endswith(("P", "T")):
        raise ValueError(f"not a duration: {text}")
    parts = match.groupdict(default="0")
    sign = -1 if parts.pop("sign") == "-" else 1
    return sign * timedelta(**{k: float(v) for k, v in parts.items()})


def format_duration(delta):
    sign, delta = ("-", -delta) if delta < timedelta() else ("", delta)
    minutes, seconds = divmod(delta.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{seconds}.{delta.microseconds:06d}".rstrip("0").rstrip(".")
    day = f"{delta.days}D" if delta.days else ""
    clock = "".join(f"{n}{u}" for n, u in ((hours, "H"), (minutes, "M"), (seconds, "S")) if n not in (0, "0"))
    return f"{sign}P{day}{'T' + clock if clock else ''}" if day or clock else "PT0S"


for text in ("PT36H", "P1DT12H", "-PT0.5S", "P2WT1M", "PT0S", "PT90M30.25S"):
    delta = parse_duration(text)
    print(f"{text:<13}{str(delta):<24}{format_duration(delta):<14}days={delta.days} s={delta.seconds}")
for bad in ("P", "PT", "1D", "P1H"):
    try:
        parse_duration(bad)
    except ValueError as exc:
        print(exc, end="; ")
print()

for day in (date(2020, 12, 31), date(2021, 1, 3), date(2021, 1, 4), date(2024, 12, 30), date(2026, 12, 31)):
    year, week, weekday = day.isocalendar()
    assert date.fromisocalendar(year, week, weekday) == day == date.fromisoformat(f"{year}-W{week:02d}-{weekday}")
    print(day, f"{year}-W{week:02d}-{weekday}", day.strftime("day %j"), day.toordinal() % 7 == weekday % 7)

third = timedelta(days=1) / 3
print(third, third * 3 == timedelta(1), timedelta(1) // timedelta(minutes=7), timedelta(1) % timedelta(minutes=7))
print(divmod(-timedelta(hours=1), timedelta(minutes=25)), timedelta(hours=1) / timedelta(minutes=25))
print(repr(-timedelta(microseconds=1)), abs(-timedelta(microseconds=1)), timedelta.max > timedelta(days=999999998))
print(datetime.fromisoformat("2024-02-29T23:59:59.123456+05:30").astimezone(timezone.utc))
print(datetime.fromisoformat("20240229T235959Z"), datetime.fromisoformat("2024-02-29"))
try:
    date(MAXYEAR, 12, 31) + timedelta(1)
except OverflowError as exc:
    print(type(exc).__name__, "past the last date")
