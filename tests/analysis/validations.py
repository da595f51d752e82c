"""What pandas finds wrong in random tables, for the tests of crates/analysis: one JSON object a line."""

import json
import re

import numpy as np
import pandas as pd

EMAIL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@([A-Za-z0-9-]+\.)+[A-Za-z0-9-]+")
WORDS = ["alpha", "beta", "", "Ünï", "a@b.org", "no mail@x.de", "12", "7.5", "x" * 20, "2024-02-29", "2023-02-29"]


def table(rng, n):
    """Whole numbers, numbers and text, each with missing ones."""
    def holes(values, share):
        return [None if hole else value for value, hole in zip(values, rng.random(len(values)) < share)]

    return pd.DataFrame({
        "id": holes(rng.integers(0, max(2, n * 3), n).tolist(), 0.05),
        "amount": holes(np.round(rng.normal(10, 30, n), 3).tolist(), 0.1),
        "limit": holes(np.round(rng.normal(15, 30, n), 3).tolist(), 0.1),
        "word": holes(rng.choice(WORDS, n).tolist(), 0.1),
        "key": rng.integers(0, 5, n).tolist(),
    }, dtype=object)


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def is_date(text):
    return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)) and not pd.isna(pd.to_datetime(text, errors="coerce"))


def rules(frame):
    """Each rule as it is asked for, its name, and whether each row breaks it."""
    there = frame.notna()
    # Missing numbers compare to nothing.
    number = frame[["id", "amount", "limit", "key"]].astype(float)
    words = frame["word"]

    def text(test):
        return words.map(lambda word: word is not None and not test(word)).astype(bool)

    yield {"field": "id", "required": True}, "required", ~there["id"]
    yield {"field": "word", "nullable": False}, "required", ~there["word"]
    yield {"field": "amount", "type": "integer"}, "type", there["amount"] & (number["amount"] % 1 != 0)
    yield {"field": "word", "type": "numeric", "coerce": False}, "type", there["word"]
    yield {"field": "word", "type": "numeric"}, "type", text(is_number)
    yield {"field": "word", "type": "numeric", "coerce": True}, "type", text(is_number)
    yield {"field": "word", "type": "email"}, "type", text(lambda word: EMAIL.fullmatch(word))
    yield {"field": "word", "type": "date"}, "type", text(is_date)
    yield {"field": "id", "type": "string"}, "type", there["id"]
    yield {"field": "amount", "min": -5.5}, "min", number["amount"] < -5.5
    yield {"field": "amount", "max": 30}, "max", number["amount"] > 30
    yield {"field": "limit", "positive": True}, "positive", number["limit"] <= 0
    yield {"field": "word", "min_length": 3}, "min_length", text(lambda word: len(word) >= 3)
    yield {"field": "word", "max_length": 4}, "max_length", text(lambda word: len(word) <= 4)
    yield {"field": "word", "pattern": "^[a-z]+$"}, "pattern", text(lambda word: re.search("^[a-z]+$", word))
    yield ({"field": "word", "allowed": ["alpha", "beta"]}, "allowed",
           there["word"] & ~words.isin(["alpha", "beta"]))
    yield {"field": "key", "not_in": [2, 3]}, "not_in", number["key"].isin([2, 3])
    yield {"field": "id", "unique": True}, "unique", there["id"] & number["id"].duplicated(keep=False)
    both = there["id"] & number.duplicated(["id", "key"], keep=False)
    yield {"unique": ["id", "key"]}, "unique", both
    yield ({"field": "amount", "compare": {"operator": "<=", "field": "limit"}}, "compare",
           number["amount"] > number["limit"])
    yield {"expression": "amount + 1 >= id"}, "expression", number["amount"] + 1 < number["id"]
    yield ({"field": "id", "references": {"table": "data", "field": "key"}}, "references",
           there["id"] & ~number["id"].isin(number["key"]))
    before = number["id"].ffill().shift()
    yield {"field": "id", "increasing": True}, "increasing", number["id"] < before
    yield {"field": "id", "increasing": "strict"}, "increasing", number["id"] <= before


def name(rule):
    fields = {"expression": "amount, id"}.get("expression" if "expression" in rule else "")
    unique = rule.get("unique")
    return fields or (", ".join(unique) if isinstance(unique, list) else rule["field"])


said = None


def report(frame, chosen):
    """The rows are there if they are not those of the line before."""
    global said
    listed = []
    for at, (rule, kind, broken) in enumerate(chosen):
        listed += [(int(row), at, name(rule), kind) for row in np.flatnonzero(broken.to_numpy(dtype=bool))]
    listed.sort()
    facts = {
        "valid": not listed,
        "checked_count": len(frame),
        "violation_count": len(listed),
        "invalid_row_count": len({row for row, *_ in listed}),
        "rules": [{"field": name(rule), "rule": kind, "violations": int(broken.sum())} for rule, kind, broken in chosen],
    }
    expected = [{"row": row, "field": field, "rule": kind} for row, _, field, kind in listed]
    line = {"analysis": "validate", "parameters": {"validations": [rule for rule, _, _ in chosen]},
            "facts": facts, "expected": expected}
    if frame is not said:
        line["rows"] = [{key: None if pd.isna(value) else value for key, value in row.items()}
                        for row in frame.to_dict("records")]
        said = frame
    print(json.dumps(line, allow_nan=False))


if __name__ == "__main__":
    rng = np.random.default_rng(20001231)
    for n in (1, 5, 40, 200):
        frame = table(rng, n)
        if frame.notna().any().all():
            for rule in rules(frame):
                report(frame, [rule])
            report(frame, list(rules(frame)))
    # Enough rows to be in several parts.
    frame = table(rng, 70_000)
    chosen = [rule for rule in rules(frame) if rule[1] == "required" or "unique" in rule[0] and "field" not in rule[0]]
    report(frame, chosen)
