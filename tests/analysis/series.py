"""What pandas makes of series of time, for the tests of crates/analysis: one JSON object a line.

Periods begin at their label (`label="left", closed="left"`), weeks on Mondays, months, quarters and
years on their first day. A sum of nothing is missing, and lines are not continued beyond the last
known value.
"""

import itertools
import json

import numpy as np
import pandas as pd

FREQUENCIES = {"90s": "90s", "15min": "15min", "1h": "1h", "7h": "7h", "1d": "1D", "2d": "2D", "1w": "W-MON",
               "2w": "2W-MON", "1M": "MS", "2M": "2MS", "1Q": "QS", "1y": "YS"}
BY_DAYS = {"1d", "2d", "1w", "2w", "1M", "2M", "1Q", "1y"}
FUNCTIONS = ["mean", "sum", "min", "max", "first", "last", "count"]
FILLS = ["none", "null", "zero", "previous", "linear"]


said = None


def say(frame, parameters, expected, facts=None):
    """The rows are there if they are not those of the line before."""
    global said
    line = {"analysis": "time_series", "parameters": {"time": "t"} | parameters, "expected": expected,
            "facts": facts or {}}
    if frame is not said:
        line["rows"] = [{name: plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
        said = frame
    print(json.dumps(line, allow_nan=False))


def plain(value):
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(value) if np.isfinite(value) else None


def text(time, dates_only):
    return time.strftime("%Y-%m-%d") if dates_only else time.isoformat().replace("+00:00", "Z")


def random_frame(rng, n, days, unit, zone=""):
    """Unsorted, with equal times and missing values."""
    seconds = rng.integers(0, days * 86400 // unit, n) * unit
    times = pd.Timestamp("2023-11-17T03:00:00").floor("D" if unit == 86400 else "s") + pd.to_timedelta(seconds, "s")
    frame = pd.DataFrame({
        "t": [text(time, unit == 86400) + zone for time in times],
        "g": rng.choice(["a", "b", "ü"], n),
        "x": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(100, 20, n), 4)),
        "y": rng.integers(-5, 9, n),
    })
    return frame


def frames(rng):
    yield random_frame(rng, 150, 1, 60), ["90s", "15min", "1h", "7h", "1d"], False
    yield random_frame(rng, 120, 90, 3600), ["7h", "1d", "2d", "1w", "2w", "1M"], False
    yield random_frame(rng, 200, 1500, 86400), ["2d", "1w", "2w", "1M", "2M", "1Q", "1y"], True
    yield random_frame(rng, 1, 30, 3600), ["1h", "1w", "1Q"], False


def parts(frame, grouped, zone=None):
    """The groups in their order, each sorted by time and indexed by it."""
    times = pd.to_datetime(frame["t"])
    if zone is not None:
        times = times.dt.tz_convert(zone)
    frame = frame.assign(t=times)
    keys = sorted(frame["g"].unique()) if grouped else [None]
    for key in keys:
        part = frame if key is None else frame[frame["g"] == key]
        yield ({} if key is None else {"g": key}), part.sort_values("t", kind="stable").set_index("t")


def listed(group, table, dates_only):
    rows = []
    for time, row in table.iterrows():
        values = {name: plain(value) for name, value in row.items()}
        rows.append(group | {"t": text(time, dates_only)} | values)
    return rows


def aggregated(resampled, field, function):
    column = resampled[field]
    if function == "sum":
        return column.sum(min_count=1)
    return getattr(column, function)()


def filled(table, fill, sizes):
    counts = [name for name in table if name.endswith("count")]
    if fill == "none":
        table = table[sizes > 0]
    elif fill == "zero":
        table = table.fillna(0)
    elif fill == "previous":
        table = table.ffill()
    elif fill == "linear":
        table = table.interpolate(limit_area="inside")
    return table.astype({name: int for name in counts})


def resample(rng):
    for frame, intervals, _ in frames(rng):
        for interval, fill, grouped in itertools.product(intervals, FILLS, (False, True)):
            functions = list(rng.choice(FUNCTIONS, rng.integers(1, 4), replace=False))
            expected = []
            for group, part in parts(frame, grouped):
                resampled = part[["x", "y"]].resample(FREQUENCIES[interval], label="left", closed="left")
                name = (lambda field, function: field) if len(functions) == 1 else "{}_{}".format
                table = pd.DataFrame({name(field, function): aggregated(resampled, field, function)
                                      for field in ("x", "y") for function in functions})
                if functions == ["count"]:
                    table = table.astype(int)[resampled.size() > 0] if fill == "none" else table.astype(int)
                else:
                    table = filled(table, fill, resampled.size())
                expected += listed(group, table, interval in BY_DAYS)
            parameters = {"values": ["x", "y"], "resample": interval, "functions": functions, "fill": fill}
            say(frame, parameters | ({"group_by": "g"} if grouped else {}), expected)
    frame = random_frame(rng, 200, 40, 3600)
    for interval in ("7h", "1d", "1w"):
        ((_, part),) = parts(frame, False)
        resampled = part["x"].resample(FREQUENCIES[interval], label="left", closed="left")
        table = resampled.ohlc()[resampled.size() > 0]
        say(frame, {"value": "x", "resample": interval, "function": "ohlc"},
            listed({}, table, interval in BY_DAYS))


def zones(rng):
    """Over the end of summer time."""
    for zone, interval in itertools.product(("America/New_York", "Asia/Kolkata"), ("1h", "7h", "1d", "1w", "1M")):
        frame = random_frame(rng, 300, 120, 1800, "Z")
        ((_, part),) = parts(frame, False, zone)
        resampled = part["y"].resample(FREQUENCIES[interval], label="left", closed="left")
        table = pd.DataFrame({"y": resampled.sum()})[resampled.size() > 0]
        say(frame, {"value": "y", "resample": interval, "function": "sum", "timezone": zone},
            listed({}, table.astype(float), interval in BY_DAYS))


def follow(rng):
    """What is computed along the rows."""
    for frame, _, dates_only in frames(rng):
        for grouped in (False, True):
            by = {"group_by": "g"} if grouped else {}
            for window, least in [(1, None), (3, None), (7, 2), (50, 1), ("3d", None), ("12h", 2), ("90min", None)]:
                functions = list(rng.choice(["mean", "sum", "min", "max", "std", "median"], 3, replace=False))
                expected = []
                for group, part in parts(frame, grouped):
                    length = window.replace("d", "D") if isinstance(window, str) else window
                    rolling = part["x"].rolling(length, min_periods=least)
                    table = pd.DataFrame({"x": part["x"]} | {f"x_rolling_{name}": getattr(rolling, name)()
                                                             for name in functions})
                    expected += listed(group, table, dates_only)
                rolling = {"window": window, "functions": functions}
                rolling |= {} if least is None else {"min_periods": least}
                say(frame, {"value": "x", "rolling": rolling} | by, expected)
            for kind, periods in itertools.product(("absolute", "percent", "fraction", "log"), (1, 5)):
                expected = []
                for group, part in parts(frame, grouped):
                    shifted = part["x"].shift(periods)
                    fraction = part["x"].pct_change(periods)
                    change = {"absolute": part["x"].diff(periods), "percent": fraction * 100,
                              "fraction": fraction, "log": np.log(part["x"] / shifted)}[kind]
                    name = "x_change" if kind == "absolute" else f"x_change_{kind}"
                    table = pd.DataFrame({"x": part["x"], name: change})
                    expected += listed(group, table, dates_only)
                say(frame, {"value": "x", "change": {"kind": kind, "periods": periods}} | by, expected)
            expected = []
            for group, part in parts(frame, grouped):
                column = part["x"].ffill()
                table = pd.DataFrame({"x": column, "x_cumulative_sum": column.cumsum(),
                                      "x_cumulative_max": column.cummax(), "x_cumulative_min": column.cummin()})
                expected += listed(group, table, dates_only)
            cumulative = {"value": "x", "fill": "previous", "cumulative": ["sum", "max", "min"]}
            say(frame, cumulative | by, expected)


def gaps(rng):
    for step, count in [("1h", 200), ("15min", 300), ("1d", 150), ("1M", 60), ("1Q", 30), ("1w", 50), ("1b", 90)]:
        frequency = FREQUENCIES.get(step, "B")
        whole = pd.date_range("2023-01-02", periods=count, freq=frequency)
        kept = np.sort(rng.choice(count, count * 4 // 5, replace=False))
        dates_only = step not in ("1h", "15min")
        frame = pd.DataFrame({"t": [text(time, dates_only) for time in whole[kept]]}).sample(frac=1, random_state=7)
        expected = []
        for before, after in itertools.pairwise(kept):
            if after - before > 1:
                expected.append({"from": text(whole[before + 1], dates_only),
                                 "to": text(whole[after - 1], dates_only), "missing": int(after - before - 1)})
        facts = {"gap_count": len(expected), "missing_count": sum(gap["missing"] for gap in expected),
                 "start": text(whole[kept[0]], dates_only), "end": text(whole[kept[-1]], dates_only),
                 "count": len(kept), "step": step}
        say(frame, {"gaps": {"expected": step}}, expected, facts)
        if step != "1b":
            say(frame, {"gaps": True}, expected, facts)


def overview(rng):
    frame = random_frame(rng, 300, 60, 3600)
    ((_, part),) = parts(frame, False)
    days = (part.index - part.index[0]) / pd.Timedelta("1D")
    values = []
    for field in ("x", "y"):
        column = part[field].astype(float)
        known = column.notna()
        values.append({"field": field, "n": int(known.sum()), "min": column.min(), "max": column.max(),
                       "mean": column.mean(), "first": column[known].iloc[0], "last": column[known].iloc[-1],
                       "slope_per_day": float(np.polyfit(days[known], column[known], 1)[0])})
    steps = part.index.to_series().diff().dropna()
    facts = {"count": 300, "start": part.index[0].isoformat(), "end": part.index[-1].isoformat(),
             "repeated_times": int((steps == pd.Timedelta(0)).sum()), "values": values}
    say(frame, {"values": ["x", "y"]}, [], facts)


if __name__ == "__main__":
    chance = np.random.default_rng(19700101)
    for make in (resample, zones, follow, gaps, overview):
        make(chance)
