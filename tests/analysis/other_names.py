"""Analyses by the names that pandas has for them: what is asked, and the table that pandas makes."""

import random

import numpy as np
import pandas as pd

from tables import AMOUNT, PRICE


def histogram(rng: random.Random, table: pd.DataFrame):
    field = rng.choice([PRICE, AMOUNT, "id"])
    values = table[field].dropna().astype(float).to_numpy()
    bins = rng.choice([1, 3, 10, [-5, 0, 2.5, 40], [0, 1000]])
    counts, edges = np.histogram(values, bins=bins)
    percents = counts * 100 / counts.sum() if counts.sum() else counts * 0.0
    result = pd.DataFrame({"bin_start": edges[:-1], "bin_end": edges[1:], "count": counts, "percent": percents})
    facts = {"count": int(counts.sum()), "missing_count": len(table) - len(values)}
    names = rng.choice([("field", "bins"), ("column", "n_bins"), ("x", "buckets")])
    return "histogram", dict(zip(names, (field, bins))), result.astype(object), facts


def value_counts(rng: random.Random, table: pd.DataFrame):
    field = rng.choice(["region", "active", AMOUNT])
    counts = table[field].value_counts(dropna=False, sort=False)
    result = pd.DataFrame({field: counts.index, "count": counts.to_numpy()})
    result = result.sort_values(field, kind="stable").sort_values("count", ascending=False, kind="stable")
    parameters = {rng.choice(["column", "field", "by"]): field}
    if rng.random() < 0.5:
        parameters["limit"] = rng.randint(1, 3)
        result = result.head(parameters["limit"])
    return "value_counts", parameters, result.astype(object), None


def sort_values(rng: random.Random, table: pd.DataFrame):
    by, ascending = rng.sample([PRICE, "id", "day"], 2), [rng.random() < 0.5 for _ in range(2)]
    result = table[["id", "day", PRICE]]
    for name, is_ascending in reversed(list(zip(by, ascending))):
        result = result.sort_values(name, ascending=is_ascending, kind="stable")
    parameters = {"by": by, "ascending": ascending, "columns": ["id", "day", PRICE]}
    return "sort_values", parameters, result, None


def rows_of_an_end(rng: random.Random, table: pd.DataFrame):
    count = rng.randint(0, 7)
    name = rng.choice(["head", "tail"])
    result = table[["id", "day"]]
    result = result.head(count) if name == "head" else result.tail(count)
    return name, {"n": count, "fields": ["id", "day"]}, result, None


def groupby(rng: random.Random, table: pd.DataFrame):
    """One function for some columns, of the rows for which a condition as text holds."""
    key, function = rng.choice(["region", "active"]), rng.choice(["sum", "count"])
    column = rng.choice(["id", "day"]) if function == "count" else "id"
    chosen = table[table["id"] > 2]
    found = chosen.groupby(key, dropna=False)[column].agg(function).reset_index(name=f"{column}_{function}")
    parameters = {"by": key, "agg": function, "column": column, "where": "id > 2"}
    result = found.sort_values(key, kind="stable")
    return "groupby", parameters, result.astype(object), None


ALL = [histogram, histogram, value_counts, sort_values, rows_of_an_end, groupby]


def other_name(rng: random.Random, table: pd.DataFrame):
    return rng.choice(ALL)(rng, table)
