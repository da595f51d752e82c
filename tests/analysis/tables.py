"""Random tables, and rows as JSON."""

import json
import math
import random

import numpy as np
import pandas as pd

REGIONS = ["North", "Süd", "東京", "São Paulo", "🌍", "", "O'Brien", 'say "hi"', "north"]
TAGS = ["new", "sale", "Sale", "größe", "b,c", "x y"]
PRICES = [-12.5, 0.0, 0.1, 3.25, 99.99]

PRICE = "unit price"
AMOUNT = "Menge"


def maybe(rng: random.Random, share: float, value):
    return None if rng.random() < share else value


def sales(rng: random.Random, count: int) -> list[dict]:
    """Rows with missing values, ties, negative numbers and names that need quotes."""
    regions = rng.sample(REGIONS, rng.randint(1, 4))
    missing = rng.choice([0.0, 0.1, 0.4])
    no_numbers = rng.random() < 0.1
    rows = []
    for index in range(count):
        price = rng.choice(PRICES) if rng.random() < 0.5 else round(rng.uniform(-1000, 1000), 2)
        tags = rng.sample(TAGS, rng.randint(0, 3))
        rows.append(
            {
                "id": index + 1,
                "region": maybe(rng, missing, rng.choice(regions)),
                "address.city": maybe(rng, missing, rng.choice(["Oslo", "Roma", "Åre"])),
                PRICE: None if no_numbers else maybe(rng, missing, price),
                AMOUNT: maybe(rng, missing, rng.randint(-3, 6)),
                "active": maybe(rng, missing, rng.random() < 0.5),
                "code": maybe(rng, missing, str(rng.choice([7, 10, 2.5, -1, 1000]))),
                "day": f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
                "tags": maybe(rng, missing, tags),
            }
        )
    return rows


TYPES = {
    "id": "Int64",
    "region": "object",
    "address.city": "object",
    PRICE: "Float64",
    AMOUNT: "Int64",
    "active": "boolean",
    "code": "object",
    "day": "object",
    "tags": "object",
}


def frame(rows: list[dict]) -> pd.DataFrame:
    columns = {name: [row[name] for row in rows] for name in TYPES}
    return pd.DataFrame({name: pd.Series(values, dtype=TYPES[name]) for name, values in columns.items()})


def given(rows: list[dict]):
    """A table as it is handed in: a table without rows has its columns."""
    return rows if rows else {name: [] for name in TYPES}


def plain(value):
    """A cell as JSON has it."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(value)
    return str(value)


def expected(frame: pd.DataFrame) -> dict:
    names = [str(name) for name in frame.columns]
    columns = [[plain(value) for value in frame.iloc[:, index]] for index in range(len(names))]
    return {"columns": names, "rows": [list(row) for row in zip(*columns)] if columns else []}


def as_json_text(value):
    """Lists are kept as JSON text in a table."""
    if not isinstance(value, list):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
