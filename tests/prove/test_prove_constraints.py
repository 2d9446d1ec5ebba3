"""Proofs of constraints agree with every row, and passes that change circuits keep them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import Circuit, Meeting, OptionError, Proof, prune, simplify
from dln.core.constraints import read_constraints
from dln.core.limits import bits_of, make_limits
from dln.errors import CircuitError
from dln.prove.constraints import prove_constraints, prove_interactions
from dln.train.network import Shape
from tests.support.constrained import draw_case, shake
from tests.support.strategies import every_row, law, logic_circuits


def dependencies(circuit: Circuit, wire: int) -> set[int]:
    """Return the columns with which a wire changes, on all rows of boolean columns."""
    rows = every_row(circuit)
    bits = circuit.evaluate(rows).wire(wire)
    found = set()
    for column in range(circuit.n_literals):
        other = rows.copy()
        other[:, column] = 1 - other[:, column]
        if (circuit.evaluate(other).wire(wire) != bits).any():
            found.add(column)
    return found


@law
@given(circuit=logic_circuits(), most=st.integers(1, 3), data=st.data())
def test_a_proof_of_interactions_agrees_with_all_rows(
    circuit: Circuit, most: int, data: Any
) -> None:
    names = [column.name for column in circuit.columns]
    groups = None
    if len(names) > 2 and data.draw(st.booleans()):
        groups = [names[:2], names[1:]]
    verdict = prove_interactions(circuit, groups, max_columns_per_rule=most)
    given = read_constraints(circuit.classes, interactions=groups, max_columns_per_rule=most)
    limits = make_limits(given, names, circuit.classes)
    reads = [dependencies(circuit, rule.wire) for rule in circuit.rules]
    allowed = [limits.may_meet(bits_of(own)) for own in reads]
    assert isinstance(verdict, Proof) == all(allowed)
    if isinstance(verdict, Meeting):
        assert not allowed[verdict.rule]
        assert {names.index(name) for name in verdict.columns} == reads[verdict.rule]


def test_questions_without_a_constraint_are_refused() -> None:
    circuit = Circuit((), (), (), (), (0, 0), ("no", "yes"))
    with pytest.raises(OptionError, match="the circuit states no constraints; train it with some"):
        prove_constraints(circuit)
    with pytest.raises(OptionError, match="give interactions, forbidden_pairs, unused_columns or"):
        prove_interactions(circuit)


@pytest.mark.parametrize("seed", range(6))
def test_simplifying_and_pruning_keep_the_constraints(seed: int) -> None:
    case = draw_case(300 + seed)
    network = case.draw_network(Shape((12, 8)))
    shake(network, case.rng)
    circuit = case.circuit(network, case.constraints)
    smaller = simplify(circuit, "quick")
    assert smaller.constraints == case.constraints
    assert prove_constraints(smaller, time_limit=None)
    if smaller.rules and smaller.literals:
        labels = np.array(case.classes)[case.target]
        for step in prune(smaller, case.frame, labels).steps:
            assert prove_constraints(step.circuit, time_limit=None)


def test_a_change_that_breaks_a_constraint_is_refused() -> None:
    case = next(c for c in map(draw_case, range(400, 500)) if c.constraints.monotone)
    for seed in range(50):
        network = case.draw_network(Shape((6, 6)))
        shake(network, np.random.default_rng(seed))
        circuit = case.circuit(network, case.constraints)
        votes = [rule._replace(votes=tuple(-x for x in rule.votes)) for rule in circuit.rules]
        turned = circuit.readout.with_rules(tuple(votes), circuit.base_votes)
        if not prove_constraints(
            replace(circuit, readout=turned, constraints=None), case.constraints
        ):
            with pytest.raises(CircuitError, match="does not satisfy its constraints"):
                replace(circuit, readout=turned)
            return
    raise AssertionError("no circuit reads a column with a direction")
