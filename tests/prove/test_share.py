"""Shares of rows and boxes are those of listing all values; bounds contain them."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.core.value_range import ValueRange
from dln.errors import OptionError
from dln.prove import tables
from dln.prove.certify import independence_claim, range_claim, rule_claim
from dln.prove.share import Share, claim_question, share_independent, share_range, share_rule
from dln.prove.share_monotone import share_monotone
from dln.prove.share_robust import share_robust
from tests.conftest import Run
from tests.explain.test_class_reasons import winners
from tests.support.strategies import (
    busy_circuits,
    circuits,
    law,
    logic_circuits,
    plain_votes,
    score_circuits,
)

KINDS = ("number", "integer", "boolean", "date", "category")
ANY = st.one_of(circuits(KINDS, max_columns=3), logic_circuits(), busy_circuits())
MOST_ROWS = 1500

Piece = tuple[Any, float]
"""A value of a column, and how many values are like it, or the length of their interval."""


def conditions(draw: st.DrawFn, circuit: Circuit) -> dict[str, Any]:
    """Draw a range or a set for each column."""
    where: dict[str, Any] = {}
    for column in circuit.columns:
        if column.kind == "category":
            known = st.sampled_from(column.categories)
            where[column.name] = draw(st.lists(known, min_size=1, max_size=3, unique=True))
        elif column.kind == "boolean":
            where[column.name] = (0, 1)
        else:
            low = draw(st.integers(-3, 3))
            where[column.name] = (low, low + draw(st.integers(0, 4)))
        if draw(st.integers(0, 9)) == 0:
            where[column.name] = None
    return where


def pieces(circuit: Circuit, index: int, given: Any) -> list[Piece]:
    """List the values of a column that fulfil a condition; numbers between cutoffs are one."""
    column = circuit.columns[index]
    if given is None:
        return [(None, 1.0)]
    if column.kind == "category":
        return [(category, 1.0) for category in given]
    low, high = given
    if column.kind in ("integer", "boolean"):
        return [(number, 1.0) for number in range(low, high + 1)]
    if low == high:
        return [(float(low), 1.0)]
    cutoffs = {x.cutoff for x in circuit.literals if x.column == index and isinstance(x, Above)}
    edges = [float(low), *sorted(c for c in cutoffs if low < c < high), float(high)]
    return [((a + b) / 2, b - a) for a, b in itertools.pairwise(edges)]


def all_pieces(circuit: Circuit, where: dict[str, Any]) -> list[list[Piece]]:
    found = [
        pieces(circuit, index, where[column.name]) for index, column in enumerate(circuit.columns)
    ]
    assume(math.prod(map(len, found)) <= MOST_ROWS)
    return found


def check(question: Any, expected: float) -> None:
    """Compare a share with the expected one: with rows listed, without, and with few boxes."""
    for n_listed in (math.inf, 0.0):
        lower, upper = question.bounds(None, n_listed=n_listed)
        assert lower == upper
        assert lower == pytest.approx(expected, abs=1e-9)
    for n_boxes in (1, 2, 5):
        lower, upper = question.bounds(None, n_boxes, n_listed=0.0)
        assert lower - 1e-9 <= expected <= upper + 1e-9
        assert 0 <= lower <= upper <= 1


@pytest.fixture(params=[16384, 4], ids=["tables", "inner wires"])
def _most_cells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without and with rules that are split by inner wires."""
    monkeypatch.setattr(tables, "_MOST_CELLS", request.param)


@pytest.mark.usefixtures("_most_cells")
@law
@given(data=st.data(), circuit=ANY, never=st.booleans())
def test_the_share_of_a_rule_is_that_of_all_values(
    data: st.DataObject, circuit: Circuit, never: bool
) -> None:
    assume(circuit.n_classes > 1)
    where = conditions(data.draw, circuit)
    found = all_pieces(circuit, where)
    label = data.draw(st.integers(0, circuit.n_classes - 1))
    total = violating = 0.0
    for row in itertools.product(*found):
        weight = math.prod(weight for _, weight in row)
        total += weight
        if (winners(circuit, [[cell for cell, _ in row]])[0] == label) == never:
            violating += weight
    claim = rule_claim(circuit, circuit.classes[label], where, never, None)
    check(claim_question(claim), violating / total)


@pytest.mark.usefixtures("_most_cells")
@law
@given(data=st.data(), circuit=ANY)
def test_the_share_of_dependent_rows_is_that_of_all_values(
    data: st.DataObject, circuit: Circuit
) -> None:
    assume(circuit.columns)
    where = conditions(data.draw, circuit)
    found = all_pieces(circuit, where)
    places = range(len(found))
    hidden = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=2, unique=True))
    others = [place for place in places if place not in hidden]
    total = violating = 0.0
    for rest in itertools.product(*(found[place] for place in others)):
        rows = []
        for own in itertools.product(*(found[place] for place in hidden)):
            cells = dict(zip([*others, *hidden], [*rest, *own], strict=True))
            rows.append([cells[place][0] for place in places])
        weight = math.prod(weight for _, weight in rest)
        total += weight
        violating += weight * (len(set(winners(circuit, rows))) > 1)
    names = [circuit.columns[place].name for place in hidden]
    claim = independence_claim(circuit, names, where, None)
    check(claim_question(claim), violating / total)


