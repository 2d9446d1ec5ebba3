"""The options of `changes` are the cheapest ones: compared with all changes of small circuits."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, sorted_cutoffs
from dln.core.parts import Node, Rule
from dln.errors import OptionError
from tests.explain.test_class_reasons import all_rows, winners
from tests.support.strategies import busy_circuits, circuits, law, logic_circuits

ANY = st.one_of(circuits(max_columns=3), logic_circuits(), busy_circuits())


def cost_of_cell(circuit: Circuit, index: int, before: Any, after: Any) -> Fraction | None:
    """Return the cost of another value of a column, as documented; None if it is not allowed."""
    column = circuit.columns[index]
    if after is None or (not column.is_numeric and after not in column.categories):
        return None
    if column.kind in ("category", "boolean"):
        return Fraction(3, 2)
    cutoffs = sorted_cutoffs(x for x in circuit.literals if x.column == index)
    number, other = (_number(cell) for cell in (before, after))
    crossed = sum((number > cutoff) != (other > cutoff) for cutoff in cutoffs)
    return 1 + Fraction(max(crossed, int(math.isnan(number))), len(cutoffs) or 1)


def _number(cell: Any) -> float:
    if cell is None:
        return math.nan
    return cell.timestamp() if hasattr(cell, "timestamp") else float(cell)


@law
@given(data=st.data(), circuit=ANY)
def test_no_allowed_change_is_cheaper(data: st.DataObject, circuit: Circuit) -> None:
    assume(all(column.kind != "date" for column in circuit.columns))
    atoms, rows = all_rows(circuit)
    classes = winners(circuit, rows)
    at = data.draw(st.integers(0, len(rows) - 1))
    own = rows[at]
    for cell, column in zip(own, circuit.columns, strict=True):
        # A list reads numbers as numbers; such a category is read as text by other containers.
        assume(column.is_numeric or cell is None or isinstance(cell, str))
    goals = [c for c in range(circuit.n_classes) if c != classes[at]]
    to = data.draw(st.sampled_from([None, *goals]))
    names = [column.name for column in circuit.columns]
    fixed = data.draw(st.lists(st.sampled_from(names), max_size=1)) if names else []
    best: Fraction | None = None
    for row, cells, winner in zip(atoms, rows, classes, strict=True):
        if winner == classes[at] or (to is not None and winner != to):
            continue
        cost = Fraction(0)
        allowed = True
        for place, index in enumerate(circuit._search.variables.read):
            if row[place] != atoms[at][place]:
                step = cost_of_cell(circuit, index, own[index], cells[index])
                allowed = allowed and step is not None and names[index] not in fixed
                cost += step or 0
        if allowed and (best is None or cost < best):
            best = cost
    found = circuit.changes(
        own, to=None if to is None else circuit.classes[to], fixed=fixed, n=2, time_limit=None
    )
    assert found.complete
    assert bool(found.options) == (best is not None)
    for option in found.options:
        changed = list(own)
        for change in option.changes:
            assert change.feature not in fixed
            changed[names.index(change.feature)] = change.after
        assert circuit.classes[winners(circuit, [changed])[0]] == option.label
        assert option.label != found.label
    if best is not None:
        assert abs(found.options[0].cost - float(best)) < 1e-3
    if len(found.options) == 2:
        first, second = ({c.feature for c in option.changes} for option in found.options)
        assert not first <= second
        assert found.options[0].cost <= found.options[1].cost


# -- examples ---------------------------------------------------------------------------------


def loan() -> Circuit:
    """A loan is granted if income > 30 and (debt <= 5 or age > 40) in a known city."""
    return Circuit(
        (
            Column("income", "integer"),
            Column("debt", "number"),
            Column("age", "integer"),
            Column("city", "category", ("Bern", "Basel", "Chur")),
        ),
        (Above(0, 30.0), Above(0, 50.0), Above(1, 5.0), Above(2, 40.0), Among(3, (0, 1))),
        (
            Node(GATE_BY_NAME["NOT_A_OR_B"], 2, 3),
            Node(GATE_BY_NAME["AND"], 0, 5),
            Node(GATE_BY_NAME["AND"], 6, 4),
        ),
        (Rule(7, (0, 1)), Rule(1, (0, 1))),
        (0, 0),
        ("refused", "granted"),
    )


ROW = {"income": 20, "debt": 8.0, "age": 35, "city": "Bern"}


def features(circuit: Circuit, **options: Any) -> list[list[str]]:
    found = circuit.changes(ROW, to="granted", n=5, **options)
    assert found.complete
    return [[change.feature for change in option.changes] for option in found.options]


def test_options_change_different_features_and_the_cheapest_comes_first() -> None:
    assert features(loan()) == [["income"]]  # both thresholds at once
    found = loan().changes(ROW, to="granted", within={"income": (0, 45)}, n=5)
    assert [str(option) for option in found.options] == [
        "income: 20 -> 31 (income > 30); debt: 8 -> 5 (debt <= 5)",
        "income: 20 -> 31 (income > 30); age: 35 -> 41 (age > 40)",
    ]


def test_limits_are_kept() -> None:
    circuit = loan()
    narrow = {"income": (None, 45)}
    assert features(circuit, within=narrow, fixed=["age"]) == [["income", "debt"]]
    assert features(circuit, within=narrow, only_up=["debt"]) == [["income", "age"]]
    assert features(circuit, within=narrow, only_down=["age"]) == [["income", "debt"]]
    assert features(circuit, within=narrow, costs={"debt": 9}) == [
        ["income", "age"],
        ["income", "debt"],
    ]
    assert features(circuit, only_down=["income"]) == []
    found = circuit.changes({**ROW, "city": "Chur"}, to="granted", within={"city": ["Chur"]})
    assert [change.feature for change in found.options[0].changes] == ["income"]
    assert found.options[0].changes[0].after == 51
    found = circuit.changes({**ROW, "income": 99}, within={"income": (25, 28.5)})
    assert found.options[0].changes[0].after in (28, 28.0)


def test_immutable_columns_are_kept_in_the_file_and_never_change(tmp_path: Path) -> None:
    circuit = loan().with_immutable(["age"])
    circuit.save(tmp_path / "loan.json")
    loaded = Circuit.load(tmp_path / "loan.json")
    assert [column.name for column in loaded.columns if column.immutable] == ["age"]
    assert loaded == loan()  # the marks are not compared
    assert features(loaded, within={"income": (0, 45)}) == [["income", "debt"]]
    assert not any(column.immutable for column in loaded.with_immutable([]).columns)
    with pytest.raises(OptionError, match="no column 'sex'"):
        circuit.with_immutable(["sex"])


def test_no_change_is_said_so() -> None:
    found = loan().changes(ROW, fixed=["income", "debt", "age", "city"])
    assert str(found) == "No allowed change gives another class."
    assert found.complete


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"to": "maybe"}, "no class 'maybe'; its classes are 'refused', 'granted'"),
        ({"to": "refused"}, "already gets class refused"),
        ({"fixed": ["sex"]}, "no column 'sex'"),
        ({"only_up": ["city"]}, "'city' has categories, which have no order"),
        ({"within": {"city": "Bern"}}, "expected categories"),
        ({"within": {"city": ["Rome"]}}, "within has 'Rome' for 'city', whose categories are"),
        ({"within": {"age": 3}}, r"expected \(lowest, highest\)"),
        ({"n": 0}, "n is 0"),
        ({"costs": {"age": 1e9}}, "expected less than"),
        ({"time_limit": -1}, "time_limit is -1"),
    ],
)
def test_invalid_questions_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        loan().changes(ROW, **options)
