"""Claims about all rows are decided as by trying all rows of small circuits."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.core.verdict import Proof, Undecided, Violation
from dln.errors import OptionError
from dln.prove.certify import prove_independent, prove_range, prove_rule
from dln.prove.robust import certified_radius, prove_robust
from tests.explain.test_class_reasons import all_rows, winners
from tests.support.strategies import busy_circuits, circuits, law, logic_circuits, plain_votes

ANY = st.one_of(circuits(max_columns=3), logic_circuits(), busy_circuits())


@law
@given(data=st.data(), circuit=ANY, never=st.booleans())
def test_a_rule_is_proven_if_and_only_if_all_rows_follow_it(
    data: st.DataObject, circuit: Circuit, never: bool
) -> None:
    assume(circuit.n_classes > 1)
    atoms, rows = all_rows(circuit)
    classes = winners(circuit, rows)
    label = data.draw(st.integers(0, circuit.n_classes - 1))
    found = prove_rule(circuit, circuit.classes[label], never=never, time_limit=None)
    holds = all((winner == label) != never for winner in classes)
    assert isinstance(found, Proof if holds else Violation)
    if isinstance(found, Violation):
        row = [found.row.get(column.name) for column in circuit.columns]
        assert (winners(circuit, [row])[0] == label) == never
        assert circuit.classes.index(found.label) == winners(circuit, [row])[0]
    assert len(atoms) == len(rows)


@law
@given(data=st.data(), circuit=ANY)
def test_a_range_is_proven_if_and_only_if_all_leads_are_in_it(
    data: st.DataObject, circuit: Circuit
) -> None:
    assume(circuit.n_classes > 1)
    _, rows = all_rows(circuit)
    label = data.draw(st.integers(0, circuit.n_classes - 1))
    votes = plain_votes(circuit, rows)
    leads = votes[:, label] - np.delete(votes, label, axis=1).max(axis=1)
    for low, high in ((leads.min(), leads.max()), (leads.min() + 1, None), (None, leads.max() - 1)):
        bounds = {
            "at_least": None if low is None else int(low),
            "at_most": None if high is None else int(high),
        }
        found = prove_range(circuit, circuit.classes[label], **bounds, time_limit=None)
        assert isinstance(found, Proof) == (None not in (low, high))


@law
@given(data=st.data(), circuit=ANY)
def test_independence_is_proven_if_and_only_if_no_pair_differs(
    data: st.DataObject, circuit: Circuit
) -> None:
    assume(circuit.columns)
    atoms, rows = all_rows(circuit)
    assume(len(rows) <= 200)
    names = [column.name for column in circuit.columns]
    features = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    search = circuit._search
    others = [at for at, name in enumerate(search.names) if name not in features]
    groups: dict[tuple[int, ...], set[int]] = {}
    for row, winner in zip(atoms, winners(circuit, rows), strict=True):
        groups.setdefault(tuple(row[at] for at in others), set()).add(winner)
    found = prove_independent(circuit, features, time_limit=None)
    holds = all(len(classes) == 1 for classes in groups.values())
    assert isinstance(found, Proof if holds else Violation)
    if isinstance(found, Violation):
        assert set(found.changed) <= set(features)
        pair = [
            [{**found.row, **changed}.get(name) for name in names]
            for changed in ({}, found.changed)
        ]
        first, second = winners(circuit, pair)
        assert first != second
        assert (found.label, found.label_after) == (circuit.classes[first], circuit.classes[second])


@law
@given(data=st.data())
def test_robust_rows_and_radii_agree_with_trying_all_values(data: st.DataObject) -> None:
    cutoffs = data.draw(st.lists(st.integers(0, 8), min_size=4, max_size=4))
    gates = [
        GATE_BY_NAME[name]
        for name in data.draw(
            st.lists(st.sampled_from(["AND", "OR", "XOR", "NAND"]), min_size=3, max_size=3)
        )
    ]
    circuit = Circuit(
        (Column("a", "integer"), Column("b", "integer")),
        [Above(at % 2, float(cutoff)) for at, cutoff in enumerate(cutoffs)],
        [Node(gates[0], 0, 1), Node(gates[1], 2, 3), Node(gates[2], 4, 5)],
        [Rule(6, (0, 1)), Rule(4, (1, 0))],
        (0, 0),
        ("no", "yes"),
    )
    rows = [list(row) for row in itertools.product(range(0, 9, 2), repeat=2)]
    tolerances = {"a": 1.0, "b": 2.0}
    found = prove_robust(circuit, rows, tolerances)
    radii = certified_radius(circuit, rows, tolerances, most=10.0)
    every = {(a, b): winners(circuit, [[a, b]])[0] for a in range(-12, 22) for b in range(-22, 32)}
    for place, (a, b) in enumerate(rows):
        factors = [
            max(abs(x - a), abs(y - b) / 2)
            for (x, y), winner in every.items()
            if winner != every[a, b]
        ]
        nearest = min(factors, default=math.inf)
        assert found.certified[place] == (nearest > 1)
        assert found.refuted[place] == (nearest <= 1)
        assert radii[place] == min(nearest, 10.0)
        if found.refuted[place]:
            violation = found.violations[place]
            after = {**violation.row, **violation.changed}
            assert abs(after["a"] - a) <= 1
            assert abs(after["b"] - b) <= 2


# -- examples ---------------------------------------------------------------------------------

AGE, SEX = Column("age", "integer"), Column("sex", "category", ("f", "m"))
CHOL = Column("chol", "number")


def biased() -> Circuit:
    return Circuit(
        (AGE, SEX, CHOL),
        (Above(0, 50.0), Among(1, (1,)), Above(2, 200.0), Missing(2)),
        (Node(GATE_BY_NAME["AND"], 0, 1),),
        (Rule(4, (0, 2)), Rule(2, (0, 1)), Rule(3, (0, 1))),
        (1, 0),
        ("low", "high"),
    )


def test_conditions_restrict_the_rows() -> None:
    circuit = biased()
    assert prove_rule(circuit, "high", where={"age": (51, None), "sex": "m"})
    assert prove_rule(circuit, "low", where={"sex": ["f"]})
    found = prove_rule(circuit, "high", where={"age": (60, 70)}, never=True)
    assert isinstance(found, Violation)
    assert found.label == "high"
    assert 60 <= found.row["age"] <= 70  # type: ignore[operator]
    assert str(prove_rule(circuit, "low", where={"age": 50})).startswith(
        "always low where age = 50"
    )
    assert prove_independent(circuit, ["sex"], where={"age": (None, 50)})
    found = prove_independent(circuit, ["sex"])
    assert isinstance(found, Violation)
    assert "changing sex from" in str(found)


def test_counterexamples_use_values_of_the_data() -> None:
    rows = [[63, "m", 233.0], [57, "f", 180.0]]
    found = prove_rule(biased(), "low", data=rows)
    assert isinstance(found, Violation)
    assert found.row["chol"] in (233.0, 180.0)
    assert found.row["age"] in (63, 57)
    pair = prove_independent(biased(), ["sex"], data=rows)
    assert isinstance(pair, Violation)
    assert pair.row["age"] in (63, 57)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda c: prove_rule(c, "none"), "no class 'none'"),
        (lambda c: prove_rule(c, "low", where={"size": 1}), "no column 'size'"),
        (
            lambda c: prove_rule(c, "low", where={"sex": "x"}),
            "has 'x'; the categories are 'f', 'm'",
        ),
        (lambda c: prove_rule(c, "low", where={"age": "x"}), "has 'x', expected a number"),
        (lambda c: prove_rule(c, "low", where={"age": (1, 2, 3)}), "expected a number, or"),
        (lambda c: prove_rule(c, "low", where={"age": (1.2, 1.8)}), "no value of 'age' fulfils"),
        (lambda c: prove_range(c, "low"), "give at_least or at_most"),
        (lambda c: prove_range(c, "low", at_least=0.5), "expected a whole number"),
        (lambda c: prove_independent(c, []), "features is empty"),
        (lambda c: prove_robust(c, [[1, "f", 2.0]], {"sex": 1}), "has categories; name it in free"),
        (lambda c: prove_robust(c, [[1, "f", 2.0]], {"age": -1}), "expected 0 or more"),
        (lambda c: prove_rule(c, "low", time_limit=-1), "time_limit is -1"),
        (lambda c: prove_rule("c", "low"), "prove_rule takes a Circuit, not a str"),
    ],
)
def test_invalid_questions_are_refused(call: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        call(biased())


def test_no_time_is_undecided() -> None:
    assert isinstance(prove_independent(biased(), "sex", time_limit=0.0), Undecided)