@law
@given(data=st.data(), circuit=score_circuits(KINDS))
def test_shares_of_a_number_are_those_of_all_values(data: st.DataObject, circuit: Circuit) -> None:
    assume(circuit.columns)
    where = conditions(data.draw, circuit)
    rows = [[cell for cell, _ in row] for row in itertools.product(*all_pieces(circuit, where))]
    weights = np.array(
        [math.prod(w for _, w in row) for row in itertools.product(*all_pieces(circuit, where))]
    )
    numbers = circuit.number_readout.answers(plain_votes(circuit, rows))
    limit = float(data.draw(st.sampled_from(numbers.tolist())))
    assume(math.isfinite(limit))
    claim = range_claim(circuit, None, limit, None, where, None)
    check(claim_question(claim), float(weights[numbers < limit].sum() / weights.sum()))


@law
@given(
    data=st.data(),
    circuit=ANY,
    direction=st.sampled_from(["rising", "falling"]),
)
def test_the_share_of_reversals_is_that_of_all_values(
    data: st.DataObject, circuit: Circuit, direction: Any
) -> None:
    ordered = [at for at, column in enumerate(circuit.columns) if column.is_numeric]
    assume(ordered and circuit.n_classes > 1)
    at = data.draw(st.sampled_from(ordered))
    where = conditions(data.draw, circuit)
    label = data.draw(st.integers(0, circuit.n_classes - 1))
    found = all_pieces(circuit, where)
    others = [place for place in range(len(found)) if place != at]
    total = violating = 0.0
    for rest in itertools.product(*(found[place] for place in others)):
        rows = []
        for own in found[at]:
            cells = dict(zip([*others, at], [*rest, own], strict=True))
            rows.append([cells[place][0] for place in range(len(found))])
        votes = plain_votes(circuit, rows)
        margins = votes[:, [label]] - np.delete(votes, label, axis=1)
        gains = np.diff(margins, axis=0) * (1 if direction == "rising" else -1)
        weight = math.prod(weight for _, weight in rest)
        total += weight
        violating += weight * bool((gains < 0).any())
    name = circuit.columns[at].name
    share = share_monotone(
        circuit, name, circuit.classes[label], direction=direction, where=where, time_limit=None
    )
    assert share.exact
    assert share.estimate == pytest.approx(violating / total, abs=1e-9)


# -- examples ---------------------------------------------------------------------------------


def loan() -> Circuit:
    """No loan above a debt of 30, or above 10 with a low income; women get more."""
    numbers = (0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 100.0)
    return Circuit(
        (
            Column("debt", "number", range=ValueRange(numbers)),
            Column("sex", "category", ("f", "m"), range=ValueRange()),
            Column("income", "integer"),
        ),
        (Above(0, 30.0), Above(0, 10.0), Among(1, (0,)), Missing(0)),
        (Node(GATE_BY_NAME["OR"], 1, 2),),
        (Rule(0, (2, 0)), Rule(4, (0, 1))),
        (0, 0),
        ("no", "yes"),
    )


def test_ranges_of_the_model_file_are_the_box_without_conditions() -> None:
    share = share_rule(loan(), "yes")
    # Above 30: no. From 10 to 30: yes. Below 10: yes for women only.
    assert share == Share(pytest.approx(0.75), pytest.approx(0.75), pytest.approx(0.75))  # type: ignore[arg-type]
    assert share.exact
    assert str(share) == "75 % of the box violates it"


def test_rows_are_counted_if_they_fulfil_the_condition() -> None:
    rows = [[5, "f", 1], [5, "m", 1], [50, "f", 1], [None, "m", 1], [50, "x", 2]]
    share = share_rule(loan(), "yes", data=rows)
    assert (share.n_rows, share.n_violating, share.of_rows) == (5, 4, 0.8)
    share = share_rule(loan(), "yes", where={"sex": "f", "income": (None, 1)}, data=rows)
    assert (share.n_rows, share.n_violating) == (2, 1)
    assert str(share) == "1 of 2 rows violate it (50 %); 70 % of the box violates it"
    share = share_rule(loan(), "yes", where={"debt": None}, data=rows)
    assert (share.n_rows, share.n_violating, share.lower) == (1, 1, 0.5)
    assert share_rule(loan(), "yes", where={"sex": "m"}, data=rows[:1]).of_rows is None


def test_a_row_depends_on_a_column_if_another_likely_value_changes_its_class() -> None:
    rows = [[5, "f", 1], [5, "m", 1], [20, "f", 1], [50, "f", 1]]
    share = share_independent(loan(), ["sex"], data=rows)
    assert (share.n_rows, share.n_violating) == (4, 2)
    assert share.estimate == pytest.approx(0.1)
    # Only one sex occurs in these rows, so nothing changes it.
    assert share_independent(loan(), ["sex"], data=rows[:1]).n_violating == 0


