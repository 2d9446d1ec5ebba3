"""`calibrate`: base votes that are no less accurate, and probabilities that agree with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dln import Above, Circuit, Column, OptionError, Rule, TableError, calibrate, prove_equal, prune
from dln import simplify as simplify_circuit

COLUMNS = tuple(Column(name, "number") for name in "xyz")
CUTOFFS = (-1.0, -0.4, 0.0, 0.4, 1.0)
LITERALS = tuple(Above(column, cutoff) for column in (0, 1) for cutoff in CUTOFFS)


def make_circuit(n_classes: int, shift: int = 0, n_rules: int = 10) -> Circuit:
    """Make a circuit that adds up x and y in steps."""
    each = tuple(range(n_classes))
    base = tuple((n_classes - 1 - k) * 5 + shift * (k == 0) for k in each)
    rules = tuple(Rule(wire, each) for wire in range(n_rules))
    return Circuit(COLUMNS, LITERALS, (), rules, base, tuple("abcd"[:n_classes]))


def make_rows(n_classes: int, n_rows: int = 1200, seed: int = 0) -> tuple[Any, NDArray[np.str_]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    score = X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=n_rows)
    cuts = [0.5] if n_classes == 2 else np.linspace(-0.8, 1.2, n_classes - 1)
    return X, np.array(list("abcd"))[np.digitize(score, cuts)]


def recalls(circuit: Circuit, X: Any, y: NDArray[np.str_]) -> dict[str, float]:
    predicted = circuit.predict(X)
    return {label: float((predicted[y == label] == label).mean()) for label in np.unique(y)}


@given(
    n_classes=st.integers(2, 4),
    shift=st.integers(-8, 8),
    n_rules=st.integers(1, 10),
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_without_a_decision_accuracy_never_falls(
    n_classes: int, shift: int, n_rules: int, seed: int, weighted: bool
) -> None:
    circuit = make_circuit(n_classes, shift, n_rules)
    X, y = make_rows(n_classes, 150, seed)
    if len(np.unique(y)) < n_classes:
        return
    found = calibrate(circuit, X, y, class_weight="balanced" if weighted else None)
    if weighted:
        before, after = (np.mean([*recalls(c, X, y).values()]) for c in (circuit, found))
    else:
        before, after = ((c.predict(X) == y).mean() for c in (circuit, found))
    assert after >= before - 1e-12


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("shift", [-6, 0, 3])
def test_the_most_votes_mean_the_largest_probability_if_frequencies_are_those_of_the_weights(
    n_classes: int, shift: int
) -> None:
    X, y = make_rows(n_classes)
    for options in ({"probabilities": "balanced"}, {"class_weight": None}):
        found = calibrate(make_circuit(n_classes, shift), X, y, **options)  # type: ignore[arg-type]
        assert (found.predict_proba(X).argmax(axis=1) == found.winners(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties_become_rare_and_votes_stay_small(n_classes: int) -> None:
    circuit = make_circuit(n_classes)
    X, y = make_rows(n_classes)
    found = calibrate(circuit, X, y)

    def share(one: Circuit) -> float:
        top = np.sort(one.votes(X), axis=1)[:, -2:]
        return float((top[:, 0] == top[:, 1]).mean())

    assert share(circuit) > 0.05
    assert share(found) == 0.0
    assert {rule.votes for rule in found.rules} == {
        tuple(n_classes * vote for vote in rule.votes) for rule in circuit.rules
    }
    assert min(found.base_votes) == 0


@pytest.mark.parametrize("threshold", [0.05, 0.3, 1 / 3, 0.5, 0.9])
def test_a_threshold_is_a_probability(threshold: float) -> None:
    X, y = make_rows(2)
    found = calibrate(make_circuit(2), X, y, decision_threshold=threshold)
    second = found.predict_proba(X)[:, 1] >= threshold
    assert (found.winners(X) == second).all()
    plain = calibrate(make_circuit(2), X, y)
    assert np.abs(found.predict_proba(X) - plain.predict_proba(X)).max() < 0.08


def test_costs_of_two_classes_are_a_threshold() -> None:
    X, y = make_rows(2)
    costs = {("b", "a"): 4.0}
    by_costs = calibrate(make_circuit(2), X, y, costs=costs)
    assert by_costs == calibrate(make_circuit(2), X, y, costs=[[0, 1], [4, 0]])
    assert by_costs == calibrate(make_circuit(2), X, y, decision_threshold=0.2)


def test_costs_of_more_classes_are_lower_than_without() -> None:
    X, y = make_rows(3)
    costs = np.array([[0, 1, 2], [1, 0, 1], [20, 9, 0]])
    true = np.searchsorted(list("abc"), y)

    def cost(circuit: Circuit) -> float:
        return float(costs[true, circuit.winners(X)].mean())

    plain = calibrate(make_circuit(3), X, y)
    assert cost(calibrate(make_circuit(3), X, y, costs=costs)) < 0.95 * cost(plain)


@pytest.mark.parametrize(("n_classes", "label"), [(2, "a"), (2, "b"), (3, "b"), (3, "c")])
def test_an_asked_sensitivity_is_reached(n_classes: int, label: str) -> None:
    X, y = make_rows(n_classes)
    found = calibrate(make_circuit(n_classes), X, y, sensitivity_at_least={label: 0.95})
    assert recalls(found, X, y)[label] >= 0.95
    # No more than needed: the others are still found.
    assert n_classes > 2 or min(recalls(found, X, y).values()) > 0.3


def test_sensitivities_that_exclude_each_other_are_refused() -> None:
    X, y = make_rows(2)
    with pytest.raises(OptionError, match=r"only .* can be reached"):
        calibrate(make_circuit(2), X, y, sensitivity_at_least={"a": 0.99, "b": 0.99})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decision_threshold": 0.5, "costs": [[0, 1], [1, 0]]}, "give only one"),
        ({"decision_threshold": 1.5}, "between 0 and 1"),
        ({"costs": [[0, 1]]}, "shape"),
        ({"costs": "high"}, "expected a matrix"),
        ({"costs": [[1, 1], [1, 0]]}, "must cost more"),
        ({"costs": {("a", "z"): 1}}, "'z'"),
        ({"costs": {"a": 1}}, "pair"),
        ({"costs": {("a", "b"): -1}}, "at least 0"),
        ({"sensitivity_at_least": {"z": 0.9}}, "'z'"),
        ({"sensitivity_at_least": {}}, "expected a number"),
        ({"sensitivity_at_least": 0}, "between 0 and 1"),
    ],
)
def test_bad_decisions_are_refused(options: dict[str, Any], message: str) -> None:
    X, y = make_rows(2, 50)
    with pytest.raises(OptionError, match=message):
        calibrate(make_circuit(2), X, y, **options)


def test_a_threshold_needs_two_classes_and_a_table_two_of_them() -> None:
    X, y = make_rows(3, 60)
    with pytest.raises(OptionError, match="needs 2 classes"):
        calibrate(make_circuit(3), X, y, decision_threshold=0.5)
    with pytest.raises(OptionError, match="name the class"):
        calibrate(make_circuit(3), X, y, sensitivity_at_least=0.9)
    with pytest.raises(TableError, match="one class"):
        calibrate(make_circuit(3), X, ["a"] * 60)


def test_simplify_keeps_the_table_and_prune_fits_it_again() -> None:
    X, y = make_rows(2)
    circuit = calibrate(make_circuit(2), X, y)
    assert simplify_circuit(circuit, "quick").calibration == circuit.calibration
    curve = prune(circuit, X, y, tolerance=0.02)
    assert curve.steps[0].circuit.calibration == circuit.calibration
    smaller = curve.circuit
    assert len(smaller.rules) < len(circuit.rules)
    assert smaller.calibration is not None
    true = (y == "b").astype(int)
    losses = [
        -np.log(one.predict_proba(X)[np.arange(len(y)), true]).mean() for one in (smaller, circuit)
    ]
    assert losses[0] < losses[1] + 0.1


def test_other_probabilities_are_not_proven_equal() -> None:
    X, y = make_rows(2)
    circuit = calibrate(make_circuit(2), X, y)
    other = calibrate(make_circuit(2), *make_rows(2, seed=1))
    assert prove_equal(circuit, simplify_circuit(circuit, "quick"))
    from dln.errors import CircuitError

    with pytest.raises(CircuitError, match="calibrations"):
        prove_equal(circuit, other)
