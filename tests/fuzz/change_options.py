"""Fuzz changes: the cheapest change of several features against all changes of small models."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

from dln.core.model_file import circuit_from_json
from dln.errors import TableError

from .draw import draw_rows, draw_text, probes_of
from .reader import Model, is_missing, read_label, to_number

MOST_ROWS = 3000


def fuzz_change_options(rng: random.Random) -> int:
    """Compare the cheapest change of some rows of one random model with all changes."""
    text = draw_text(rng, n_columns=3, n_literals=6)
    model, circuit = Model(text), circuit_from_json(text)
    names = [column["name"] for column in model.columns]
    n_checks = 0
    for row in draw_rows(rng, model, 3):
        steps = [_steps(model, index, value) for index, value in enumerate(row)]
        if math.prod(map(len, steps)) > MOST_ROWS:
            continue
        try:
            found = circuit.changes(row, n=1, time_limit=None)
        except TableError:  # a value that its column cannot have
            continue
        winner = model.winner(row)
        costs = [
            sum(cost for _, cost in choice)
            for choice in itertools.product(*steps)
            if model.winner([value for value, _ in choice]) != winner
        ]
        assert found.complete
        assert bool(found.options) == bool(costs), (found.options, costs)
        for option in found.options:
            after = {change.feature: change.after for change in option.changes}
            changed = [after.get(name, value) for name, value in zip(names, row, strict=True)]
            assert model.labels[model.winner(changed)] == option.label != found.label
            assert abs(option.cost - float(min(costs))) < 1e-3, (option, min(costs))
        n_checks += 1
    return n_checks


def _steps(model: Model, index: int, before: Any) -> list[tuple[Any, Fraction]]:
    """List values of a column, one for each behaviour of its literals, with their lowest cost."""
    column = model.columns[index]
    own = [literal for literal in model.literals if literal["column"] == index]
    cutoffs = sorted({literal["above"] for literal in own if "above" in literal})
    known = [read_label(category) for category in column.get("categories", [])]
    behaviour = _behaviour(model, own, index, before)
    cheapest: dict[tuple[bool, ...], tuple[Any, Fraction]] = {}
    for value in probes_of(model, index):
        if is_missing(value) or (column["kind"] == "category" and value not in known):
            continue
        cost = Fraction(3, 2)
        if column["kind"] not in ("category", "boolean"):
            here = math.nan if is_missing(before) else to_number(before)
            crossed = sum((here > cutoff) != (to_number(value) > cutoff) for cutoff in cutoffs)
            cost = 1 + Fraction(max(crossed, int(math.isnan(here))), len(cutoffs) or 1)
        key = _behaviour(model, own, index, value)
        if key != behaviour and (key not in cheapest or cost < cheapest[key][1]):
            cheapest[key] = (value, cost)
    return [(before, Fraction(0)), *cheapest.values()]


def _behaviour(model: Model, own: list[Any], index: int, value: Any) -> tuple[bool, ...]:
    row: list[Any] = [None] * index + [value] + [None] * (len(model.columns) - index - 1)
    return tuple(model.literal(literal, row) for literal in own)
