"""Fuzz prediction: the independent reader against every way in which dln predicts."""

from __future__ import annotations

import math
import random
import types
from typing import Any

import numpy as np

from dln import Circuit, _native, export
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.evaluate.predictor import Predictor, compile_circuit, numpy_evaluate

from .draw import draw_rows, draw_text
from .reader import Model


def fuzz_predictors(rng: random.Random) -> int:
    """Compare votes, classes and probabilities on the rows of one random model."""
    text = draw_text(rng)
    model, circuit = Model(text), circuit_from_json(text)
    rows = draw_rows(rng, model, rng.choice([1, 7, 70]))
    expected = [model.votes(row) for row in rows]
    winners = [votes.index(max(votes)) for votes in expected]
    assert [Model(circuit_to_json(circuit)).votes(row) for row in rows] == expected
    table = as_table(circuit, rows)
    assert circuit.votes(table).tolist() == expected
    assert circuit.winners(table).tolist() == winners
    labels = [model.labels[winner] for winner in winners]
    assert circuit.predict(table).tolist() == np.array(labels, dtype=object).tolist()
    chances = circuit.predict_proba(table).tolist()
    for row, found in zip(rows, chances, strict=True):
        wanted = model.probabilities(row)
        pairs = zip(found, wanted, strict=True)
        assert all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-300) for a, b in pairs)

    evaluation = circuit.evaluate(table)
    assert evaluation.votes.tolist() == expected
    wires = [model.wires(row) for row in rows]
    assert evaluation.wires(range(circuit.n_wires)).tolist() == wires

    source, n_rows = Predictor(circuit)._source(table)
    assert numpy_evaluate(circuit, source, n_rows)[1].tolist() == expected
    for level in _native.levels():
        program = compile_circuit(circuit, level)
        assert program.votes(source, n_rows=n_rows).tolist() == expected
        assert program.classify(source, n_rows=n_rows).tolist() == winners

    exported = types.ModuleType("exported")
    exec(export(circuit, to="python").text, exported.__dict__)
    names = [column.name for column in circuit.columns]
    said = [exported.explain(dict(zip(names, row, strict=True))) for row in rows]
    assert [list(one["votes"]) for one in said] == expected
    assert [one["class"] for one in said] == labels
    return (8 + 2 * len(_native.levels())) * len(rows)


def as_table(circuit: Circuit, rows: list[list[Any]]) -> Any:
    """Make an array of objects, and with text in every category column: it is no table of numbers.

    A column of categories that happens to hold only numbers would be read as numbers; its own
    tests cover that.
    """
    table = np.empty((len(rows), len(circuit.columns)), dtype=object)
    for index, row in enumerate(rows):
        table[index] = row
    return table
