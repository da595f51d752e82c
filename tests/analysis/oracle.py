"""Random tables and analyses, and what pandas says to them, as lines of JSON.

    python oracle.py CASES SEED
"""

import json
import random
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conditions import holds, random_condition
from other_names import other_name
from tables import AMOUNT, PRICE, TAGS, as_json_text, expected, frame, given, maybe, sales


@dataclass
class Case:
    """An analysis and the table that should come out of it."""

    analysis: str
    parameters: dict
    result: pd.DataFrame
    facts: dict | None = None
    #: What is handed in, if not the table that the case was made for.
    tables: dict | None = None


KEYS = ["region", "address.city", "active", AMOUNT]
NUMBERS = [PRICE, AMOUNT, "id"]


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its lists as they are kept."""
    if "tags" in table:
        table = table.assign(tags=[as_json_text(tags) for tags in table["tags"]])
    return table


def sorted_stably(table: pd.DataFrame, keys: list[str], nulls: str = "last") -> pd.DataFrame:
    """Rows that are alike stay in their order: sorted by the last key first."""
    for key in reversed(keys):
        name = key.removeprefix("-")
        table = table.sort_values(name, ascending=name == key, kind="stable", na_position=nulls)
    return table


def filter_case(rng: random.Random, table: pd.DataFrame) -> Case:
    conditions = [random_condition(rng) for _ in range(rng.randint(1, 3))]
    logic = rng.choice(["AND", "or"])
    found = table[holds(table, {"logic": logic, "conditions": conditions})]
    count, total = len(found), len(table)
    facts = {
        "filtered_count": count,
        "total_count": total,
        "filtered_percentage": round(count * 100 / total, 2) if total else 0.0,
    }
    parameters = {"conditions": conditions, "logic": logic}
    if rng.random() < 0.4:
        keys = rng.sample(["-" + PRICE, AMOUNT, "-region", "day"], 2)
        found = sorted_stably(found, keys)
        parameters["sort"] = keys
    if rng.random() < 0.3:
        offset, limit = rng.randint(0, 3), rng.randint(0, 10)
        found = found.iloc[offset : offset + limit]
        parameters |= {"offset": offset, "limit": limit}
    if rng.random() < 0.3:
        names = rng.sample(list(table.columns), 3)
        found = found[names]
        parameters["select"] = names
    return Case("filter", parameters, shown(found), facts)


def compared(values: pd.Series) -> pd.Series:
    """Text that is all numbers is in their order."""
    return pd.to_numeric(values) if values.name == "code" else values


def figure(values: pd.Series, function: str):
    """One figure of a group, by the methods that pandas has for a series."""
    present = values.dropna()
    match function:
        case "count":
            return len(present)
        case "count_distinct" | "nunique":
            return values.nunique()
        case "sum":
            return values.sum()
        case "mean" | "avg":
            return values.mean() if len(present) else None
        case "median":
            return present.median() if len(present) else None
        case "min":
            return compared(present).min() if len(present) else None
        case "max":
            return compared(present).max() if len(present) else None
        case "std":
            return present.std() if len(present) > 1 else None
        case "var":
            return present.var() if len(present) > 1 else None
        case "first":
            return present.iloc[0] if len(present) else None
        case "last":
            return present.iloc[-1] if len(present) else None
        case "mode":
            return present.mode().iloc[0] if len(present) else None
        case "collect":
            return list(present)
    percent = float(function.removeprefix("p"))
    return present.astype(float).quantile(percent / 100) if len(present) else None


OF_NUMBERS = ["count", "count_distinct", "sum", "mean", "avg", "median", "min", "max", "std", "var"]
OF_NUMBERS += ["first", "last", "mode", "p95", "p12.5", "p0", "p100", "collect"]
OF_TEXT = ["count", "nunique", "min", "max", "first", "last", "mode", "collect"]


def grouped(table: pd.DataFrame, keys: list[str], figures: list[tuple[str, str, str]]) -> pd.DataFrame:
    """Figures (column, function, name) of groups, those of missing keys last."""
    if keys:
        groups = [group for _, group in table.groupby(keys, dropna=False, sort=False)]
    else:
        groups = [table]
    rows = [
        [group[key].iloc[0] for key in keys]
        + [len(group) if column == "*" else figure(group[column], function) for column, function, _ in figures]
        for group in groups
    ]
    names = keys + [name for _, _, name in figures]
    result = pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(names)})
    return sorted_stably(result, keys)


def aggregate_case(rng: random.Random, table: pd.DataFrame) -> Case:
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2]))
    columns = rng.sample([PRICE, "id", "day", "code"], rng.randint(1, 3))
    parameters: dict = {"group_by": keys[0] if len(keys) == 1 and rng.random() < 0.5 else keys}
    figures = []
    if rng.random() < 0.5:
        parameters["aggregations"] = {}
        for column in columns:
            functions = rng.sample(OF_TEXT if column in ("day", "code") else OF_NUMBERS, rng.randint(1, 4))
            figures += [(column, function, f"{column}_{function}") for function in functions]
            parameters["aggregations"][column] = functions[0] if len(functions) == 1 else functions
    else:
        column = rng.choice(NUMBERS[:1] + ["id"])
        figures = [("*", "count", "rows"), (column, rng.choice(OF_NUMBERS), "one"), (column, "p33", "third")]
        parameters["aggregations"] = [
            {"function": "count", "as": "rows"},
            {"field": column, "op": figures[1][1], "alias": "one"},
            {"field": column, "function": "percentile", "p": 33, "as": "third"},
        ]
    result = grouped(table, keys, figures)
    if keys and figures[0][0] == "*" and rng.random() < 0.6:
        parameters["having"] = [{"field": "rows", "operator": ">", "value": 1}]
        parameters["sort"] = ["-rows"]
        result = sorted_stably(result[result["rows"] > 1], ["-rows"])
    return Case("aggregate", parameters, result)


def default_aggregate_case(rng: random.Random, table: pd.DataFrame) -> Case:
    key = rng.choice(["region", "active"])
    figures = [("*", "count", "count")]
    numbers = ["id", PRICE, AMOUNT]
    if table[PRICE].isna().all():
        table = table.assign(**{PRICE: 1.5})
    if table[AMOUNT].isna().all():
        table = table.assign(**{AMOUNT: 2})
    for number in numbers:
        figures += [(number, function, f"{number}_{function}") for function in ["sum", "mean", "min", "max"]]
    if len(table) == 0:
        figures = figures[:1]
    return Case("aggregate", {"group_by": key}, grouped(table, [key], figures), tables={"data": as_rows(table)})


def top_case(rng: random.Random, table: pd.DataFrame) -> Case:
    keys, count = rng.sample(["region", "active"], rng.randint(1, 2)), rng.randint(1, 3)
    function = rng.choice(["top", "bottom"])
    by = rng.choice([PRICE, "day"])
    ordered = sorted_stably(table, ["-" + by if function == "top" else by])
    result = sorted_stably(ordered.groupby(keys, dropna=False).head(count), keys)
    names = [name for name in table.columns if name in keys] + [name for name in table.columns if name not in keys]
    parameters = {"group_by": keys, "aggregations": [{"function": function, "n": count, "by": by}]}
    return Case("aggregate", parameters, shown(result[names]))


def percentiles_case(rng: random.Random, table: pd.DataFrame) -> Case:
    keys = rng.sample(["region", "active"], rng.choice([0, 0, 1, 2]))
    fields = rng.sample(NUMBERS, rng.randint(1, 2))
    percents = rng.choice([[5, 25, 50, 75, 95], [0, 100], [99.9], [10, 90]])
    groups = [group for _, group in table.groupby(keys, dropna=False)] if keys else [table]
    rows = []
    for group in groups:
        for place, field in enumerate(fields):
            values = group[field].dropna().astype(float).to_numpy()
            found = [np.percentile(values, percent) if len(values) else None for percent in percents]
            rows.append([group[key].iloc[0] for key in keys] + [place, field, len(values)] + found)
    names = keys + ["place", "field", "count"] + [f"p{percent}" for percent in percents]
    result = pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(names)})
    result = sorted_stably(result, keys + ["place"]).drop(columns="place")
    parameters = {"group_by": keys, "fields": fields, "percentiles": percents}
    return Case("percentiles", parameters, result)


def described(name: str, values: pd.Series, total: int) -> dict:
    """The figures of a column that has a value."""
    counts = values.value_counts()
    profile = {
        "column": name,
        "count": len(values),
        "nulls": total - len(values),
        "distinct": values.nunique(),
        "top": label(counts[counts == counts.max()].index.min()),
        "top_count": counts.max(),
    }
    if name in NUMBERS:
        numbers = values.astype(float)
        quartiles = {f"p{percent}": numbers.quantile(percent / 100) for percent in (25, 50, 75)}
        return profile | {name: getattr(numbers, name)() for name in ("min", "max", "mean", "std")} | quartiles
    profile |= {"min_text": label(values.min()), "max_text": label(values.max())}
    if name == "active":
        return profile
    return profile | {"shortest": values.str.len().min(), "longest": values.str.len().max()}


def describe_case(rng: random.Random, table: pd.DataFrame) -> Case:
    names = rng.sample(["id", "region", PRICE, AMOUNT, "active", "day", "code"], 4)
    rows = []
    for name in names:
        values = table[name].dropna()
        nothing = {"column": name, "count": 0, "nulls": len(table), "distinct": 0}
        rows.append(described(name, values, len(table)) if len(values) else nothing)
    facts = {
        "row_count": len(table),
        "column_count": len(names),
        "duplicate_count": int(table[names].duplicated().sum()),
    }
    return Case("describe", {"columns": names}, pd.DataFrame(rows).astype(object), facts)


COMPUTED = [
    (f'"{PRICE}" * "{AMOUNT}"', lambda t: t[PRICE] * t[AMOUNT]),
    (f'"{PRICE}" + 1.5', lambda t: t[PRICE] + 1.5),
    (f'"{AMOUNT}" - 2 * id', lambda t: t[AMOUNT] - 2 * t["id"]),
    (f'"{PRICE}" > 3', lambda t: t[PRICE] > 3),
    ("upper(region)", lambda t: t["region"].astype("string[python]").str.upper()),
    (f'abs("{AMOUNT}")', lambda t: t[AMOUNT].abs()),
]


def columns_case(rng: random.Random, table: pd.DataFrame) -> Case:
    """Columns that are made, filled, chosen and renamed."""
    if table[PRICE].isna().all() or table[AMOUNT].isna().all():
        table = table.assign(**{PRICE: 1.5, AMOUNT: 2})
    result, parameters = table, {}
    if rng.random() < 0.5:
        values = {PRICE: rng.choice([0, -1.5]), "region": "?", "active": False, AMOUNT: 7}
        parameters["fill_null"] = {name: values[name] for name in rng.sample(sorted(values), 2)}
        result = result.fillna(parameters["fill_null"])
    if rng.random() < 0.7 and len(table):
        chosen = rng.sample(COMPUTED, 2)
        parameters["computed"] = {f"new {i}": text for i, (text, _) in enumerate(chosen)}
        result = result.assign(**{f"new {i}": compute(result) for i, (_, compute) in enumerate(chosen)})
    if rng.random() < 0.5:
        parameters["filter"] = [random_condition(rng)]
        result = result[holds(result, parameters["filter"])]
    if rng.random() < 0.5:
        parameters["output_fields"] = rng.sample(list(result.columns), 4)
        result = result[parameters["output_fields"]]
    if rng.random() < 0.5:
        parameters["drop"] = rng.sample(list(result.columns), rng.randint(1, 3))
        result = result.drop(columns=parameters["drop"])
    if rng.random() < 0.5:
        offset, limit = rng.randint(0, 5), rng.randint(0, 30)
        parameters |= {"offset": offset, "limit": limit}
        result = result.iloc[offset : offset + limit]
    if rng.random() < 0.5 and len(result.columns):
        parameters["rename"] = {result.columns[0]: "Erste"}
        result = shown(result).rename(columns=parameters["rename"])
    return Case("transform", parameters, shown(result), tables={"data": as_rows(table)})


def sort_case(rng: random.Random, table: pd.DataFrame) -> Case:
    keys = rng.sample(["region", "-" + PRICE, AMOUNT, "-day", "-active"], rng.randint(1, 3))
    nulls = rng.choice(["first", "last"])
    if nulls == "last" and rng.random() < 0.5:
        return Case("transform", {"sort": keys}, shown(sorted_stably(table, keys)))
    sort = [{"field": key.removeprefix("-"), "descending": key[0] == "-", "nulls": nulls} for key in keys]
    return Case("transform", {"sort": sort}, shown(sorted_stably(table, keys, nulls)))


def deduplicate_case(rng: random.Random, table: pd.DataFrame) -> Case:
    keep = rng.choice(["first", "last"])
    names = rng.sample(["region", "active", AMOUNT, "code"], rng.randint(1, 2))
    if rng.random() < 0.5:
        return Case("transform", {"select": names, "deduplicate": True, "keep": keep}, table[names].drop_duplicates(keep=keep))
    parameters = {"deduplicate": names, "keep": keep, "sort": ["day"]}
    return Case("transform", parameters, shown(sorted_stably(table, ["day"]).drop_duplicates(names, keep=keep)))


def pivoted(table: pd.DataFrame, index: str, across: str, values: str, function: str) -> pd.DataFrame:
    cells = grouped(table, [index, across], [(values, function, "cell")])
    found = {(key(row[index]), key(row[across])): row["cell"] for _, row in cells.iterrows()}
    rows = [key(value) for value in sorted_stably(table[[index]].drop_duplicates(), [index])[index]]
    labels = [key(value) for value in sorted_stably(table[[across]].drop_duplicates(), [across])[across]]
    result = {index: rows} | {label(value): [found.get((row, value)) for row in rows] for value in labels}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in result.items()})


def key(value):
    return None if pd.isna(value) else value


def label(value) -> str:
    """The name of a column for a value."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def pivot_case(rng: random.Random, table: pd.DataFrame) -> Case:
    index, across = rng.sample(["region", "address.city", "active", AMOUNT], 2)
    function = rng.choice(["sum", "mean", "count", "max", "median", "first"])
    parameters = {"pivot": {"index": index, "columns": across, "values": PRICE, "function": function}}
    return Case("transform", parameters, pivoted(table, index, across, PRICE, function))


