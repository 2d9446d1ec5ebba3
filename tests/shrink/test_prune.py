"""Pruning stays within its tolerance, makes nothing larger and reports what it measured."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Column
from dln.core.parts import Rule
from dln.costs.circuit import cost
from dln.errors import CircuitError, MissingColumnError, OptionError, TableError
from dln.shrink.prune.curve import PruneCurve
from dln.shrink.prune.moves import Replace, find_moves
from dln.shrink.prune.prune import prune
from dln.shrink.prune.rows import literal_bits
from dln.shrink.prune.saving import Savings
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.net import Net
from dln.shrink.simplify.votes import lower_base
from tests.support.strategies import (
    as_pandas,
    as_rows,
    circuits,
    every_row,
    law,
    logic_circuits,
    rows_for,
)

AND = GATE_BY_NAME["AND"]
MOST_POINTS = 20

Problem = tuple[Circuit, Any, list[Any]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a circuit with a table that fits it and labels that it knows."""
    if draw(st.booleans()):
        circuit = draw(logic_circuits().filter(_has_rules))
        table: Any = every_row(circuit)
        table = table[draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=40))]
    else:
        circuit = draw(circuits().filter(_has_rules))
        rows = draw(rows_for(circuit, max_rows=20))
        assume(rows)
        table = as_rows(circuit, rows)
    labels = st.lists(st.sampled_from(circuit.classes), min_size=len(table), max_size=len(table))
    return circuit, table, draw(labels)


def _has_rules(circuit: Circuit) -> bool:
    return bool(circuit.rules and circuit.literals)


def n_changed(circuit: Circuit, other: Circuit, table: Any) -> int:
    return int((circuit.winners(table) != other.winners(table)).sum())


def balanced(circuit: Circuit, table: Any, labels: list[Any]) -> float:
    """Compute the balanced accuracy: the mean recall of the classes that occur."""
    target = np.array([circuit.classes.index(label) for label in labels])
    right = circuit.winners(table) == target
    return float(np.mean([right[target == number].mean() for number in np.unique(target)]))


@law
@given(problem=problems())
def test_without_tolerance_no_prediction_changes(problem: Problem) -> None:
    circuit, table, labels = problem
    assert_array_equal(prune(circuit, table, labels).circuit.winners(table), circuit.winners(table))


@law
@given(problem=problems(), tolerance=st.integers(0, 10))
def test_no_more_predictions_change_than_tolerated(problem: Problem, tolerance: int) -> None:
    circuit, table, labels = problem
    curve = prune(circuit, table, labels, tolerance=tolerance)
    assert n_changed(circuit, curve.circuit, table) <= tolerance


@law
@given(problem=problems(), tolerance=st.floats(0, 1, exclude_max=True))
def test_no_more_accuracy_is_lost_than_tolerated(problem: Problem, tolerance: float) -> None:
    circuit, table, labels = problem
    curve = prune(circuit, table, labels, tolerance=tolerance)
    before, after = (balanced(c, table, labels) for c in (circuit, curve.circuit))
    assert after >= before - tolerance - 1e-6  # weights of rows are float32


@law
@given(problem=problems(), tolerance=st.sampled_from([0, 2, 0.0, 0.1]))
def test_steps_shrink_and_report_the_changes_and_accuracy_of_their_circuits(
    problem: Problem, tolerance: float
) -> None:
    circuit, table, labels = problem
    curve = prune(circuit, table, labels, tolerance=tolerance)
    sizes = [step.gate_operations for step in curve.steps]
    assert sizes[0] <= cost(circuit).gate_operations
    assert all(smaller < larger for larger, smaller in itertools.pairwise(sizes))
    assert len(curve.steps) <= MOST_POINTS
    assert curve.chosen in curve.steps
    for step in curve.steps:
        assert step.circuit == fold(step.circuit)
        assert step.gate_operations == cost(step.circuit).gate_operations
        assert step.n_changed == n_changed(circuit, step.circuit, table)
        assert step.accuracy == pytest.approx(balanced(step.circuit, table, labels), abs=1e-6)
        assert set(step.circuit.literals) <= set(circuit.literals)
        assert (step.circuit.columns, step.circuit.classes, step.circuit.temperature) == (
            circuit.columns,
            circuit.classes,
            circuit.temperature,
        )