def test_a_range_of_the_lead_has_a_share() -> None:
    share = share_range(loan(), "no", at_most=0, data=[[50, "f", 1], [5, "f", 1]])
    assert (share.n_violating, share.estimate) == (1, pytest.approx(0.7))


def test_a_binary_number_is_0_or_1() -> None:
    column = Column("flag", "number", binary=True)
    circuit = Circuit((column,), (Above(0, 0.0),), (), (Rule(0, (0, 1)),), (0, 0), ("n", "y"))
    assert share_rule(circuit, "y").estimate == 0.5


def test_a_column_without_a_range_needs_one() -> None:
    bare = replace(loan().columns[0], range=None)
    circuit = Circuit((bare,), (Above(0, 10.0),), (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes"))
    with pytest.raises(OptionError, match=r"range of 'debt' is not known.*give its limits"):
        share_rule(circuit, "yes")
    assert share_rule(circuit, "yes", data=[[0], [40]]).estimate == 0.25
    assert share_rule(circuit, "yes", where={"debt": (0, 20)}).estimate == 0.5
    with pytest.raises(OptionError, match="no value from 200 to 100"):
        share_rule(loan(), "yes", where={"debt": (200, None)})


def test_random_changes_within_tolerances_change_the_class_with_a_probability() -> None:
    rows = [[31, "f", 1], [12, "m", 1], [80, "m", 1], [None, "f", 1]]
    shares = share_robust(loan(), rows, {"debt": 4})
    assert [share.estimate for share in shares] == [0.375, 0.25, 0.0, 0.0]
    (free,) = share_robust(loan(), rows[1:2], {"debt": 4}, free=["sex"])
    assert free.estimate == 0.125


def test_the_time_limit_leaves_bounds_and_an_estimate() -> None:
    rng = np.random.default_rng(0)
    n = 40
    literals = [Above(index, 0.5) for index in range(n)]
    gates = [GATE_BY_NAME[name] for name in ("AND", "OR", "XOR")]
    nodes = [Node(gates[k % 3], *map(int, rng.choice(n, 2, replace=False))) for k in range(90)]
    rules = [Rule(n + k, (int(rng.integers(0, 4)), int(rng.integers(0, 4)))) for k in range(90)]
    columns = [Column(f"x{index}", "boolean") for index in range(n)]
    circuit = Circuit(columns, literals, nodes, rules, (0, 0), ("no", "yes"))
    share = share_rule(circuit, "yes", time_limit=0.05)
    assert not share.exact
    assert 0 <= share.lower <= share.estimate <= share.upper <= 1
    again = claim_question(rule_claim(circuit, "yes", {}, False, None))
    truth = circuit.predict(rng.integers(0, 2, (20_000, n)).astype(float)) != "yes"
    lower, upper = again.bounds(None, 300)
    assert lower <= truth.mean() <= upper
    assert abs(share.estimate - truth.mean()) < 0.04
    assert "an estimated" in str(share)


# -- the command ------------------------------------------------------------------------------


def test_the_command_prints_shares(run: Run, tmp_path: Path) -> None:
    model, rows = tmp_path / "m.json", tmp_path / "rows.csv"
    loan().save(model)
    rows.write_text("debt,sex,income\n5,f,1\n20,m,1\n50,f,1\n31,f,1\n", "utf-8")
    status, out, _ = run("prove", model, "--independent", "sex", "--data", rows, "--share")
    assert status == 1
    assert out.endswith("\nShare: 1 of 4 rows violate it (25 %); 10 % of the box violates it.\n")
    options = ("--always", "yes", "--where", "debt=20..40", "--share")
    assert "Share: 50 % of the box violates it." in run("prove", model, *options)[1]
    share = json.loads(run("prove", model, *options, "--json")[1])["share"]
    assert (share["lower"], share["upper"], share["estimate"]) == (0.5, 0.5, 0.5)
    assert "n_rows" not in share
    proven = json.loads(
        run("prove", model, "--always", "yes", "--share", "--where", "debt=20..30", "--json")[1]
    )
    assert proven["proven"] is True
    assert "share" not in proven


def test_the_command_prints_the_share_around_rows(run: Run, tmp_path: Path) -> None:
    model, rows = tmp_path / "m.json", tmp_path / "rows.csv"
    loan().save(model)
    rows.write_text("debt,sex,income\n5,f,1\n31,f,1\n", "utf-8")
    options = ("--robust", "--tolerance", "debt=4", "--data", rows, "--share")
    status, out, _ = run("prove", model, *options)
    assert status == 1
    assert "row 2: refuted: changing debt" in out
    assert out.endswith("; 37.5 % of the box violates it\n")
    shares = json.loads(run("prove", model, *options, "--json")[1])["box_shares"]
    assert [share["upper"] for share in shares] == [0, 0.375]
    status, _, err = run("prove", model, "--monotone", "debt=+", "--share")
    assert (status, err.count("\n")) == (2, 1)
    assert "--share cannot be used with constraints" in err