def unpivot_case(rng: random.Random, table: pd.DataFrame) -> Case:
    ids = rng.sample(["id", "region", "active"], rng.randint(1, 2))
    values = rng.choice([[PRICE, AMOUNT], ["day", "address.city"]])
    table = table.assign(place=range(len(table)))
    melted = table.melt(id_vars=ids + ["place"], value_vars=values, var_name="what", value_name="value")
    melted["value"] = melted["value"].astype(object)
    melted = melted.sort_values("place", kind="stable").drop(columns="place")
    if table[PRICE].isna().all() or table[AMOUNT].isna().all():
        return deduplicate_case(rng, table.drop(columns="place"))
    return Case("transform", {"unpivot": {"id": ids, "values": values, "variable_name": "what"}}, melted)


def cast_case(rng: random.Random, table: pd.DataFrame) -> Case:
    count = len(table)
    texts = ["12", " -3 ", "4.5", "x", "", "1e2", None, "7.0"]
    flags = ["true", "False", "yes", "no", "1", "0", "maybe", None]
    days = ["2026-02-28", "2026-02-28T10:30:00", "2026-02-28T10:30:00+02:00", "yesterday", None]
    table = pd.DataFrame(
        {
            "text": pd.Series([rng.choice(texts) for _ in range(count)], dtype=object),
            "flag": pd.Series([rng.choice(flags) for _ in range(count)], dtype=object),
            "day": pd.Series([rng.choice(days) for _ in range(count)], dtype=object),
            "number": pd.Series([maybe(rng, 0.2, rng.choice([1.5, -2.75, 3.0])) for _ in range(count)], dtype="Float64"),
        }
    )
    numbers = pd.to_numeric(table["text"].str.strip(), errors="coerce").astype("Float64")
    booleans = table["flag"].map({"true": True, "False": False, "yes": True, "no": False, "1": True, "0": False})
    times = pd.to_datetime(table["day"], errors="coerce", utc=True, format="ISO8601")
    to = rng.choice(["int", "float"])
    result = table.assign(
        text=numbers.where(numbers == numbers.round()).astype("Int64") if to == "int" else numbers,
        flag=booleans.astype("boolean"),
        day=times.dt.strftime("%Y-%m-%d").astype(object),
        number=table["number"].astype(float).map(lambda n: None if np.isnan(n) or n != int(n) else int(n)).astype("Int64"),
    )
    cast = {"text": to, "flag": "bool", "day": "date", "number": "int"}
    return Case("transform", {"cast": cast}, result, tables={"data": as_rows(table)})