@law
@given(problem=problems(), tolerance=st.sampled_from([0, 3, 0.05]))
def test_base_votes_common_to_all_classes_are_removed(problem: Problem, tolerance: float) -> None:
    circuit, table, labels = problem
    for step in prune(circuit, table, labels, tolerance=tolerance).steps:
        base = step.circuit.base_votes
        assert min(base) <= 0 <= max(base)
        given = [circuit.base_votes, *(rule.votes for rule in circuit.rules)]
        if all(vote >= 0 for votes in given for vote in votes):
            assert min(base) == 0


@law
@given(problem=problems(), more=st.integers(-9, 9))
def test_base_votes_common_to_all_classes_have_no_effect(problem: Problem, more: int) -> None:
    circuit, table, _ = problem
    raised = replace(circuit, base_votes=tuple(vote + more for vote in circuit.base_votes))
    lowered = lower_base(raised)
    assert min(lowered.base_votes) <= 0 <= max(lowered.base_votes)
    # Not always equal to lower_base(circuit): that depends on the signs of the base votes.
    assert len(set(np.subtract(lowered.base_votes, circuit.base_votes).tolist())) == 1
    assert lower_base(lowered) == lowered
    assert_array_equal(lowered.winners(table), circuit.winners(table))
    assert_array_equal(lowered.predict_proba(table), circuit.predict_proba(table))


def test_rules_that_become_constant_leave_no_common_base_votes() -> None:
    # Column a is true on every row, so its rule becomes constant votes: 6 and 7.
    columns = tuple(Column(name, "boolean") for name in "abc")
    circuit = Circuit(
        columns=columns,
        literals=tuple(Above(number, 0.5) for number in range(3)),
        nodes=(),
        rules=(Rule(0, (6, 7)), Rule(1, (0, 2)), Rule(2, (1, 0))),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )
    rows = [[True, b, c] for b in (True, False) for c in (True, False)]
    curve = prune(circuit, rows, circuit.predict(rows))
    assert [min(step.circuit.base_votes) for step in curve.steps] == [0] * len(curve.steps)


@law
@given(problem=problems(), tolerance=st.sampled_from([0, 3, 0.05]))
def test_the_same_input_gives_the_same_curve(problem: Problem, tolerance: float) -> None:
    circuit, table, labels = problem
    assert prune(circuit, table, labels, tolerance=tolerance) == prune(
        circuit, table, labels, tolerance=tolerance
    )


@law
@given(problem=problems())
def test_a_pruned_circuit_is_not_pruned_further(problem: Problem) -> None:
    circuit, table, labels = problem
    pruned = prune(circuit, table, labels).circuit
    assume(pruned.rules)
    assert prune(pruned, table, labels).circuit == pruned


@law
@given(problem=problems())
def test_the_curve_ends_with_a_circuit_that_reads_nothing(problem: Problem) -> None:
    circuit, table, labels = problem
    assert prune(circuit, table, labels).steps[-1].gate_operations == 0


@law
@given(problem=problems())
def test_a_move_saves_at_least_the_computed_amount(problem: Problem) -> None:
    circuit, table, _ = problem
    circuit = fold(circuit)
    bits = literal_bits(circuit.evaluate(table))
    n_rows = len(table)
    before = cost(circuit).gate_operations
    votes = [rule.votes for rule in circuit.rules]
    leaves = [0, *(bits[literal] for literal in circuit.literals)]
    net = Net(circuit.logic, circuit.readout.wires)
    values = net.evaluate(leaves, (1 << n_rows) - 1, int.__and__, int.__xor__)
    for move in find_moves(net, votes, values, n_rows):
        if isinstance(move, Replace):
            saved = Savings(Net(circuit.logic, circuit.readout.wires), votes).of_replacing(move)
            changed = Net(circuit.logic, circuit.readout.wires)
            changed.replace(move.node, move.edge)
            assert cost(fold(changed.to_circuit(circuit.readout))).gate_operations <= before - saved
        else:
            saved = Savings(net, votes).of_revoting(move)
            rules = list(circuit.rules)
            rules[move.place] = Rule(rules[move.place].wire, move.kept)
            fewer = Circuit(
                circuit.columns,
                circuit.literals,
                circuit.nodes,
                tuple(rules),
                circuit.base_votes,
                circuit.classes,
            )
            assert cost(fold(fewer)).gate_operations <= before - saved


