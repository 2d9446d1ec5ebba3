"""Fuzz proofs: verdicts on small circuits against the votes of all rows that can differ."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

from dln import prove_equal, prove_monotone
from dln.core.model_file import circuit_from_json
from dln.core.verdict import Counterexample, Proof, Reversal

from .draw import draw_text, probes_of
from .reader import GATES, Model, is_missing, to_number

MOST_ROWS = 3000


def fuzz_equality(rng: random.Random) -> int:
    """Compare a circuit with a changed copy, by proof and on all rows."""
    text = draw_text(rng, n_columns=2, n_literals=5)
    other = _changed(rng, text)
    a, b = Model(text), Model(other)
    rows = _all_rows([_probes(a, b, index) for index in range(len(a.columns))])
    if rows is None:
        return 0
    votes = [(a.votes(row), b.votes(row)) for row in rows]
    circuits = circuit_from_json(text), circuit_from_json(other)
    by_aspect = {
        "probabilities": all(_margins(one) == _margins(two) for one, two in votes),
        "classes": all(one.index(max(one)) == two.index(max(two)) for one, two in votes),
    }
    for aspect, agree in by_aspect.items():
        verdict = prove_equal(*circuits, of=aspect, time_limit=None)  # type: ignore[arg-type]
        assert isinstance(verdict, Proof if agree else Counterexample), (aspect, verdict)
        if isinstance(verdict, Counterexample):
            row = [verdict.row.get(column["name"]) for column in a.columns]
            found = a.votes(row), b.votes(row)
            assert found == (list(verdict.votes_a), list(verdict.votes_b))
    return len(by_aspect)


def fuzz_monotone(rng: random.Random) -> int:
    """Prove for each ordered column that a class never loses, and look at all pairs of rows."""
    text = draw_text(rng, n_columns=2, n_literals=5)
    model, circuit = Model(text), circuit_from_json(text)
    label = rng.randrange(len(model.labels))
    n_checks = 0
    for index, column in enumerate(model.columns):
        if column["kind"] == "category":
            continue
        probes = [probes_of(model, other) for other in range(len(model.columns))]
        present = sorted((x for x in probes[index] if not is_missing(x)), key=to_number)
        probes[index] = [None]
        rows = _all_rows(probes)
        if rows is None:
            continue
        for direction, sign in (("rising", 1), ("falling", -1)):
            steps = [
                sign * (after - before)
                for row in rows
                for low, high in itertools.pairwise(present)
                for before, after in zip(
                    _leads(model, row, index, low, label),
                    _leads(model, row, index, high, label),
                    strict=True,
                )
            ]
            verdict = prove_monotone(
                circuit,
                column["name"],
                circuit.classes[label],
                direction=direction,  # type: ignore[arg-type]
                time_limit=None,
            )
            holds = all(step >= 0 for step in steps)
            assert isinstance(verdict, Proof if holds else Reversal), verdict
            n_checks += 1
    return n_checks


def _leads(model: Model, row: list[Any], index: int, value: Any, label: int) -> list[int]:
    votes = model.votes([*row[:index], value, *row[index + 1 :]])
    return [votes[label] - other for other in votes]


def _margins(votes: list[int]) -> list[int]:
    return [vote - votes[0] for vote in votes]


def _probes(a: Model, b: Model, index: int) -> list[Any]:
    return [*probes_of(a, index), *probes_of(b, index)]


def _all_rows(probes: list[list[Any]]) -> list[list[Any]] | None:
    if math.prod(map(len, probes)) > MOST_ROWS:
        return None
    return [list(row) for row in itertools.product(*probes)]


def _changed(rng: random.Random, text: str) -> str:
    """Change a gate, a vote or the order of inputs: some changes do not matter."""
    document = json.loads(text)
    match rng.randrange(4):
        case 0 if document["gates"]:
            rng.choice(document["gates"])[0] = rng.choice(GATES)
        case 1 if document["gates"]:
            gate = rng.choice(document["gates"])
            gate[1], gate[2] = gate[2], gate[1]
        case 2 if document["rules"]:
            votes = rng.choice(document["rules"])["votes"]
            more = rng.choice([0, 1])
            votes[:] = [vote + more for vote in votes]
        case _ if document["rules"]:
            rng.choice(document["rules"])["votes"][0] += rng.choice([0, 1, -1])
    return json.dumps(document)
