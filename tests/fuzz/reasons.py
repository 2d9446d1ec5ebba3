"""Fuzz reasons: columns that force a class against all rows with the same values in them."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

from dln.core.model_file import circuit_from_json
from dln.errors import TableError

from .draw import draw_rows, draw_text, probes_of
from .reader import Model

MOST_ROWS = 3000


def fuzz_reasons(rng: random.Random) -> int:
    """Compare the reasons of some rows of one random model with all rows."""
    text = draw_text(rng, n_columns=3, n_literals=6)
    model, circuit = Model(text), circuit_from_json(text)
    probes = [probes_of(model, index) for index in range(len(model.columns))]
    if math.prod(map(len, probes)) > MOST_ROWS:
        return 0
    names = [column["name"] for column in model.columns]
    n_checks = 0
    for row in draw_rows(rng, model, 3):
        try:
            reason = circuit.reason(row, time_limit=None)
        except TableError:  # a value that its column cannot have
            continue
        winner = model.winner(row)
        assert model.labels[winner] == reason.label
        assert reason.minimal
        assert reason.checked
        kept = {names.index(feature) for feature in reason.features}
        assert _classes(model, row, kept, probes) == {winner}
        for column in kept:
            assert _classes(model, row, kept - {column}, probes) != {winner}
        n_checks += 1
    return n_checks


def _classes(model: Model, row: list[Any], kept: set[int], probes: list[list[Any]]) -> set[int]:
    """Return the classes of all rows with the same values in the kept columns."""
    values = [[row[at]] if at in kept else [row[at], *probes[at]] for at in range(len(row))]
    return {model.winner(list(other)) for other in itertools.product(*values)}