# -- what it finds ------------------------------------------------------------------------------


def cutoffs(*values: float) -> Circuit:
    """Make a circuit in which every cutoff of one column gives class 1 a vote."""
    return Circuit(
        columns=(Column("x", "number"),),
        literals=tuple(Above(0, value) for value in values),
        nodes=(),
        rules=tuple(Rule(wire, (0, 1)) for wire in range(len(values))),
        base_votes=(len(values) // 2, 0),
        classes=("no", "yes"),
    )


LINE = np.arange(100.0)[:, None]
LINE_CLASSES = np.where(LINE[:, 0] > 50, "yes", "no")


def test_similar_cutoffs_are_merged() -> None:
    curve = prune(cutoffs(40.5, 45.5, 50.5, 55.5, 60.5), LINE, LINE_CLASSES)
    assert curve.circuit.literals == (Above(0, 50.5),)
    assert curve.chosen.n_changed == 0
    assert curve.chosen.accuracy == 1


def test_a_tolerated_loss_of_accuracy_may_change_predictions_that_were_wrong() -> None:
    # Rows 41 to 50 are predicted wrongly; with the cutoff at 50.5 alone they would be right.
    circuit = cutoffs(40.5, 40.25, 50.5)
    assert prune(circuit, LINE, LINE_CLASSES, tolerance=0).chosen.n_changed == 0
    assert prune(circuit, LINE, LINE_CLASSES, tolerance=0.0).chosen.accuracy >= 0.9


def test_rows_of_weight_zero_do_not_count_in_the_accuracy() -> None:
    circuit = cutoffs(20.5, 50.5, 60.5)
    weight = (LINE[:, 0] > 55).astype(float)
    curve = prune(circuit, LINE, LINE_CLASSES, sample_weight=weight, class_weight=None)
    right = circuit.predict(LINE) == LINE_CLASSES
    assert curve.steps[0].accuracy == pytest.approx(np.average(right, weights=weight))


def test_balanced_accuracy_equals_scikit_learns() -> None:
    circuit = cutoffs(20.5, 30.5, 60.5)
    step = prune(circuit, LINE, LINE_CLASSES).steps[0]
    known = balanced_accuracy_score(LINE_CLASSES, circuit.predict(LINE))
    assert step.accuracy == pytest.approx(known, abs=1e-6)


def test_frames_and_labels_of_dates_are_read_as_in_prediction() -> None:
    days = (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
    circuit = Circuit(
        (Column("x", "number"),), (Above(0, 1.0),), (), (Rule(0, (0, 1)),), (0, 0), days
    )
    frame = as_pandas(circuit, [[0.0], [2.0]])
    assert prune(circuit, frame, list(days)).chosen.accuracy == 1


# -- choosing -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curve() -> PruneCurve:
    values = [float(value) for value in range(5, 100, 7)]
    noise = np.random.default_rng(0).random(100) < 0.1
    target: NDArray[Any] = np.where(noise ^ (LINE[:, 0] > 50), "yes", "no")
    return prune(cutoffs(*values), LINE, target)


def test_bounds_on_the_loss_choose_the_smallest_circuit(curve: PruneCurve) -> None:
    step = curve.at(max_changed=curve.steps[2].n_changed)
    assert step.n_changed <= curve.steps[2].n_changed
    assert step.gate_operations <= curve.steps[2].gate_operations
    assert curve.at(min_accuracy=0.0) == curve.steps[-1]
    assert curve.at(max_changed=0) == curve.chosen


def test_a_bound_on_the_size_chooses_the_most_accurate_circuit(curve: PruneCurve) -> None:
    step = curve.at(max_gate_operations=curve.steps[1].gate_operations)
    assert step.accuracy == max(other.accuracy for other in curve.steps[1:])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "no bound is given; expected one of max_changed, min_accuracy"),
        ({"min_accuracy": 1.5}, r"no step of the curve has min_accuracy=1\.5; see print"),
    ],
)
def test_bounds_that_cannot_be_met_are_refused(
    curve: PruneCurve, bounds: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        curve.at(**bounds)


def test_the_printed_table_marks_the_chosen_step(curve: PruneCurve) -> None:
    lines = str(curve).splitlines()
    assert lines[0].split() == [
        "gate",
        "operations",
        "literals",
        "gates",
        "rules",
        "changed",
        "balanced",
        "accuracy",
    ]
    assert [line.endswith("<- chosen") for line in lines[1:-1]] == [
        step == curve.chosen for step in curve.steps
    ]
    assert "100 rows given" in lines[-1]


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        ({}, "balanced accuracy"),
        ({"class_weight": None}, "accuracy"),
        ({"class_weight": {"no": 1, "yes": 2}}, "weighted accuracy"),
        ({"class_weight": None, "sample_weight": np.ones(100)}, "weighted accuracy"),
    ],
)
def test_the_table_names_the_accuracy_that_it_shows(options: dict[str, Any], measure: str) -> None:
    target = np.where(LINE[:, 0] > 50, "yes", "no")
    header = str(prune(cutoffs(50.5), LINE, target, **options)).splitlines()[0]
    assert header.endswith(f"changed  {measure}")


