"""A reason forces the class, no column of it can be left out, and its conditions say what it is."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.errors import DlnError, OptionError, TableError
from dln.explain.codes import reason_codes
from dln.explain.condition import describe_atoms
from dln.prove.search import rows_of
from dln.prove.table_check import tables_are_right
from tests.support.strategies import (
    as_objects,
    atom_cells,
    busy_circuits,
    circuits,
    law,
    logic_circuits,
    plain_votes,
)

ANY = st.one_of(circuits(max_columns=3), logic_circuits(), busy_circuits())


def all_rows(circuit: Circuit) -> tuple[list[tuple[int, ...]], list[list[Any]]]:
    """List every row that the circuit can distinguish: as atoms and as values."""
    search = circuit._search
    sizes = search.variables.sizes
    assume(math.prod(sizes) <= 600)
    atoms = list(itertools.product(*map(range, sizes)))
    rows = []
    for row in atoms:
        cells: list[Any] = [None] * len(circuit.columns)
        for place, atom in enumerate(row):
            cells[search.variables.read[place]] = atom_cells(circuit, search.variables.read[place])[
                atom
            ]
        rows.append(cells)
    return atoms, rows


def winners(circuit: Circuit, rows: list[list[Any]]) -> list[int]:
    """Return the classes of rows, by an evaluation of its own; ties go to the first class."""
    return [
        max(range(len(v)), key=lambda c: (v[c], -c)) for v in plain_votes(circuit, rows).tolist()
    ]


@law
@given(data=st.data(), circuit=ANY)
def test_a_reason_is_right_minimal_and_widest_by_brute_force(
    data: st.DataObject, circuit: Circuit
) -> None:
    search = circuit._search
    atoms, rows = all_rows(circuit)
    classes = winners(circuit, rows)
    at = data.draw(st.integers(0, len(rows) - 1))
    own, winner = atoms[at], classes[at]
    found, predicted = rows_of(circuit, as_objects(circuit, [rows[at], rows[at]]))
    assert tuple(found[0].tolist()) == own
    assert predicted[0] == winner
    kept, boxes, witnessed, witnesses, sure = search.native.reasons(
        found[:1].copy(), search.all_rows, np.ones(len(own)), 2**62, math.inf, 9.0, 1
    )
    assert sure.all()
    others = {row for row, other in zip(atoms, classes, strict=True) if other != winner}
    allowed = [
        set(np.flatnonzero(search.part(boxes[0], place)).tolist()) for place in range(len(own))
    ]

    def forces(choice: list[set[int]]) -> bool:
        return not any(all(a in c for a, c in zip(row, choice, strict=True)) for row in others)

    assert all(atom in choice for atom, choice in zip(own, allowed, strict=True))
    assert forces(allowed)
    everything = [set(range(size)) for size in search.variables.sizes]
    needed = [
        {atom} if keep else every
        for atom, keep, every in zip(own, kept[0].tolist(), everything, strict=True)
    ]
    for place in np.flatnonzero(kept[0]).tolist():
        without = [*needed[:place], everything[place], *needed[place + 1 :]]
        assert not forces(without)
        choice = allowed[place]
        ordered = circuit.columns[search.variables.read[place]].is_numeric
        for atom in everything[place] - choice:
            touches = not ordered or atom - 1 in choice or atom + 1 in choice
            if touches and not (ordered and _is_missing(search, place, min(choice))):
                assert not forces([*allowed[:place], {*choice, atom}, *allowed[place + 1 :]])
    assert {tuple(row) for row in witnesses.tolist()} <= others
    assert (witnessed == kept).all()


def _is_missing(search: Any, place: int, atom: int) -> bool:
    return search.atom_at(place, atom).cell is None


@law
@given(data=st.data(), circuit=ANY)
def test_the_public_reason_agrees_and_is_checked(data: st.DataObject, circuit: Circuit) -> None:
    _, rows = all_rows(circuit)
    at = data.draw(st.integers(0, len(rows) - 1))
    assume(
        not any(
            isinstance(cell, (int, float)) and not isinstance(cell, bool) and not c.is_numeric
            for cell, c in zip(rows[at], circuit.columns, strict=True)
        )
    )
    reason = circuit.reason(rows[at], widen="full", time_limit=None)
    assert reason.minimal
    assert reason.widest
    assert reason.checked
    assert reason.label == circuit.classes[winners(circuit, [rows[at]])[0]]
    names = [column.name for column in circuit.columns]
    for part in reason.parts:
        assert _holds(part.condition, rows[at][names.index(part.feature)], part.feature)


@law
@given(circuit=ANY)
def test_the_tables_have_the_votes_of_the_circuit(circuit: Circuit) -> None:
    assert tables_are_right(circuit._search)


@law
@given(data=st.data(), circuit=ANY)
def test_many_rows_get_the_reasons_that_they_get_alone(
    data: st.DataObject, circuit: Circuit
) -> None:
    _, rows = all_rows(circuit)
    chosen = [rows[data.draw(st.integers(0, len(rows) - 1))] for _ in range(3)]
    for row in chosen:
        for cell, column in zip(row, circuit.columns, strict=True):
            assume(column.is_numeric or cell is None or isinstance(cell, str))
    together = reason_codes(circuit, as_objects(circuit, chosen), time_limit=None, check=True)
    for row, reason in zip(chosen, together, strict=True):
        assert reason == circuit.reason(row, time_limit=None)


def test_columns_of_many_thresholds_are_read_in_tables_of_many_rows() -> None:
    cutoffs = [float(n) for n in range(20)]
    circuit = Circuit(
        (Column("x", "number"), Column("y", "number")),
        [Above(at, cutoff) for at in (0, 1) for cutoff in cutoffs],
        (),
        [Rule(wire, (0, 1)) for wire in range(40)],
        (20, 0),
        ("low", "high"),
    )
    table = np.random.default_rng(0).uniform(-2, 22, (50, 2))
    atoms, classes = rows_of(circuit, table)
    assert (atoms == np.searchsorted(cutoffs, table)).all()
    assert (classes == (atoms.sum(axis=1) > 20)).all()


def test_attacks_find_the_reasons_of_every_row_of_a_sum_of_steps() -> None:
    """Sums of steps of 5 columns, by brute force: every reason is right and minimal."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        votes = rng.integers(-3, 4, (5, 3, 3)).cumsum(axis=1)
        rules = [
            Rule(3 * v + t, tuple(int(x) for x in votes[v, t])) for v in range(5) for t in range(3)
        ]
        literals = [Above(v, float(t)) for v in range(5) for t in range(3)]
        columns = [Column(f"x{v}", "number") for v in range(5)]
        circuit = Circuit(columns, literals, (), rules, (1, 0, 1), ("a", "b", "c"))
        table = np.array(list(itertools.product([-0.5, 0.5, 1.5, 2.5], repeat=5)))
        classes = circuit.predict(table)
        for at in rng.integers(0, len(table), 20).tolist():
            reason = circuit.reason(table[at].tolist(), widen="no", time_limit=None)
            assert reason.minimal
            kept = [column.name in reason.features for column in circuit.columns]
            same = table == table[at]
            assert (classes[same[:, kept].all(axis=1)] == reason.label).all()
            for v in np.flatnonzero(kept).tolist():
                others = [c for c in np.flatnonzero(kept).tolist() if c != v]
                assert (classes[same[:, others].all(axis=1)] != reason.label).any()


