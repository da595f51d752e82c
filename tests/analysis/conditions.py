"""Random conditions, and the rows for which pandas says that they hold."""

import random

import pandas as pd

from tables import AMOUNT, PRICE, REGIONS, TAGS


def random_condition(rng: random.Random, depth: int = 0) -> dict:
    kind = rng.random()
    if depth < 3 and kind < 0.25:
        inner = [random_condition(rng, depth + 1) for _ in range(rng.randint(1, 3))]
        form = rng.randrange(3)
        if form == 0:
            return {rng.choice(["and", "AND", "or", "Or"]): inner}
        return {"logic": rng.choice(["AND", "or"]), "conditions": inner}
    if depth < 3 and kind < 0.35:
        return {"not": random_condition(rng, depth + 1)}
    return random_comparison(rng)


def random_comparison(rng: random.Random) -> dict:
    number = rng.choice([PRICE, AMOUNT])
    value = rng.choice([0, 3, -1, 3.25, 0.1, 50, -12.5])
    text = rng.choice(["region", "address.city"])
    region = rng.choice(REGIONS)
    order = rng.choice([">", ">=", "<", "<=", "gt", "lte"])
    return rng.choice(
        [
            {"field": number, "operator": order, "value": value},
            {"field": number, "operator": order, "value": str(value)},
            {"field": number, "operator": rng.choice(["==", "=", "!=", "<>"]), "value": value},
            {"field": "code", "operator": rng.choice([">", "<=", "==", "!="]), "value": rng.choice([7, 2.5, 10])},
            {"field": text, "operator": rng.choice(["==", "!=", "eq", "ne"]), "value": region},
            {"field": text, "operator": rng.choice([">", "<="]), "value": region},
            {"field": text, "operator": "==", "value": region.upper(), "case_sensitive": False},
            {"field": text, "operator": rng.choice(["in", "not_in", "not in"]), "value": rng.sample(REGIONS, 3) + rng.choice([[], [None]])},
            {"field": number, "operator": rng.choice(["in", "not_in"]), "value": rng.sample([0, 1, 2, 3.25, -1], 3)},
            {"field": text, "operator": "contains", "value": rng.choice(["o", "ü", "", "京", "O'", '"'])},
            {"field": text, "operator": "contains", "value": "O", "case_sensitive": False},
            {"field": text, "operator": "starts_with", "value": rng.choice(["N", "S", "東"])},
            {"field": text, "operator": "ends_with", "value": rng.choice(["h", "d", "o"])},
            {"field": text, "operator": "matches", "value": rng.choice(["^.o", "[aeiou]$", r"\s", "^$"])},
            {"field": "tags", "operator": "contains", "value": rng.choice(TAGS)},
            {"field": rng.choice([number, text, "active"]), "operator": rng.choice(["is_null", "is null", "is_not_null"])},
            {"field": number, "operator": "between", "value": sorted([value, rng.choice([1, 2, 60])])},
            {"field": "active", "operator": rng.choice(["==", "!="]), "value": rng.choice([True, False, "true"])},
            {"field": text, "operator": rng.choice(["==", "!="]), "value": None},
        ]
    )


def holds(frame: pd.DataFrame, condition) -> pd.Series:
    if isinstance(condition, list):
        condition = {"and": condition}
    if "conditions" in condition:
        condition = {condition["logic"]: condition["conditions"]}
    if "field" in condition:
        return compare(frame, condition).fillna(False).astype(bool)
    ((logic, inner),) = condition.items()
    if logic == "not":
        return ~holds(frame, inner)
    masks = [holds(frame, condition) for condition in inner]
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask if logic.lower() == "and" else result | mask
    return result


NAMES = {"=": "==", "eq": "==", "<>": "!=", "ne": "!=", "gt": ">", "lte": "<=", "not in": "not_in", "is null": "is_null"}


def compare(frame: pd.DataFrame, condition: dict) -> pd.Series:
    column, value = frame[condition["field"]], condition.get("value")
    operator = NAMES.get(condition["operator"], condition["operator"])
    if operator in ("!=", "not_in"):
        opposite = condition | {"operator": {"!=": "==", "not_in": "in"}[operator]}
        return ~compare(frame, opposite).fillna(False).astype(bool)
    if condition["field"] == "tags":
        return column.map(lambda tags: isinstance(tags, list) and value in tags).astype("boolean")
    column, value = as_comparable(column, value)
    if condition.get("case_sensitive") is False:
        column, value = column.str.lower(), value.lower()
    match operator:
        case "==":
            return column.isna() if value is None else column == value
        case ">" | ">=" | "<" | "<=":
            return ordered(column, operator, value)
        case "between":
            return column.between(*value)
        case "in":
            return column.isin([item for item in value if item is not None]) | (column.isna() & (None in value))
        case "contains":
            return column.str.contains(value, regex=False)
        case "starts_with":
            return column.str.startswith(value)
        case "ends_with":
            return column.str.endswith(value)
        case "matches":
            return column.str.contains(value, regex=True)
        case "is_null":
            return column.isna()
        case "is_not_null":
            return column.notna()
    raise ValueError(operator)


def as_comparable(column: pd.Series, value):
    """Text and numbers that are compared with each other are numbers."""
    if column.name == "active" and value == "true":
        return column, True
    if column.name in (PRICE, AMOUNT) and isinstance(value, str):
        return column, float(value)
    if column.name == "code":
        return pd.to_numeric(column).astype("Float64"), value
    if column.dtype == object:
        return column.astype("string[python]"), value
    return column, value


def ordered(column: pd.Series, operator: str, value) -> pd.Series:
    match operator:
        case ">":
            return column > value
        case ">=":
            return column >= value
        case "<":
            return column < value
    return column <= value