def flatten_case(rng: random.Random, table: pd.DataFrame) -> Case:
    def element(index: int):
        item = {"sku": rng.choice(["a", "ü", "c"]), "count": rng.randint(1, 5)}
        return item | ({"box": {"size": index + 0.5}} if rng.random() < 0.7 else {})

    has_objects = rng.random() < 0.5
    rows = []
    for index in range(len(table)):
        length = rng.choice([0, 1, 2, 3])
        items = [element(i) if has_objects else maybe(rng, 0.2, rng.choice(TAGS)) for i in range(length)]
        rows.append({"id": index, "items": maybe(rng, 0.2, items), "last": f"row {index}"})
    # There is an element of every kind, so that there is every column.
    rows.append({"id": -1, "items": [{"sku": "z", "count": 1, "box": {"size": 1.5}}] if has_objects else ["z"], "last": ""})
    drop_empty = rng.random() < 0.5
    exploded = pd.DataFrame(rows).explode("items", ignore_index=True)
    if drop_empty:
        kept = [bool(row["items"]) for row in rows for _ in (row["items"] or [None])]
        exploded = exploded[kept].reset_index(drop=True)
    if has_objects:
        items = pd.json_normalize([item if isinstance(item, dict) else {} for item in exploded["items"]])
        items = items.reindex(columns=["sku", "count", "box.size"]).add_prefix("items.")
        exploded = pd.concat([exploded[["id"]], items, exploded[["last"]]], axis=1)
    parameters = {"flatten": "items", "drop_empty": drop_empty}
    return Case("transform", parameters, exploded.astype(object), tables={"data": rows})


