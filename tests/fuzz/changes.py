"""Fuzz explanations: the smallest change of each feature against all changes of that feature."""

from __future__ import annotations

import random

from dln.core.model_file import circuit_from_json

from .draw import draw_rows, draw_text, probes_of
from .reader import Model, is_missing, to_number


def fuzz_changes(rng: random.Random) -> int:
    """Explain rows of one random model."""
    text = draw_text(rng, n_columns=3)
    model, circuit = Model(text), circuit_from_json(text)
    read = {literal["column"] for literal in model.literals}
    names, rows = [column["name"] for column in model.columns], draw_rows(rng, model, 3)
    for row in rows:
        explanation = circuit.explain(row)
        winner = model.winner(row)
        assert explanation.label == model.labels[winner]
        changes = {names.index(change.feature): change for change in explanation.changes}
        for index in range(len(names)):
            flips = [
                value
                for value in probes_of(model, index)
                if model.winner([*row[:index], value, *row[index + 1 :]]) != winner
            ]
            assert bool(flips) == (index in changes), (index, flips, explanation.changes)
            if index not in changes:
                continue
            assert index in read
            change = changes[index]
            changed = [*row[:index], change.after, *row[index + 1 :]]
            assert model.labels[model.winner(changed)] == change.label != explanation.label
            if change.distance is not None:
                here = to_number(row[index])
                numbers = [to_number(value) for value in flips if not is_missing(value)]
                assert min(abs(number - here) for number in numbers) >= change.distance
    return len(rows)
