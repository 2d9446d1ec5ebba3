"""Costs add up, never rise when a circuit is folded, and agree with counts by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, GATES
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.parts import Node, Rule
from dln.costs.arithmetic import FLOATS, addition, comparison, division, equality, multiplication
from dln.costs.baselines import COUNTED_MODELS, cost_of_model
from dln.costs.circuit import cost, gate_operations
from dln.costs.report import Cost, PartCost
from dln.errors import OptionError
from dln.shrink.simplify.fold import fold
from tests.support.strategies import circuits, law

FIGURES = ("operations", "gate_operations", "parameters", "bytes")
WIDTHS = [(16, 16), (64, 8), (32, 64)]
COLUMNS = (
    Column("dose", "number"),
    Column("age", "integer"),
    Column("smoker", "boolean"),
    Column("seen", "date"),
    Column("ward", "category", ("a", "b", "c", "d")),
)


def circuit_of(
    literals: tuple[Literal, ...] = (),
    nodes: tuple[Node, ...] = (),
    rules: tuple[Rule, ...] = (),
    base_votes: tuple[int, ...] = (0, 0),
) -> Circuit:
    return Circuit(COLUMNS, literals, nodes, rules, base_votes, ("healthy", "ill"))


# -- laws ---------------------------------------------------------------------------------------


@law
@given(circuit=circuits())
def test_the_parts_add_up_to_the_total(circuit: Circuit) -> None:
    counted = cost(circuit)
    for figure in (*FIGURES, "values", "indices"):
        parts = [counted.feature_tests, counted.logic, counted.class_sums]
        assert getattr(counted, figure) == sum(getattr(part, figure) for part in parts)
    assert counted.arithmetic == PartCost()
    assert counted.parameters == counted.values + counted.indices


@law
@given(circuit=circuits())
def test_sixteen_bits_take_two_bytes_a_parameter(circuit: Circuit) -> None:
    counted = cost(circuit)
    assert counted.bytes == 2 * counted.parameters


@pytest.mark.parametrize(("float_bits", "int_bits"), WIDTHS)
@law
@given(circuit=circuits())
def test_folding_never_raises_the_cost(float_bits: int, int_bits: int, circuit: Circuit) -> None:
    before, after = (cost(c, float_bits, int_bits) for c in (circuit, fold(circuit)))
    for name, part in after.parts.items():
        for figure in FIGURES:
            assert getattr(part, figure) <= getattr(before.parts[name], figure), (name, figure)


@law
@given(circuit=circuits())
def test_wider_numbers_never_cost_less(circuit: Circuit) -> None:
    narrow, wide = cost(circuit, 16, 16), cost(circuit, 64, 32)
    assert narrow.operations == wide.operations
    assert narrow.gate_operations <= wide.gate_operations
    assert narrow.bytes <= wide.bytes


@law
@given(circuit=circuits())
def test_negations_copies_and_constants_are_free(circuit: Circuit) -> None:
    free = [gate for gate in GATES if not (gate.reads_a and gate.reads_b)]
    more = tuple(Node(gate, 0, 0) for gate in free) if circuit.literals else ()
    assert cost(replace(circuit, nodes=(*circuit.nodes, *more))) == cost(circuit)


# -- circuits by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (Above(0, 1.5), PartCost(1, 183, values=1, indices=1, bytes=4)),
        (Above(1, 54.0), PartCost(1, 183, values=1, indices=1, bytes=4)),
        (Above(3, 86400.0), PartCost(1, 183, values=1, indices=1, bytes=4)),
        (Above(2, 0.5), PartCost(1, 3, values=1, indices=1, bytes=4)),
        (Among(4, (2,)), PartCost(1, 3, values=1, indices=1, bytes=4)),
        (Among(4, (0, 1, 3)), PartCost(5, 11, values=3, indices=3, bytes=12)),
        (Missing(0), PartCost(1, 3, values=1, indices=1, bytes=4)),
    ],
)
def test_each_literal_costs_what_its_test_takes(literal: Literal, expected: PartCost) -> None:
    assert cost(circuit_of((literal,))).feature_tests == expected


def test_the_kind_of_a_column_decides_how_wide_its_test_is() -> None:
    number, integer = (
        cost(circuit_of((literal,)), float_bits=32, int_bits=8).feature_tests
        for literal in (Above(0, 1.5), Above(1, 54.0))
    )
    assert number == PartCost(1, comparison(32), values=1, indices=1, bytes=4 + 1)
    assert integer == PartCost(1, comparison(8), values=1, indices=1, bytes=1 + 1)


def test_a_match_of_many_categories_takes_the_gates_of_single_matches_and_ors() -> None:
    singles = tuple(Among(4, (code,)) for code in range(3))
    either = GATE_BY_NAME["OR"]
    spelled = circuit_of(singles, (Node(either, 0, 1), Node(either, 2, 3)))
    joined = circuit_of((Among(4, (0, 1, 2)),))
    assert cost(joined).gate_operations == cost(spelled).gate_operations
    assert cost(joined).operations == cost(spelled).operations


def test_the_cost_of_a_gate_depends_on_its_truth_table() -> None:
    weights = {gate.name: gate_operations(gate) for gate in GATES}
    assert {name for name, weight in weights.items() if weight == 3} == {"XOR", "XNOR"}
    assert {name for name, weight in weights.items() if weight == 0} == {
        "FALSE", "TRUE", "A", "B", "NOT_A", "NOT_B"
    }  # fmt: skip
    assert all(weight in (0, 1, 3) for weight in weights.values())


@pytest.mark.parametrize(("n_gates", "n_words"), [(0, 0), (1, 1), (8, 1), (9, 2)])
def test_eight_gates_share_a_stored_value(n_gates: int, n_words: int) -> None:
    nodes = (Node(GATE_BY_NAME["NAND"], 0, 1),) * n_gates
    logic = cost(circuit_of((Above(0, 1.0), Above(0, 2.0)), nodes)).logic
    assert logic == PartCost(
        n_gates, n_gates, n_words, 2 * n_gates, bytes=2 * (n_words + 2 * n_gates)
    )


def test_a_rule_counts_once_for_every_vote_that_it_adds_or_subtracts() -> None:
    rules = (Rule(0, (0, 3)), Rule(0, (-2, 1)))
    sums = cost(circuit_of((Above(0, 1.0),), rules=rules, base_votes=(0, -7))).class_sums
    assert sums == PartCost(operations=2, gate_operations=14 * 6, values=1, indices=6, bytes=14)


def test_a_whole_circuit_agrees_with_a_count_by_hand() -> None:
    circuit = circuit_of(
        literals=(Above(0, 1.5), Above(1, 54.0), Among(4, (1,))),
        nodes=(Node(GATE_BY_NAME["XOR"], 0, 1), Node(GATE_BY_NAME["NOT_A_OR_B"], 3, 2)),
        rules=(Rule(4, (0, 2)), Rule(2, (1, 0))),
    )
    counted = cost(circuit)
    assert counted.operations == 3 + 2 + 2
    assert counted.gate_operations == (183 + 183 + 3) + (3 + 1) + 14 * 3
    assert counted.values == 3 + 1
    assert counted.indices == 3 + 4 + 3
    assert counted.bytes == 2 * 14


def test_a_cost_prints_as_an_aligned_table() -> None:
    nodes = (Node(GATE_BY_NAME["AND"], 0, 1),)
    circuit = circuit_of((Above(0, 1.0), Above(0, 2.0)), nodes, (Rule(2, (0, 100)),))
    assert str(cost(circuit)).splitlines() == [
        "               operations  gate operations  parameters  bytes",
        "feature tests           2              366           4      8",
        "logic                   1                1           3      6",
        "class sums              2            1,400         100    200",
        "total                   5            1,767         107    214",
    ]


# -- arithmetic ---------------------------------------------------------------------------------


def test_one_bit_operations_are_single_gates() -> None:
    assert equality(1) == 3  # XNOR
    assert comparison(1) == 3
    assert addition(1) == 5  # a half-adder of NANDs
    assert multiplication(1) == 6


def test_arithmetic_on_sixteen_bits_costs_the_published_gates() -> None:
    assert [equality(16), comparison(16), addition(16)] == [63, 183, 140]
    assert [multiplication(16), division(16)] == [2361, 5491]


def test_a_float_is_as_wide_as_its_name_says() -> None:
    for bits, number in FLOATS.items():
        assert number.exponent + number.significand == bits
        assert number.comparison == comparison(bits)


# -- scikit-learn models by hand ----------------------------------------------------------------


def table_of(n_rows: int, n_features: int, n_classes: int = 2) -> tuple[Any, Any]:
    rows = np.arange(n_rows * n_features, dtype=float).reshape(n_rows, n_features)
    return rows, np.arange(n_rows) % n_classes


def test_a_tree_costs_its_depth_and_stores_its_splits_and_leaves() -> None:
    rows, _ = table_of(8, 1)
    tree = DecisionTreeClassifier().fit(rows, [0, 1, 1, 0, 0, 0, 0, 0])  # 0 | 1 1 | 0 0 0 0 0
    assert (tree.get_depth(), tree.get_n_leaves()) == (2, 3)
    assert cost_of_model(tree).total == PartCost(2, 2 * 183, values=2 + 3, indices=6, bytes=22)
    assert cost_of_model(tree, 32, 8).bytes == 4 * 5 + 6


def test_a_forest_costs_its_trees_and_a_bit_of_each() -> None:
    rows, _ = table_of(20, 1)
    forest = RandomForestClassifier(3, max_depth=1, random_state=0).fit(rows, rows[:, 0] > 9)
    counted = cost_of_model(forest)
    assert counted.feature_tests == PartCost(3, 3 * 183, values=9, indices=9, bytes=36)
    assert counted.class_sums == PartCost(3, 3 * 14)


def test_boosting_costs_its_estimators_with_their_weights() -> None:
    rows, target = table_of(9, 1, 2)
    boosting = AdaBoostClassifier(n_estimators=3, random_state=0).fit(rows, target)
    assert len(boosting.estimators_) == 3
    counted = cost_of_model(boosting)
    assert counted.feature_tests == PartCost(3, 3 * 183, values=9, indices=9, bytes=36)
    assert counted.arithmetic == PartCost(5, 3 * 1120 + 2 * 124, values=3, bytes=6)


def test_naive_bayes_costs_its_features_for_every_class() -> None:
    counted = cost_of_model(GaussianNB().fit(*table_of(12, 2, 3)))
    sums, products = 2 + 1, 2 + 2
    gates = sums * 124 + products * 1120 + 2360 + 141_980
    assert counted.total == PartCost(3 * 9, 3 * gates, values=15, bytes=30)


@pytest.mark.parametrize(
    ("options", "n_products"),
    [({}, 16), ({"p": 1}, 0), ({"metric": "l1"}, 0), ({"metric": "sqeuclidean"}, 16)],
)
def test_neighbours_cost_a_distance_to_every_row_and_a_sort(
    options: dict[str, Any], n_products: int
) -> None:
    model = KNeighborsClassifier(n_neighbors=1, algorithm="brute", **options)
    counted = cost_of_model(model.fit(*table_of(8, 2)))
    gates = 24 * 124 + n_products * 1120 + 24 * 183
    assert counted.total == PartCost(24 + n_products + 24, gates, values=24, bytes=48)


@pytest.mark.parametrize(("activation", "n_comparisons"), [("relu", 5), ("identity", 0)])
def test_a_perceptron_costs_its_weights_and_hidden_units(
    activation: str, n_comparisons: int
) -> None:
    rows, target = table_of(9, 4, 3)
    model = MLPClassifier((3, 2), activation=activation, random_state=0)
    counted = cost_of_model(model.partial_fit(rows, target, classes=[0, 1, 2]))
    n_weights = 4 * 3 + 3 * 2 + 2 * 3
    assert counted.total == PartCost(
        operations=2 * n_weights + n_comparisons,
        gate_operations=n_weights * (1120 + 124) + n_comparisons * 183,
        values=n_weights + 3 + 2 + 3,
        bytes=2 * (n_weights + 8),
    )


def test_costs_add_part_by_part() -> None:
    one = Cost(feature_tests=PartCost(1, 183), arithmetic=PartCost(2, 5))
    two = Cost(feature_tests=PartCost(1, 183), class_sums=PartCost(1, 14))
    assert one + two == Cost(PartCost(2, 366), PartCost(), PartCost(1, 14), PartCost(2, 5))


# -- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [{"float_bits": 24}, {"int_bits": 0}, {"int_bits": "16"}])
def test_widths_out_of_range_are_refused(bits: dict[str, Any]) -> None:
    message = rf"{next(iter(bits))} is .*; it must be one of (8, )?16, 32, 64"
    with pytest.raises(OptionError, match=message):
        cost(circuit_of(), **bits)
    with pytest.raises(OptionError, match=message):
        cost_of_model(DecisionTreeClassifier().fit(*table_of(4, 1)), **bits)


def test_other_types_than_circuits_are_refused() -> None:
    with pytest.raises(OptionError, match=r"a Circuit, not a GaussianNB; .* cost_of_model"):
        cost(GaussianNB())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", COUNTED_MODELS)
def test_a_model_that_is_not_fitted_is_refused(kind: type) -> None:
    with pytest.raises(OptionError, match=f"the {kind.__name__} is not fitted"):
        cost_of_model(kind())


def test_an_unknown_model_is_refused_alone_and_in_an_ensemble() -> None:
    message = "cannot count a LogisticRegression; it counts DecisionTreeClassifier, "
    inner = LogisticRegression()
    boosting = AdaBoostClassifier(inner, n_estimators=1).fit([[0.0], [0.5], [1.0]], [0, 1, 0])
    for model in (inner, boosting):
        with pytest.raises(OptionError, match=message):
            cost_of_model(model)


def test_a_model_whose_arithmetic_has_no_formula_is_refused() -> None:
    rows, target = table_of(8, 2)
    chebyshev = KNeighborsClassifier(1, metric="chebyshev").fit(rows, target)
    with pytest.raises(OptionError, match=r"the distance 'chebyshev'; .* 'manhattan'"):
        cost_of_model(chebyshev)
    bent = MLPClassifier((2,), activation="tanh").partial_fit(rows, target, classes=[0, 1])
    with pytest.raises(OptionError, match=r"activation='tanh'; .* 'relu'"):
        cost_of_model(bent)


def test_a_model_of_several_targets_is_refused() -> None:
    rows, target = table_of(8, 2)
    tree = DecisionTreeClassifier().fit(rows, np.stack([target, target], axis=1))
    with pytest.raises(OptionError, match="several targets"):
        cost_of_model(tree)