# -- bad input ------------------------------------------------------------------------------------

ONE = cutoffs(50.5)


@pytest.mark.parametrize("tolerance", [-1, 1.0, -0.1, float("nan"), True, "1", None])
def test_a_tolerance_out_of_range_is_refused(tolerance: Any) -> None:
    with pytest.raises(OptionError, match=r"tolerance is .*, expected an integer of at least 0"):
        prune(ONE, LINE, LINE_CLASSES, tolerance=tolerance)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (np.zeros((0, 1)), [], TableError, "the table has 0 rows; pruning needs rows"),
        (np.zeros((2, 3)), ["no", "no"], TableError, "the table has 3 columns"),
        (LINE, ["no"], TableError, "the table has 100 rows, but the target has 1"),
        (LINE[:2], ["no", "maybe"], TableError, "the target holds 'maybe', but the circuit's cl"),
        (LINE[:2], ["no", None], TableError, "the target is missing in row 1"),
        (LINE[:2], [["no"] * 2] * 2, TableError, "the target has 2 dimensions, expected 1"),
        (LINE[:2], None, TableError, "the target y is None"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    X: Any, y: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        prune(ONE, X, y)


def test_a_frame_without_a_column_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(MissingColumnError, match=r"the circuit reads \['x'\]"):
        prune(ONE, pandas.DataFrame({"z": [1.0]}), ["no"])


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TableError, match="sample_weight cannot be used"):
        prune(ONE, LINE, LINE_CLASSES, sample_weight=[1.0])
    with pytest.raises(OptionError, match="class_weight is 'even'"):
        prune(ONE, LINE, LINE_CLASSES, class_weight="even")  # type: ignore[arg-type]


def test_an_empty_circuit_and_other_objects_are_refused() -> None:
    with pytest.raises(OptionError, match=r"prune takes a Circuit, not a str; give the circuit_"):
        prune("heart.json", LINE, LINE_CLASSES)  # type: ignore[arg-type]
    empty = Circuit(ONE.columns, ONE.literals, (), (), (0, 0), ONE.classes)
    with pytest.raises(CircuitError, match="the circuit has no rules; there is nothing to prune"):
        prune(empty, LINE, LINE_CLASSES)
