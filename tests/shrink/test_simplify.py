"""Simplification keeps the vote differences, never raises the cost, and is idempotent."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dln import (
    Above,
    Among,
    Circuit,
    Column,
    DLNClassifier,
    ExtraMissingError,
    Missing,
    OptionError,
    Proof,
    cost,
    prove_equal,
    simplify,
)
from dln.costs.circuit import gate_operations
from dln.estimators import classifier
from dln.prove.clock import Clock
from dln.shrink.simplify.claims import Limits
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.observe import replace_unseen
from dln.shrink.simplify.simplify import _last_proven, size
from dln.shrink.simplify.sweep import merge_equal
from dln.shrink.simplify.synthesis import resubstitute, rewrite_cuts
from dln.shrink.simplify.votes import cancel_votes
from tests.support.provable import (
    BOOLEAN,
    HUE,
    INTEGER,
    NUMBER,
    Wires,
    alike_on_all_rows,
    chain,
    circuit_of,
    multiplier,
    n_atom_rows,
    numbers,
    parity,
    rewritten,
)
from tests.support.strategies import circuits, law, logic_circuits

Pass = Callable[[Circuit], Circuit]
NO_SOLVER = Limits(conflicts=0)
PASSES: dict[str, Pass] = {
    "fold": fold,
    "cancel_votes": cancel_votes,
    "merge_equal": merge_equal,
    "merge_equal without a solver": partial(merge_equal, limits=NO_SOLVER),
    "merge_equal by SAT": partial(merge_equal, limits=Limits(rows=0)),
    "replace_unseen": replace_unseen,
    "replace_unseen without a solver": partial(replace_unseen, limits=NO_SOLVER),
    "replace_unseen by SAT": partial(replace_unseen, limits=Limits(rows=0)),
    "resubstitute": resubstitute,
}
every_pass = pytest.mark.parametrize("step", PASSES.values(), ids=PASSES)


# -- laws -------------------------------------------------------------------------------------


@every_pass
@law
@given(circuit=circuits())
def test_a_pass_keeps_the_vote_differences_on_every_row(step: Pass, circuit: Circuit) -> None:
    assume(n_atom_rows(circuit, circuit) <= 20_000)
    assert alike_on_all_rows(circuit, step(circuit))


@every_pass
@law
@given(circuit=logic_circuits())
def test_a_pass_keeps_the_vote_differences_of_pure_logic(step: Pass, circuit: Circuit) -> None:
    assert alike_on_all_rows(circuit, step(circuit))


@pytest.mark.parametrize("name", PASSES)
@law
@given(circuit=circuits())
def test_a_pass_never_raises_the_cost(name: str, circuit: Circuit) -> None:
    folded = fold(circuit)
    assert cost(folded).gate_operations <= cost(circuit).gate_operations
    smaller = PASSES[name](folded)
    if name == "resubstitute":  # it may lose an XOR; `simplify` then keeps the smaller circuit
        smaller = min(smaller, folded, key=size)
    assert cost(smaller).gate_operations <= cost(folded).gate_operations


@pytest.mark.parametrize("effort", ["quick", "normal", "high"])
@law
@given(data=st.data())
def test_simplify_is_proven_and_never_raises_the_cost_and_is_idempotent(
    effort: Any, data: st.DataObject
) -> None:
    circuit = data.draw(circuits())
    assume(n_atom_rows(circuit, circuit) <= 20_000)
    smaller = simplify(circuit, effort)
    assert alike_on_all_rows(circuit, smaller)
    assert isinstance(smaller.proof, Proof)
    assert cost(smaller).gate_operations <= cost(circuit).gate_operations
    assert simplify(smaller, effort) == smaller
    assert simplify(circuit, effort) == smaller


@law
@given(data=st.data())
def test_a_rewritten_circuit_comes_down_to_at_most_the_size_of_the_first(
    data: st.DataObject,
) -> None:
    circuit = data.draw(logic_circuits())
    longer = data.draw(rewritten(circuit))
    assert bool(prove_equal(simplify(longer), circuit))
    assert cost(simplify(longer)).gate_operations <= cost(longer).gate_operations


@law
@given(circuit=logic_circuits(max_literals=4, max_gates=8))
def test_the_logic_is_never_larger_than_what_sympy_makes_of_a_rule(circuit: Circuit) -> None:
    sympy = pytest.importorskip("sympy")
    for rule in circuit.rules[:2]:
        single = Circuit(
            circuit.columns, circuit.literals, circuit.nodes, (rule,), (0,) * circuit.n_classes,
            circuit.classes,
        )  # fmt: skip
        expression = sympy.simplify_logic(rule.to_sympy(circuit), force=True)
        assert cost(simplify(single)).logic.gate_operations <= _operations(expression)


def _operations(expression: Any) -> int:
    """Count the gate-level operations of a SymPy expression, as in the paper."""
    if not expression.args or expression.is_Relational:
        return 0
    below = sum(_operations(part) for part in expression.args)
    each = {"And": 1, "Or": 1, "Xor": 3, "Not": 0}[type(expression).__name__]
    return below + each * (len(expression.args) - 1)


@settings(law, max_examples=12)  # the library takes a fifth of a second to set up
@given(circuit=logic_circuits())
def test_rewriting_cuts_keeps_the_vote_differences(circuit: Circuit) -> None:
    assert alike_on_all_rows(circuit, rewrite_cuts(circuit))


# -- what the columns imply ---------------------------------------------------------------------


def names(circuit: Circuit) -> list[str]:
    return [literal.describe(circuit.columns) for literal in circuit.literals]


def single(columns: Any, literals: Any, build: Callable[[Wires], None]) -> Circuit:
    wires = Wires(len(literals))
    build(wires)
    return circuit_of(columns, literals, wires.nodes)


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_order_between_cutoffs(effort: Any) -> None:
    both = single(NUMBER, [Above(0, 3.0), Above(0, 5.0)], lambda w: w.gate("AND", 0, 1))
    either = single(NUMBER, [Above(0, 3.0), Above(0, 5.0)], lambda w: w.gate("OR", 0, 1))
    assert names(simplify(both, effort)) == ["x > 5"]
    assert names(simplify(either, effort)) == ["x > 3"]


def test_an_xor_of_cutoffs_in_order_costs_one() -> None:
    between = single(NUMBER, [Above(0, 3.0), Above(0, 5.0)], lambda w: w.gate("XOR", 0, 1))
    assert cost(simplify(between)).logic.gate_operations == 1


def test_a_value_has_one_category() -> None:
    never = single(HUE, [Among(0, (0,)), Among(0, (1,))], lambda w: w.gate("AND", 0, 1))
    assert simplify(never).rules == ()
    differ = single(HUE, [Among(0, (0,)), Among(0, (1,))], lambda w: w.gate("XOR", 0, 1))
    assert [gate_operations(node.gate) for node in simplify(differ).nodes] == [1]


def test_a_missing_value_fails_every_threshold() -> None:
    never = single(NUMBER, [Above(0, 3.0), Missing(0)], lambda w: w.gate("AND", 0, 1))
    assert simplify(never).rules == ()


def test_cutoffs_between_the_same_integers_are_one() -> None:
    twice = circuit_of(INTEGER, [Above(0, 3.2), Above(0, 3.7)], votes={0: (0, 1), 1: (0, 1)})
    assert len(simplify(twice).literals) == 1
    assert simplify(twice).rules[0].votes == (0, 2)
    other = circuit_of(NUMBER, [Above(0, 3.2), Above(0, 3.7)], votes={0: (0, 1), 1: (0, 1)})
    assert len(simplify(other).literals) == 2
    always = circuit_of(BOOLEAN, [Above(0, 7.0)])
    assert simplify(always).rules == ()


def test_a_part_that_matters_only_where_its_value_is_known_is_removed() -> None:
    columns = [NUMBER, Column("y", "boolean")]
    literals = [Above(0, 3.0), Above(0, 5.0), Above(1, 0.5)]

    def build(wires: Wires) -> None:
        wires.gate("AND", 1, wires.gate("OR", 0, 2))

    assert names(simplify(single(columns, literals, build), "quick")) == ["x > 5"]


def test_votes_that_all_classes_share_are_removed() -> None:
    circuit = circuit_of(NUMBER, [Above(0, 1.0)], votes={0: (2, 3)}, base=(4, 4))
    smaller = simplify(circuit)
    assert smaller.rules[0].votes == (0, 1)
    assert smaller.base_votes == (0, 0)


@law
@given(circuit=circuits())
def test_negative_votes_are_never_introduced(circuit: Circuit) -> None:
    votes = [vote for rule in circuit.rules for vote in (*rule.votes, *circuit.base_votes)]
    assume(all(vote >= 0 for vote in votes))
    smaller = simplify(circuit)
    assert all(vote >= 0 for rule in smaller.rules for vote in rule.votes)


def test_a_rule_and_its_negation_with_the_same_votes_are_a_constant() -> None:
    wires = Wires(1)
    wires.gate("NOT_A", 0, 0)
    circuit = circuit_of(NUMBER, [Above(0, 1.0)], wires.nodes, votes={0: (0, 1), 1: (0, 1)})
    assert simplify(circuit).rules == ()
    assert simplify(circuit).base_votes == (0, 1)


# -- hard and odd circuits ----------------------------------------------------------------------


def test_circuits_without_votes_literals_or_gates() -> None:
    for circuit in (
        circuit_of(NUMBER, [Above(0, 1.0)], votes={}),
        circuit_of(NUMBER, [], votes={}, base=(2, 3)),
        circuit_of(NUMBER, [Above(0, 1.0)], votes={0: (0, 0)}),
    ):
        smaller = simplify(circuit)
        assert smaller.rules == ()
        assert smaller.literals == ()
    assert simplify(circuit_of(NUMBER, [Above(0, 1.0)])).n_literals == 1


def test_a_deep_chain_is_simplified() -> None:
    columns, literals = numbers(3)
    wires = Wires(3)
    wire = 0
    for place in range(10_000):
        wire = wires.gate("XOR" if place % 2 else "NAND", wire, place % 3)
    circuit = circuit_of(columns, literals, wires.nodes)
    smaller = simplify(circuit, prove=False)
    rows = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_array_equal(circuit.votes(rows), smaller.votes(rows))
    assert smaller.n_gates < 30


def test_thousands_of_literals() -> None:
    circuit = chain(["AND", "OR"] * 1_000, list(range(2_001)))
    smaller = simplify(circuit, time_limit=None)
    assert isinstance(smaller.proof, Proof)
    assert cost(smaller).gate_operations <= cost(circuit).gate_operations


def test_without_time_the_given_circuit_is_returned_with_its_proof() -> None:
    circuit = parity(20, range(20))
    same = simplify(circuit, time_limit=0.0)
    assert same == circuit
    assert same.proof is not None
    assert same.proof.method == "structure"


def test_a_circuit_that_is_not_proven_in_time_is_not_returned() -> None:
    # A pass may be right and its proof too hard: then an earlier, proven circuit is the result.
    first, second = multiplier(8), multiplier(8, swapped=True)
    result = _last_proven(first, [first, second], Clock(0.0))
    assert result == first
    assert result.proof is not None
    assert result.proof.method == "structure"


def test_an_unknown_effort_is_refused() -> None:
    with pytest.raises(OptionError, match="effort is 'much', expected one of 'auto', 'quick'"):
        simplify(circuit_of(NUMBER, [Above(0, 1.0)]), "much")  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [-1, math.nan, "5", True])
def test_an_invalid_time_limit_is_refused(limit: Any) -> None:
    with pytest.raises(OptionError, match=r"time_limit is .*, expected seconds of at least 0"):
        simplify(circuit_of(NUMBER, [Above(0, 1.0)]), time_limit=limit)


def test_other_types_than_circuits_are_refused() -> None:
    with pytest.raises(OptionError, match="takes a Circuit, not a DLNClassifier; give the circuit"):
        simplify(DLNClassifier())  # type: ignore[arg-type]


@pytest.mark.parametrize(("module", "package"), [("aigverse", "aigverse"), ("pysat", "python-sat")])
@pytest.mark.parametrize("effort", ["normal", "high"])
def test_a_missing_package_is_reported_before_the_fit(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str, effort: Any
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(classifier, "fit_circuit", None)  # a fit would fail
    message = f"effort '{effort}' requires {package}; install with: pip install {package}$"
    with pytest.raises(ExtraMissingError, match=message):
        DLNClassifier(simplify=effort).fit([[0.0], [1.0]], [0, 1])


# -- with the estimator ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] > 0) ^ (X[:, 2] > 1)


@pytest.mark.parametrize("effort", ["quick", "normal", "high"])
def test_a_fit_gives_a_smaller_circuit_with_the_same_predictions(effort: Any, table: Any) -> None:
    X, y = table
    parameters: dict[str, Any] = {"random_state": 0, "layers": (48, 24), "tau": 2.0}
    plain = DLNClassifier(simplify=None, **parameters).fit(X, y)
    small = DLNClassifier(simplify=effort, **parameters).fit(X, y)
    assert bool(prove_equal(plain.circuit_, small.circuit_))
    assert cost(small.circuit_).gate_operations < cost(plain.circuit_).gate_operations
    np.testing.assert_allclose(plain.predict_proba(X), small.predict_proba(X))
    assert (small.circuit_.proof is not None) is (effort != "quick")


# -- SymPy ----------------------------------------------------------------------------------------


@law
@given(circuit=logic_circuits())
def test_a_rule_in_sympy_is_true_where_the_rule_is(circuit: Circuit) -> None:
    sympy = pytest.importorskip("sympy")
    rng = np.random.default_rng(0)
    for rule in circuit.rules:
        single = Circuit(circuit.columns, circuit.literals, circuit.nodes, (rule,),
                         (0,) * circuit.n_classes, circuit.classes)  # fmt: skip
        expression = rule.to_sympy(circuit)
        for row in rng.integers(0, 2, (4, len(circuit.columns))):
            values = {}
            for column, cell in zip(circuit.columns, row, strict=True):
                values[sympy.Symbol(column.name, real=True)] = int(cell)
                values[sympy.Symbol(column.name)] = bool(cell)
            expected = single.votes([row.tolist()])[0].any()
            assert bool(expression.subs(values)) == expected or not any(rule.votes)
