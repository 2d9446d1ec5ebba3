"""Random model files and rows that probe them: at, beside and away from every threshold."""

from __future__ import annotations

import base64
import datetime
import json
import math
import random
from typing import Any

from .reader import EPOCH, GATES, Model, read_label

KINDS = ("number", "integer", "boolean", "date", "category")
NUMBERS = (0.0, -0.0, 1.0, -1.5, 0.1, 5e-324, -5e-324, 1e-300, 1.7e308, -1.7e308, 2.0**53, 0.3)
TEXTS = ("red", "green", "", " ", "1", "True", "x > 3", "{a, b}", "'", "a\nb", "é", "\u2028", "NaN")
CENTURY = 36525 * 86400


def draw_text(rng: random.Random, n_columns: int = 4, n_literals: int = 8) -> str:
    """Draw a model file, without help from dln."""
    columns = [_column(rng, index) for index in range(rng.randint(1, n_columns))]
    literals = [_literal(rng, columns) for _ in range(rng.randint(0, n_literals))]
    n_wires, gates = len(literals), []
    for _ in range(rng.randint(0, 14) if literals else 0):
        gates.append([rng.choice(GATES), rng.randrange(n_wires), rng.randrange(n_wires)])
        n_wires += 1
    n_classes = rng.randint(1, 4)
    rules = [
        {"wire": rng.randrange(n_wires), "votes": [_vote(rng) for _ in range(n_classes)]}
        for _ in range(rng.randint(0, 8) if n_wires else 0)
    ]
    document = {
        "format": "dln-circuit",
        **rng.choice([{"version": 1}, {"version": 2, "readout": "votes"}]),
        "columns": columns,
        "literals": literals,
        "gates": gates,
        "rules": rules,
        "base_votes": [rng.randint(-2, 2) for _ in range(n_classes)],
        "classes": _labels(rng, n_classes),
        "temperature": rng.choice([1.0, 0.25, 3, 1e-3, 1e6]),
    }
    if document["version"] > 1 and n_classes > 1 and rng.random() < 0.5:
        document["calibration"] = _calibration(rng, n_classes)
    if rng.random() < 0.3:
        document["origin"] = _origin(rng)
    return json.dumps(document)


def _calibration(rng: random.Random, n_classes: int) -> dict[str, Any]:
    leads = sorted(rng.sample(range(-9, 10), rng.randint(1, 6)))
    n_tables = rng.choice([1, n_classes]) if n_classes > 2 else 1
    tables = [sorted(rng.randint(1, 999) / 1000 for _ in leads) for _ in range(n_tables)]
    return {"leads": leads, "values": tables}


def _origin(rng: random.Random) -> dict[str, Any]:
    origin: dict[str, Any] = {"data": "x.csv", "digest": "0" * 64, "target": "y", "n_rows": 10}
    origin |= {"test_part": 0.25, "seed": 0, "version": "0.1", "settings": {"tau": 2.0}}
    if rng.random() < 0.5:
        hashes = sorted(rng.sample(range(2**48), 6))
        packed = [b"".join(x.to_bytes(6, "big") for x in part) for part in (hashes[:4], hashes[4:])]
        training, test = (base64.b64encode(part).decode() for part in packed)
        origin["rows"] = {"key": "0" * 16, "limit": 2**48, "training": training, "test": test}
        origin["rows"] |= {"training_repeats": [[0, 2]], "test_repeats": []}
    return origin


def _column(rng: random.Random, index: int) -> dict[str, Any]:
    column: dict[str, Any] = {"name": f"{rng.choice(TEXTS)}{index}", "kind": rng.choice(KINDS)}
    if column["kind"] == "category":
        texts: list[Any] = rng.sample(TEXTS, rng.randint(1, 5))
        mixed = [2, 3.5, True, {"number": "inf"}, -7]
        column["categories"] = texts + rng.sample(mixed, rng.choice([0, 0, 1, 3]))
    return column