# -- conditions -------------------------------------------------------------------------------

NUMBER = re.compile(r"^(?:(\S+) < )?x(?: (<=|>|=|!=) (\S+))?$")


def _holds(condition: str, cell: Any, name: str) -> bool:
    """Only a plausibility check: the test below evaluates conditions exactly."""
    return condition != "" or cell == name


@pytest.mark.parametrize("told_apart", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_conditions_on_numbers_hold_exactly_for_their_atoms(size: int, told_apart: bool) -> None:
    cutoffs = [10.0 * n for n in range(1, size + 1)]
    literals = [*(Above(0, cutoff) for cutoff in cutoffs), *([Missing(0)] if told_apart else [])]
    circuit = Circuit((Column("x", "number"),), literals, (), (), (0,), ("a",))
    search = circuit._search
    found = search.variables.atoms[0]
    for n_chosen in range(1, len(found.atoms)):
        for chosen in itertools.combinations(range(len(found.atoms)), n_chosen):
            text = describe_atoms(circuit.logic, 0, found, chosen)
            for value in (None, 5.0, 10.0, 10.5, 20.0, 25.0, 35.0, 45.0, 99.0):
                literals_true = rows_of(circuit, [[value], [None]])[0][0]
                assert evaluate(text, value) == (int(literals_true[0]) in chosen), (text, value)


@pytest.mark.parametrize("told_apart", [False, True])
def test_conditions_on_categories_hold_exactly_for_their_atoms(told_apart: bool) -> None:
    column = Column("x", "category", ("red", "blue", "green", "grey"))
    literals = [Among(0, (0,)), Among(0, (0, 1)), *([Missing(0)] if told_apart else [])]
    circuit = Circuit((column,), literals, (), (), (0,), ("a",))
    found = circuit._search.variables.atoms[0]
    for n_chosen in range(1, len(found.atoms)):
        for chosen in itertools.combinations(range(len(found.atoms)), n_chosen):
            text = describe_atoms(circuit.logic, 0, found, chosen)
            for value in (None, "red", "blue", "green", "grey", "pink"):
                atom = int(rows_of(circuit, [[value], ["red"]])[0][0][0])
                assert evaluate(text, value) == (atom in chosen), (text, value)


def evaluate(text: str, value: Any) -> bool:
    """Evaluate a condition on x; a missing value fails `>`, `=` and `in`, and passes the others."""
    return any(all(test(part, value) for part in way.split(" and ")) for way in text.split(" or "))


def test(text: str, value: Any) -> bool:
    if text in ("x is missing", "missing"):
        return value is None
    if text == "x is not missing":
        return value is not None
    if found := re.fullmatch(r"(\S+) < x <= (\S+)", text):
        return value is not None and float(found[1]) < value <= float(found[2])
    if found := re.fullmatch(r"x (<=|>) (\S+)", text):
        above = value is not None and value > float(found[2])
        return above if found[1] == ">" else not above
    found = re.fullmatch(r"x (=|!=|in|not in) \{?([^}]*)\}?", text)
    assert found, text
    among = value in found[2].split(", ")
    return among if found[1] in ("=", "in") else not among


test.__test__ = False  # type: ignore[attr-defined]


# -- examples ---------------------------------------------------------------------------------

AND, OR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"]
COLUMNS = (
    Column("age", "integer"),
    Column("pressure", "number"),
    Column("city", "category", ("Bern", "Basel", "Chur")),
)


def clinic() -> Circuit:
    return Circuit(
        COLUMNS,
        (Above(0, 54.0), Above(1, 120.0), Above(1, 180.0), Among(2, (0, 1))),
        (Node(GATE_BY_NAME["A_AND_NOT_B"], 1, 2), Node(AND, 0, 4)),
        (Rule(5, (0, 2)), Rule(3, (1, 0))),
        (0, 0),
        ("low", "high"),
    )


def test_intervals_and_sets_are_as_wide_as_possible() -> None:
    reason = clinic().reason([60, 140.0, "Bern"])
    assert reason.condition == "age > 54 and 120 < pressure <= 180"
    assert reason.features == ("age", "pressure")
    assert reason.minimal
    assert reason.checked
    assert str(reason).splitlines() == [
        "high: this is enough, whatever the other columns hold",
        "  age > 54",
        "  120 < pressure <= 180",
    ]


def test_a_tie_goes_to_the_first_class() -> None:
    circuit = Circuit(
        (Column("x", "boolean"),), (Above(0, 0.5),), (), (Rule(0, (1, 1)),), (0, 0), ("no", "yes")
    )
    reason = circuit.reason([True])
    assert (reason.label, reason.parts) == ("no", ())
    assert "every possible row" in str(reason)


def test_preferred_columns_are_used_if_possible() -> None:
    circuit = Circuit(
        (Column("a", "boolean"), Column("b", "boolean")),
        (Above(0, 0.5), Above(1, 0.5)),
        (Node(OR, 0, 1),),
        (Rule(2, (0, 1)),),
        (0, 0),
        (0, 1),
    )
    for name in "ab":
        assert circuit.reason([True, True], prefer=[name]).features == (name,)
        assert circuit.reason([True, True], costs={name: 0.5}).features == (name,)


def test_large_rules_are_split() -> None:
    n = 24
    nodes = [
        Node(AND if wire % 2 else GATE_BY_NAME["XOR"], wire - 1, wire - n)
        for wire in range(n, 2 * n)
    ]
    circuit = Circuit(
        [Column(f"x{i}", "boolean") for i in range(n)],
        [Above(i, 0.5) for i in range(n)],
        nodes,
        [Rule(2 * n - 1, (0, 1))],
        (0, 0),
        ("no", "yes"),
    )
    assert circuit._search.tables.has_definitions
    rng = np.random.default_rng(0)
    for row in rng.integers(0, 2, (20, n)):
        reason = circuit.reason(row.tolist(), time_limit=None)
        assert reason.minimal
        assert not reason.checked
        fixed = [column.name in reason.features for column in circuit.columns]
        tries = np.where(fixed, row, rng.integers(0, 2, (2000, n)))
        assert (circuit.predict(tries) == reason.label).all()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"prefer": ["size"]}, OptionError, "no column 'size'; the columns are: age"),
        ({"costs": {"age": 0}}, OptionError, "costs has 0 for 'age', expected a positive number"),
        ({"widen": "more"}, OptionError, "widen is 'more'"),
        ({"time_limit": -1}, OptionError, "time_limit is -1"),
        ({"row": [[1, 2, "x"]] * 2}, TableError, "2 rows, expected one"),
    ],
)
def test_invalid_questions_are_refused(
    options: dict[str, Any], error: type[DlnError], said: str
) -> None:
    row = options.pop("row", [60, 140.0, "Bern"])
    with pytest.raises(error, match=said):
        clinic().reason(row, **options)


