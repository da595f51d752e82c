"""Business-day arithmetic, holidays by rule, and a month rendered as text."""
import calendar
from datetime import date, timedelta
from functools import lru_cache

calendar.setfirstweekday(calendar.MONDAY)


def nth_weekday(year, month, weekday, n):
    """The n-th weekday of a month; negative n counts from the end."""
    days = [d for d in calendar.Calendar().itermonthdates(year, month)
            if d.month == month and d.weekday() == weekday]
    return days[n - 1 if n > 0 else n]


def easter(year):
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n, p = divmod(h + m - 7 * ((a + 11 * h + 22 * m) // 451) + 114, 31)
    return date(year, n, p + 1)


@lru_cache(maxsize=None)
def holidays(year):
    fixed = {"New Year": date(year, 1, 1), "Christmas": date(year, 12, 25)}
    named = dict(fixed, **{
        "Good Friday": easter(year) - timedelta(2),
        "Memorial Day": nth_weekday(year, 5, calendar.MONDAY, -1),
        "Thanksgiving": nth_weekday(year, 11, calendar.THURSDAY, 4),
    })
    observed = {}
    for name, day in named.items():
        shift = {calendar.SATURDAY: -1, calendar.SUNDAY: 1}.get(day.weekday(), 0)
        observed[day + timedelta(shift)] = name
    return observed


def is_business_day(day):
    return day.weekday() < 5 and day not in holidays(day.year)


def add_business_days(day, count):
    step = timedelta(1 if count >= 0 else -1)
    while count:
        day += step
        if is_business_day(day):
            count -= 1 if step.days > 0 else -1
    return day


for day, name in sorted(holidays(2022).items()):
    print(f"{day:%a %d %b %Y}  {name}")
print(add_business_days(date(2022, 12, 22), 3), add_business_days(date(2022, 4, 18), -1))
print("2024-02 business days:", sum(is_business_day(date(2024, 2, d)) for d in range(1, 30)))
print([y for y in range(1896, 1912) if calendar.isleap(y)], calendar.leapdays(1900, 2001))
month_end = [date(2023, m, calendar.monthrange(2023, m)[1]) for m in range(1, 13)]
print("last business days:", [add_business_days(d + timedelta(1), -1).day for d in month_end])
print("\n".join(line.rstrip() for line in calendar.TextCalendar(calendar.SUNDAY).formatmonth(2024, 2).splitlines()))
print(calendar.monthcalendar(2021, 2)[0], len(calendar.monthcalendar(2021, 2)), holidays.cache_info().misses)
