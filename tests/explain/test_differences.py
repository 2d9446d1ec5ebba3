"""The conditions of `find_differences` are exactly the rows on which two circuits differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.literals import Above, Column
from dln.core.parts import Rule
from dln.core.score import Score
from dln.errors import CircuitError, OptionError
from dln.explain.differences import (
    _differences_by_lead,
    _find_row,
    _widen,
    find_differences,
)
from dln.prove.changed import changed_regions
from dln.prove.clock import Clock
from dln.prove.joint import join_circuits
from tests.conftest import Run
from tests.explain.test_class_reasons import all_rows, winners
from tests.support.strategies import (
    busy_circuits,
    every_row,
    law,
    logic_circuits,
    rules_over,
    score_logic_circuits,
)


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


@law
@given(data=st.data(), a=st.one_of(logic_circuits(max_literals=4, max_gates=6), busy_circuits()))
def test_conditions_start_from_the_given_rows_that_differ(data: st.DataObject, a: Circuit) -> None:
    """With enough conditions, every given row that differs fulfils one; shares are counted."""
    assume(a.n_classes > 1)
    rules = data.draw(rules_over(a.n_wires, a.n_classes))
    b = Circuit(a.columns, a.literals, a.nodes, rules, a.base_votes, a.classes)
    table = join_circuits(a, b).circuit._search.table_of
    atoms = np.array(all_rows(join_circuits(a, b).circuit)[0])
    assume(len(atoms))
    drawn = data.draw(st.lists(st.integers(0, len(atoms) - 1), min_size=1, max_size=20))
    rows = table(atoms[drawn])
    differ = a.predict(rows) != b.predict(rows)
    for n in (1, 200):
        found = find_differences(a, b, rows, n=n, time_limit=None)
        assert found.share == differ.mean()
        assert (found.covered is None) == (not differ.any())
        shares = [rule.share or 0 for rule in found.rules]
        assert shares == sorted(shares, reverse=True)
        if differ.any():
            assert shares[0] > 0
    assert found.complete
    assert found.covered in (None, 1)


@law
@given(data=st.data(), a=st.one_of(logic_circuits(max_literals=4, max_gates=6), busy_circuits()))
def test_changed_rules_and_leads_are_exactly_the_rows_that_differ(
    data: st.DataObject, a: Circuit
) -> None:
    """Each row in a region, with its lead, is compared with the classes of both circuits."""
    assume(a.n_classes > 1 and a.rules)
    place = data.draw(st.integers(0, len(a.rules) - 1))
    rules = list(a.rules)
    if data.draw(st.booleans()):
        rules[place] = Rule(data.draw(st.integers(0, a.n_wires - 1)), rules[place].votes)
    else:
        votes = data.draw(st.tuples(*[st.integers(-3, 3)] * a.n_classes))
        rules[place] = Rule(rules[place].wire, votes)
    b = Circuit(a.columns, a.literals, a.nodes, rules, a.base_votes, a.classes)
    joint = join_circuits(a, b)
    regions = changed_regions(joint.circuit, a.n_classes)
    assert regions is not None
    _, rows = all_rows(joint.circuit)
    assume(len(rows) <= 100)
    counted = joint.circuit.votes(joint.table(rows))
    before, after = counted[:, : a.n_classes], counted[:, a.n_classes :]
    change = after - before
    in_some = np.zeros(len(rows), dtype=bool)
    for where, amount in regions:
        inside = np.ones(len(rows), dtype=bool)
        if where is not None:
            inside = where.predict(joint.table(rows)) == 1
        own = change[inside] - change[inside].min(axis=1, keepdims=True)
        assert (own == np.array(amount)).all()
        assert not (in_some & inside).any()
        in_some |= inside
    assert (np.ptp(change[~in_some], axis=1) == 0).all()
    differ = before.argmax(axis=1) != after.argmax(axis=1)
    found = _differences_by_lead(a, b, joint, rows)
    assert found is not None
    assert found.complete
    if a.n_classes == 2:
        assert found.exact
        assert sum(rule.share or 0.0 for rule in found.rules) == pytest.approx(differ.mean())
    else:
        assert sum(rule.share or 0.0 for rule in found.rules) >= differ.mean() - 1e-9


def test_an_edited_rule_of_a_large_circuit_is_compared_by_the_lead() -> None:
    """Boxes would be too many; the condition is exact all the same."""
    columns = tuple(Column(f"x{number}", "number") for number in range(80))
    literals = tuple(Above(number, 0.5) for number in range(80))
    rules = tuple(Rule(number, (number % 2, 1 - number % 2)) for number in range(80))
    a = Circuit(columns, literals, (), rules, (0, 0), ("no", "yes"))
    b = replace(a, readout=a.readout.with_rules(rules[1:], (0, 0)))
    rows = np.random.default_rng(0).random((500, 80))
    found = find_differences(a, b, rows, time_limit=5.0)
    (rule,) = found.rules
    assert (rule.text, found.complete, found.exact) == (
        "x0 > 0.5, if yes leads no by 1 vote before",
        True,
        True,
    )
    assert rule.share == found.share == np.mean(a.predict(rows) != b.predict(rows)) > 0
    c = replace(a, readout=a.readout.with_rules((Rule(1, (5, 0)), *rules[1:]), (0, 0)))
    assert {each.text for each in find_differences(a, c).rules} == {
        "x0 > 0.5 and x1 > 0.5, if yes leads no by 1 to 6 votes before",
        "x0 <= 0.5 and x1 > 0.5, if yes leads no by 1 to 5 votes before",
        "x0 > 0.5 and x1 <= 0.5, if yes leads no by 1 vote before",
    }


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


def test_the_command_compares_numbers(run: Run, tmp_path: Path) -> None:
    a, b, rows = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "rows.csv"
    for file, cutoff in ((a, 50.0), (b, 60.0)):
        score = Score((Rule(0, (3,)),), (1,), 0, name="price")
        Circuit(logic=replace(step(cutoff).logic), readout=score).save(file)
    rows.write_text("age\n40\n55\n", "utf-8")
    status, out, _ = run("diff", a, b, "--data", rows)
    assert (status, out.splitlines()[1]) == (1, "  the first is higher: 50 < age <= 60 (50.0 %)")
    assert run("diff", a, b, "--tolerance", "3")[0] == 0
    message = run("diff", a, b, "--tolerance", "-1")[2]
    assert "--tolerance" in message


# -- numbers ----------------------------------------------------------------------------------


@law
@given(data=st.data(), first=score_logic_circuits(max_literals=4, max_gates=6))
def test_differences_of_numbers_are_exact(data: st.DataObject, first: Circuit) -> None:
    small = st.integers(-9, 9)
    score = Score(
        tuple(Rule(rule.wire, (data.draw(small),)) for rule in first.rules), (data.draw(small),), 1
    )
    first = Circuit(logic=first.logic, readout=score)
    other = replace(
        score, rules=tuple(replace_rule(data, rule) for rule in score.rules), digits=score.digits
    )
    second = Circuit(logic=first.logic, readout=other)
    tolerance = data.draw(st.sampled_from([0.0, 0.2, 0.55]))
    found = dln.find_differences(first, second, tolerance=tolerance, n=100)
    assert found.complete
    assert found.tolerance == tolerance
    rows = every_row(first)
    if not len(rows[0]):
        return
    gap = [int(d) / 10 for d in (first.votes(rows) - second.votes(rows))[:, 0]]
    counted = dln.find_differences(first, second, rows, tolerance=tolerance, n=100)
    assert counted.share == pytest.approx(np.mean([abs(d) > tolerance for d in gap]))
    assert bool(found.rules) == any(abs(d) > tolerance for d in gap)
    assert {str(rule.first)[4:9] for rule in found.rules} == {
        "first" if d > 0 else "secon" for d in gap if abs(d) > tolerance
    }


def replace_rule(data: st.DataObject, rule: Rule) -> Rule:
    return Rule(rule.wire, (rule.votes[0] + data.draw(st.sampled_from([0, 0, 3, -6])),))


def test_differences_of_numbers_are_named() -> None:
    def price(cutoff: float, points: int = 32, digits: int = 1, link: Any = "identity") -> Circuit:
        logic = dln.Logic((Column("age", "integer"),), (Above(0, cutoff),), ())
        return Circuit(logic=logic, readout=Score((Rule(0, (points,)),), (125,), digits, link))

    found = dln.find_differences(price(50.0), price(60.0), [[40], [55]], tolerance=1)
    assert str(found) == (
        "The models differ (50.0 % of the rows) exactly where\n"
        "  the first is higher by more than 1: 50 < age <= 60 (50.0 %)"
    )
    assert "| the first is higher by more than 1 | 50 &lt; age" in found.to_markdown()
    same = dln.find_differences(price(50.0), price(60.0), tolerance=4)
    assert str(same) == "The models predict the same number, within 4, for every possible row."
    assert "the second is higher: age > 50" in str(
        dln.find_differences(price(50.0, 31), price(50.0))
    )
    with pytest.raises(dln.CircuitError, match="have the links identity and log; only circuits wi"):
        dln.find_differences(price(50.0), price(50.0, link="log"))
    with pytest.raises(dln.OptionError, match="tolerance is 1; with the link log expected 0"):
        dln.find_differences(price(50.0, link="log"), price(50.0, link="log"), tolerance=1)
    with pytest.raises(dln.OptionError, match="tolerance is -1, expected a number of at least 0"):
        dln.find_differences(price(50.0), price(50.0), tolerance=-1)
    classifier = Circuit((), (), (), (), (0, 1), ("no", "yes"))
    with pytest.raises(dln.OptionError, match="tolerance is for circuits that predict a number"):
        dln.find_differences(classifier, classifier, tolerance=1)
    with pytest.raises(dln.TaskError, match="predicts 2 classes"):
        dln.find_differences(classifier, price(50.0))


def test_circuits_that_differ_on_every_row_and_read_nothing() -> None:
    one, two = (
        Circuit.from_rules(f"y is {start} plus what the rules add.", columns=()) for start in (1, 2)
    )
    found = find_differences(one, two)
    assert found.complete
    assert [(rule.first, rule.condition) for rule in found.rules] == [
        ("the second is higher", "always")
    ]
