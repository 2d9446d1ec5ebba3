"""Pruning of circuits that predict a number: the laws of classes, with R² as the accuracy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import r2_score

from dln import Above, Circuit, Column, Logic, OptionError, Rule, Score, TableError
from dln.costs.circuit import cost
from dln.shrink.prune.moves import Revote, find_moves
from dln.shrink.prune.prune import prune
from dln.shrink.prune.rows import literal_bits
from dln.shrink.prune.saving import Savings
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.net import Net
from tests.support.strategies import (
    as_rows,
    every_row,
    law,
    rows_for,
    score_circuits,
    score_logic_circuits,
)

Problem = tuple[Circuit, Any, list[float]]
Run = Callable[..., tuple[int, str, str]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a circuit with a table that fits it and numbers that are not all the same."""
    if draw(st.booleans()):
        circuit = draw(score_logic_circuits().filter(_has_rules))
        table: Any = every_row(circuit)
        table = table[draw(st.lists(st.integers(0, len(table) - 1), min_size=2, max_size=40))]
    else:
        circuit = draw(score_circuits().filter(_has_rules))
        rows = draw(rows_for(circuit, max_rows=20))
        assume(len(rows) > 1)
        table = as_rows(circuit, rows)
    numbers = st.lists(st.integers(-50, 50), min_size=len(table), max_size=len(table))
    target = draw(numbers.filter(lambda own: len(set(own)) > 1))
    return circuit, table, [float(number) for number in target]


def _has_rules(circuit: Circuit) -> bool:
    return bool(circuit.rules and circuit.literals)


def r2(circuit: Circuit, table: Any, target: list[float]) -> float:
    with np.errstate(over="ignore"):
        error = np.mean((circuit.predict(table) - target) ** 2)
    return float(1 - error / np.var(target))


@law
@given(problem=problems(), tolerance=st.integers(0, 10))
def test_no_more_predictions_change_than_tolerated(problem: Problem, tolerance: int) -> None:
    circuit, table, target = problem
    pruned = prune(circuit, table, target, tolerance=tolerance).circuit
    assert (pruned.predict(table) != circuit.predict(table)).sum() <= tolerance


@law
@given(problem=problems(), tolerance=st.floats(0, 1, exclude_max=True))
def test_no_more_r2_is_lost_than_tolerated(problem: Problem, tolerance: float) -> None:
    circuit, table, target = problem
    before = r2(circuit, table, target)
    assume(np.isfinite(before))
    curve = prune(circuit, table, target, tolerance=tolerance)
    after = r2(curve.circuit, table, target)
    assert after >= before - tolerance - 1e-6 * max(1.0, abs(before))


@law
@given(problem=problems(), tolerance=st.sampled_from([0, 2, 0.0, 0.1]))
def test_steps_shrink_and_report_their_circuits(problem: Problem, tolerance: float) -> None:
    circuit, table, target = problem
    curve = prune(circuit, table, target, tolerance=tolerance)
    sizes = [step.gate_operations for step in curve.steps]
    assert sizes[0] <= cost(circuit).gate_operations
    assert sizes[-1] == 0
    assert all(smaller < larger for larger, smaller in itertools.pairwise(sizes))
    assert curve.chosen in curve.steps
    assert_array_equal(curve.steps[0].circuit.predict(table), circuit.predict(table))
    for step in curve.steps:
        found, known = step.circuit.number_readout, circuit.number_readout
        assert (found.digits, found.link, found.name) == (known.digits, known.link, known.name)
        assert step.circuit == fold(step.circuit)
        assert step.gate_operations == cost(step.circuit).gate_operations
        changed = step.circuit.predict(table) != circuit.predict(table)
        assert step.n_changed == changed.sum()
        assert step.accuracy == pytest.approx(r2(step.circuit, table, target), rel=1e-6, abs=1e-6)
        assert set(step.circuit.literals) <= set(circuit.literals)


@law
@given(problem=problems(), tolerance=st.sampled_from([0, 3, 0.05]))
def test_the_same_input_gives_the_same_curve(problem: Problem, tolerance: float) -> None:
    circuit, table, target = problem
    first, second = (prune(circuit, table, target, tolerance=tolerance) for _ in range(2))
    assert first == second


@law
@given(problem=problems())
def test_a_pruned_circuit_is_not_pruned_further(problem: Problem) -> None:
    circuit, table, target = problem
    pruned = prune(circuit, table, target).circuit
    assume(pruned.rules)
    assert prune(pruned, table, target).circuit == pruned