def test_a_value_that_its_column_cannot_have_is_refused() -> None:
    circuit = Circuit(
        (Column("n", "integer"),),
        (Above(0, 3.2), Above(0, 3.7)),
        (),
        (Rule(0, (0, 1)), Rule(1, (1, 0))),
        (0, 0),
        (0, 1),
    )
    with pytest.raises(TableError, match=r"column n holds 3.5, which is not of its kind"):
        circuit.reason([3.5])


# -- several reasons --------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=ANY)
def test_all_minimal_reasons_are_found_smallest_first(
    data: st.DataObject, circuit: Circuit
) -> None:
    atoms, rows = all_rows(circuit)
    classes = winners(circuit, rows)
    at = data.draw(st.integers(0, len(rows) - 1))
    for cell, column in zip(rows[at], circuit.columns, strict=True):
        assume(column.is_numeric or cell is None or isinstance(cell, str))
    names = circuit._search.names
    n_columns = len(names)

    def forces(kept: tuple[int, ...]) -> bool:
        return all(
            winner == classes[at]
            for row, winner in zip(atoms, classes, strict=True)
            if all(row[column] == atoms[at][column] for column in kept)
        )

    subsets = [s for k in range(n_columns + 1) for s in itertools.combinations(range(n_columns), k)]
    enough = [set(s) for s in subsets if forces(s)]
    minimal = [s for s in enough if not any(other < s for other in enough)]
    found = circuit.reasons(rows[at], n=100, time_limit=None)
    assert found.complete
    sizes = [len(reason.parts) for reason in found.reasons]
    assert sizes == sorted(sizes)
    expected = {frozenset(names[column] for column in s) for s in minimal}
    assert {frozenset(reason.features) for reason in found.reasons} == expected
    assert set(found.necessary) == set.intersection(*map(set, expected))
    assert found.irrelevant is not None
    assert {*found.irrelevant} == {c.name for c in circuit.columns} - set().union(*expected)
    assert all(reason.checked and reason.minimal for reason in found.reasons)
    few = circuit.reasons(rows[at], n=1, time_limit=None)
    assert len(few.reasons[0].parts) == min(map(len, minimal))
    assert few.complete == (len(minimal) == 1)


def test_necessary_and_irrelevant_columns_are_named() -> None:
    found = clinic().reasons([60, 140.0, "Bern"])
    assert str(found).splitlines() == [
        "high: all minimal reasons, whatever the other columns hold",
        "  1. age > 54 and 120 < pressure <= 180",
        "in every reason: age, pressure",
        "in no reason: city",
    ]
    with pytest.raises(OptionError, match="n is 0"):
        clinic().reasons([60, 140.0, "Bern"], n=0)