def join_case(rng: random.Random, table: pd.DataFrame) -> Case:
    other = frame(sales(rng, rng.randint(1, 12)))
    keys = rng.choice([["region"], ["region", "active"], [AMOUNT]])
    left, right = table[["id", "region", "active", AMOUNT]], other[keys + [name for name in ["id", "day"]]]
    how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
    result = joined(left, right, keys, how)
    tables = {"data": as_rows(left), "other": as_rows(right)}
    return Case("transform", {"join": {"with": "other", "on": keys, "how": how}}, result, tables=tables)


def joined(left: pd.DataFrame, right: pd.DataFrame, keys: list[str], how: str) -> pd.DataFrame:
    """As pandas joins, but a missing key has no partner."""
    suffixes = ("", "_right")
    has_partner = left.set_index(keys).index.isin(right.dropna(subset=keys).set_index(keys).index)
    has_partner &= left[keys].notna().all(axis=1).to_numpy()
    match how:
        case "semi":
            return left[has_partner]
        case "anti":
            return left[~has_partner]
        case "right":
            return left.dropna(subset=keys).merge(right, on=keys, how="right", suffixes=suffixes)
        case "full":
            with_left = joined(left, right, keys, "left")
            alone = joined(right, left, keys, "anti").rename(columns={"id": "id_right"})
            return pd.concat([with_left, alone], ignore_index=True)[with_left.columns]
    return left.merge(right.dropna(subset=keys), on=keys, how=how, suffixes=suffixes)


