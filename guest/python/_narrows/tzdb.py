"""Gives `zoneinfo` its data, which elsewhere comes from files of the system."""

import io
import zoneinfo
from zoneinfo import ZoneInfoNotFoundError, _common, _tzpath

from _narrows_tzdata import DATA, INDEX


def load_tzdata(key):
    found = INDEX.get(key)
    if found is None:
        raise ZoneInfoNotFoundError(f"No time zone found with key {key}")
    return io.BytesIO(DATA[found[0] : found[1]])


def available_timezones():
    return set(INDEX)


_common.load_tzdata = load_tzdata
zoneinfo.available_timezones = _tzpath.available_timezones = available_timezones
zoneinfo.reset_tzpath(())