@law
@given(problem=problems())
def test_a_move_saves_at_least_the_computed_amount(problem: Problem) -> None:
    circuit, table, _ = problem
    circuit = fold(circuit)
    bits = literal_bits(circuit.evaluate(table))
    before = cost(circuit).gate_operations
    points = [rule.votes for rule in circuit.rules]
    leaves = [0, *(bits[literal] for literal in circuit.literals)]
    net = Net(circuit.logic, circuit.readout.wires)
    values = net.evaluate(leaves, (1 << len(table)) - 1, int.__and__, int.__xor__)
    for move in find_moves(net, points, values, len(table)):
        if isinstance(move, Revote):
            saved = Savings(net, points, is_number=True).of_revoting(move)
            rules = list(circuit.rules)
            rules[move.place] = Rule(rules[move.place].wire, move.kept)
            readout = circuit.readout.with_rules(tuple(rules), circuit.base_votes)
            smaller = replace(circuit, readout=readout)
        else:
            changed = Net(circuit.logic, circuit.readout.wires)
            saved = Savings(changed, points, is_number=True).of_replacing(move)
            changed.replace(move.node, move.edge)
            smaller = changed.to_circuit(circuit.readout)
        assert cost(fold(smaller)).gate_operations <= before - saved


# -- what it finds --------------------------------------------------------------------------------


def steps_of(*points: int, link: Any = "identity") -> Circuit:
    """Make a circuit in which every tenth of x adds points, in tenths."""
    logic = Logic(
        (Column("x", "number"),),
        tuple(Above(0, 10.0 * (place + 1) - 0.5) for place in range(len(points))),
        (),
    )
    rules = tuple(Rule(place, (given,)) for place, given in enumerate(points))
    return Circuit(logic=logic, readout=Score(rules, (100,), 1, link, "price"))


LINE = np.arange(100.0)[:, None]


def test_a_rule_that_is_removed_leaves_its_mean_behind() -> None:
    circuit = steps_of(2, 50, 2)
    target = circuit.predict(LINE)
    curve = prune(circuit, LINE, target, tolerance=0.05)
    assert len(curve.circuit.rules) == 1
    assert curve.circuit.predict(LINE).mean() == pytest.approx(target.mean(), abs=0.06)
    assert curve.steps[-1].circuit.predict(LINE)[0] == pytest.approx(target.mean(), abs=0.06)
    assert curve.steps[-1].accuracy == pytest.approx(0, abs=0.01)


def test_a_log_link_keeps_the_sum_of_predictions() -> None:
    circuit = steps_of(1, 9, 1, link="log")
    target = circuit.predict(LINE) * np.random.default_rng(0).uniform(0.9, 1.1, 100)
    for step in prune(circuit, LINE, target, tolerance=0.1).steps[1:]:
        # Points are tenths, so a prediction is off by at most 5 %.
        assert step.circuit.predict(LINE).sum() == pytest.approx(target.sum(), rel=0.052)


def test_weights_count_in_r2() -> None:
    circuit = steps_of(5, 5, 5)
    target = LINE[:, 0] / 10
    weight = np.where(LINE[:, 0] < 50, 3.0, 1.0)
    curve = prune(circuit, LINE, target, sample_weight=weight)
    known = r2_score(target, circuit.predict(LINE), sample_weight=weight)
    assert curve.steps[0].accuracy == pytest.approx(known, abs=1e-6)


def test_the_table_shows_r2() -> None:
    text = str(prune(steps_of(2, 50, 2), LINE, LINE[:, 0], tolerance=0.01))
    assert text.splitlines()[0].split()[-2:] == ["changed", "R²"]
    assert text.endswith("Changes and R² are measured on the 100 rows given.")


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (np.zeros(100), {}, "the target is 0 in every row; R² needs at least two"),
        (["a"] * 100, {}, "expected numbers"),
        ([1.0], {}, "the table has 100 rows, but the target has 1"),
        (np.r_[np.nan, LINE[1:, 0]], {}, "the target is missing in 1 of 100 rows"),
    ],
)
def test_targets_that_do_not_fit_are_refused(target: Any, options: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        prune(steps_of(2), LINE, target, **options)


def test_class_weights_are_refused() -> None:
    with pytest.raises(OptionError, match="class_weight is for classes"):
        prune(steps_of(2), LINE, LINE[:, 0], class_weight={"a": 1.0})


def test_the_command_prunes_a_number(run: Run, tmp_path: Path) -> None:
    circuit = steps_of(2, 50, 2)
    circuit.save(tmp_path / "m.json")
    rows = "\n".join(f"{x:g},{y}" for x, y in zip(LINE[:, 0], circuit.predict(LINE), strict=True))
    (tmp_path / "t.csv").write_text(f"x,price\n{rows}\n")
    command = ("prune", "m.json", "t.csv", "-t", "price", "-o", "s.json", "--tolerance", "0.02")
    status, shown, said = run(*command)
    assert status == 0, said
    assert "<- chosen" in shown
    assert "R²" in shown.splitlines()[0]
    assert len(Circuit.load(tmp_path / "s.json").rules) == 1
    status, shown, _ = run(*command, "--json")
    assert '"r2": 1.0' in shown