def steps_case(rng: random.Random, table: pd.DataFrame) -> Case:
    # Columns without any row have no type to compute with.
    table = table if len(table) else frame(sales(rng, 5))
    count = rng.randint(0, 20)
    steps = [
        {"filter": [{"field": "region", "operator": "is_not_null"}]},
        {"sort": "-" + PRICE, "limit": count},
        {"computed": {"twice": "id * 2"}, "select": ["region", "active", "twice"]},
        {"pivot": {"index": "region", "columns": "active", "values": "twice", "function": "sum"}},
    ]
    chosen = sorted_stably(table[table["region"].notna()], ["-" + PRICE]).iloc[:count]
    chosen = chosen.assign(twice=chosen["id"] * 2)
    result = pivoted(chosen, "region", "active", "twice", "sum")
    return Case("transform", {"steps": steps}, result, tables={"data": as_rows(table)})


def as_rows(table: pd.DataFrame):
    answer = expected(table)
    rows = [dict(zip(answer["columns"], row)) for row in answer["rows"]]
    return rows if rows else {name: [] for name in answer["columns"]}


def other_name_case(rng: random.Random, table: pd.DataFrame) -> Case:
    # Columns without any row have no type.
    table = table if len(table) else frame(sales(rng, 5))
    return Case(*other_name(rng, table), tables={"data": as_rows(table)})


CASES = [
    filter_case,
    filter_case,
    aggregate_case,
    aggregate_case,
    aggregate_case,
    default_aggregate_case,
    top_case,
    percentiles_case,
    describe_case,
    columns_case,
    columns_case,
    sort_case,
    deduplicate_case,
    pivot_case,
    unpivot_case,
    cast_case,
    flatten_case,
    join_case,
    join_case,
    steps_case,
]


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for number in range(count + count // 5):
        rng = random.Random(seed * 1_000_003 + number)
        make = CASES[number % len(CASES)] if number < count else other_name_case
        rows = sales(rng, rng.choice([0, 1, 2, 10, 30, 60]))
        case = make(rng, frame(rows))
        line = {
            "name": f"{number} {make.__name__}",
            "analysis": case.analysis,
            "parameters": case.parameters,
            "tables": case.tables or {"data": given(rows)},
            "facts": case.facts,
        }
        print(json.dumps(line | expected(case.result)))


if __name__ == "__main__":
    main()