def _literal(rng: random.Random, columns: list[dict[str, Any]]) -> dict[str, Any]:
    index = rng.randrange(len(columns))
    column = columns[index]
    if rng.random() < 0.2:
        return {"column": index, "missing": True}
    if column["kind"] == "category":
        known = range(len(column["categories"]))
        return {"column": index, "among": rng.sample(known, rng.randint(1, len(known)))}
    return {"column": index, "above": _threshold(rng, column["kind"])}


def _threshold(rng: random.Random, kind: str) -> float:
    if kind == "boolean":
        return rng.choice([0.5, 0.0, -1.0, 1.0, 0.9])
    if kind == "date":
        return rng.randint(-CENTURY, CENTURY) + rng.choice([0, 0.5, 1e-6, 0.123456])
    if kind == "integer":
        return rng.choice([rng.randint(-3, 3), rng.randint(-3, 3) + 0.5, 2.0**53, -1e17])
    return rng.choice([*NUMBERS, rng.uniform(-2, 2), float(rng.randint(-3, 3))])


def _vote(rng: random.Random) -> int:
    return rng.choice([0, 0, 1, 1, 2, -1, rng.randint(-3, 7), -1000, 10**6])


def _labels(rng: random.Random, n_classes: int) -> list[Any]:
    kinds: list[list[Any]] = [
        list(TEXTS),
        [0, 1, 2, 3, -5, 10**25],
        [0.5, -1.5, 1e300, {"number": "inf"}],
        [{"date": f"20{year}-01-31"} for year in range(10, 20)],
        [{"moment": f"20{year}-01-31T10:00:00.000001"} for year in range(10, 20)],
        ["a", 2, 3.5, "b"],
    ]
    return rng.sample(rng.choice(kinds), n_classes)


# -- rows -------------------------------------------------------------------------------------


def draw_rows(rng: random.Random, model: Model, n_rows: int) -> list[list[Any]]:
    """Draw rows of Python values; every column holds values of its own kind, or missing ones."""
    probes = [probes_of(model, index) for index in range(len(model.columns))]
    rows = [[rng.choice(values) for values in probes] for _ in range(n_rows)]
    for row in rows:
        for index, column in enumerate(model.columns):
            if column["kind"] == "number" and rng.random() < 0.2:
                row[index] = rng.uniform(-3, 3) * 10.0 ** rng.randint(-300, 300)
    return rows


def probes_of(model: Model, index: int) -> list[Any]:
    """List values of a column that include one for every behaviour of its literals."""
    column = model.columns[index]
    limits = {x["above"] for x in model.literals if x["column"] == index and "above" in x}
    if column["kind"] == "category":
        known = [read_label(category) for category in column.get("categories", [])]
        unseen: list[Any] = ["never seen"] + [987654] * any(not isinstance(x, str) for x in known)
        return [*known, *unseen, None]
    if column["kind"] == "boolean":
        return [False, True, None]
    if column["kind"] == "date":
        moments = [_moment(limit) for limit in sorted(limits) if abs(limit) < 3 * CENTURY]
        tick = datetime.timedelta(microseconds=1)
        near = [moment + step * tick for moment in moments for step in (-1, 0, 1)]
        return [*near, datetime.datetime(1700, 1, 1), datetime.datetime(2240, 1, 1, 1), None]
    if column["kind"] == "integer":
        near = [math.floor(limit) + step for limit in sorted(limits) for step in (-1, 0, 1, 2)]
        return [*near, -(10**30), 10**30, 0, None]
    beside = [math.nextafter(x, end) for x in sorted(limits) for end in (math.inf, -math.inf)]
    return [*sorted(limits), *beside, 0.0, -0.0, math.inf, -math.inf, math.nan, None]


def _moment(seconds: float) -> datetime.datetime:
    return EPOCH + datetime.timedelta(seconds=seconds)
