"""Locked rules keep their condition and votes through splitting, simplification and pruning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.locked import join_locked, split_locked
from dln.core.parts import Rule
from dln.errors import CircuitError
from dln.shrink.readable import is_readable, make_readable
from tests.support.strategies import every_row, law, logic_circuits


@st.composite
def locked_circuits(draw: st.DrawFn) -> Circuit:
    """Draw a circuit of booleans in which some rules, that can fire or not, are locked."""
    circuit = draw(logic_circuits(max_literals=4, max_gates=10))
    rows = every_row(circuit)
    fires = circuit.evaluate(rows).wires(circuit.readout.wires).T if circuit.rules else []
    varied = [place for place, each in enumerate(fires) if each.any() and not each.all()]
    locked = draw(st.sets(st.sampled_from(varied))) if varied else set()
    return replace(circuit, locked=tuple(sorted(locked)))


def locked_rules(circuit: Circuit) -> list[tuple[tuple[int, ...], tuple[bool, ...]]]:
    """List the votes of each locked rule, and the rows on which it fires."""
    rows = every_row(circuit)
    rules = [circuit.rules[place] for place in circuit.locked]
    fires = circuit.evaluate(rows).wires([rule.wire for rule in rules]).T if rules else []
    return sorted(
        (rule.votes, tuple(each.tolist())) for rule, each in zip(rules, fires, strict=True)
    )


def leads(circuit: Circuit) -> np.ndarray:
    votes = circuit.votes(every_row(circuit))
    return votes - votes[:, :1]


@law
@given(locked_circuits())
def test_splitting_and_joining_keeps_every_vote(circuit: Circuit) -> None:
    joined = join_locked(*split_locked(circuit))
    rows = every_row(circuit)
    np.testing.assert_array_equal(joined.votes(rows), circuit.votes(rows))
    assert locked_rules(joined) == locked_rules(circuit)


@law
@given(locked_circuits(), st.sampled_from(["quick", "normal"]))
def test_simplification_keeps_locked_rules(circuit: Circuit, effort: str) -> None:
    smaller = dln.simplify(circuit, effort)  # type: ignore[arg-type]
    np.testing.assert_array_equal(leads(smaller), leads(circuit))
    assert locked_rules(smaller) == locked_rules(circuit)
    assert dln.cost(smaller).gate_operations <= dln.cost(circuit).gate_operations


@law
@given(locked_circuits(), st.data())
def test_pruning_keeps_locked_rules(circuit: Circuit, data: st.DataObject) -> None:
    assume(circuit.rules and circuit.literals)
    rows = every_row(circuit)
    label = st.sampled_from(circuit.classes)
    y = data.draw(st.lists(label, min_size=len(rows), max_size=len(rows)))
    curve = dln.prune(circuit, rows, y, tolerance=data.draw(st.sampled_from([0, 2, 0.5])))
    for step in curve.steps:
        assert locked_rules(step.circuit) == locked_rules(circuit)
        changed = np.count_nonzero(step.circuit.winners(rows) != circuit.winners(rows))
        assert changed == step.n_changed


@law
@given(locked_circuits())
def test_readable_gates_keep_locked_rules(circuit: Circuit) -> None:
    readable = make_readable(circuit)
    assert is_readable(readable)
    rows = every_row(circuit)
    np.testing.assert_array_equal(readable.votes(rows), circuit.votes(rows))
    assert len(readable.locked) <= len(circuit.locked)


@pytest.mark.parametrize("locked", [(1,), (-1,), (True,), ("a",)])
def test_places_that_are_no_rules_are_refused(locked: tuple[int, ...]) -> None:
    circuit = Circuit.from_rules("a:\n  +1  x", columns=[dln.Column("x", "boolean")])
    with pytest.raises(CircuitError, match="locked lists rule"):
        replace(circuit, locked=locked)
    twice = replace(circuit, rules=(Rule(0, (1,)), Rule(0, (1,))))  # type: ignore[call-arg]
    with pytest.raises(CircuitError, match="expected ascending"):
        replace(twice, locked=(1, 0))
