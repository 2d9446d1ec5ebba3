"""The conditions of `find_differences` are exactly the rows on which two circuits differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.literals import Above, Column
from dln.core.parts import Rule
from dln.errors import CircuitError, OptionError
from dln.explain.differences import _find_row, _widen, find_differences
from dln.prove.clock import Clock
from dln.prove.joint import join_circuits
from tests.conftest import Run
from tests.explain.test_class_reasons import all_rows, winners
from tests.support.strategies import busy_circuits, law, logic_circuits, rules_over


@law
@given(data=st.data(), a=st.one_of(logic_circuits(max_literals=4, max_gates=6), busy_circuits()))
def test_the_boxes_are_exactly_the_rows_that_differ(data: st.DataObject, a: Circuit) -> None:
    assume(a.n_classes > 1)
    rules = data.draw(rules_over(a.n_wires, a.n_classes))
    b = Circuit(a.columns, a.literals, a.nodes, rules, a.base_votes, a.classes)
    joint = join_circuits(a, b)
    search = joint.circuit._search
    atoms, rows = all_rows(joint.circuit)
    assume(len(rows) <= 100)
    expected = {
        row for row, x, y in zip(atoms, winners(a, rows), winners(b, rows), strict=True) if x != y
    }
    boxes, covered = [], set()
    while True:
        row, sure = _find_row(joint, boxes, Clock(None))
        if row is None:
            assert sure
            break
        assert tuple(row.tolist()) in expected - covered
        _, _, box = _widen(joint, row, Clock(None))
        inside = {
            other
            for other in atoms
            if all(search.part(box, place)[atom] for place, atom in enumerate(other))
        }
        assert tuple(row.tolist()) in inside <= expected
        covered |= inside
        boxes.append(box)
    assert covered == expected


def step(cutoff: float, *, classes: tuple[str, ...] = ("no", "yes")) -> Circuit:
    columns = (Column("age", "integer"), Column("size", "number"))
    return Circuit(columns, (Above(0, cutoff),), (), (Rule(0, (0, 1)),), (0, 0), classes)


def test_the_text_names_the_classes_and_the_share_of_rows() -> None:
    found = find_differences(step(50.0), step(60.0), [[40, 1.0], [55, 1.0]])
    assert str(found).splitlines() == [
        "The models differ (50.0 % of the rows) exactly where",
        "  yes and no: 50 < age <= 60 (50.0 %)",
    ]
    assert found.to_dict()["complete"]
    same = find_differences(step(50.0), step(50.5))
    assert str(same) == "The models predict the same class for every possible row."


def test_other_questions_are_refused() -> None:
    with pytest.raises(CircuitError, match="same classes"):
        find_differences(step(1.0), step(1.0, classes=("a", "b")))
    with pytest.raises(OptionError, match="n is 0"):
        find_differences(step(1.0), step(2.0), n=0)


def test_the_command_prints_conditions(run: Run, tmp_path: Path) -> None:
    a, b, rows = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "rows.csv"
    step(50.0).save(a)
    step(60.0).save(b)
    rows.write_text("age,size\n40,1\n55,2\n", "utf-8")
    status, out, _ = run("diff", a, b, "--data", rows)
    assert (status, out.splitlines()[1]) == (1, "  yes and no: 50 < age <= 60 (50.0 %)")
    assert run("diff", a, a)[0] == 0
    assert run("diff", a, b, "--time-limit", "0")[0] in (1, 3)
    assert '"complete": true' in run("diff", a, b, "--json")[1]
