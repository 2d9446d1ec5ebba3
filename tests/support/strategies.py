"""Random valid circuits, and tables for them in every supported container.

`DLN_EXAMPLES=2000 pytest tests` tries more examples than the default.
"""

from __future__ import annotations

import datetime
import itertools
import math
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dln.core.calibration import Calibration
from dln.core.circuit import Circuit
from dln.core.conditions import column_atoms
from dln.core.gates import GATES
from dln.core.labels import Label
from dln.core.literals import (
    COLUMN_KINDS,
    Above,
    Among,
    Category,
    Column,
    ColumnKind,
    Literal,
    Missing,
)
from dln.core.parts import Node, Rule
from dln.core.score import LINKS, Score

law = settings(
    max_examples=int(os.environ.get("DLN_EXAMPLES", "60")),
    derandomize="DLN_EXAMPLES" not in os.environ,
    deadline=None,
    # A test must not fail because the machine is slow.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""Settings of every property test."""

Cell = Any
Rows = list[list[Cell]]

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, 1e-300, -1e300, 5e-324, 16777217.0, 2.0**53]),
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
)
NAMES = st.one_of(
    st.sampled_from(["age", "part1", "salt and pepper", "not it", "é (cm)", " ", "7", "a\nb", "'"]),
    st.text(max_size=4),
)
CATEGORIES = st.one_of(
    st.sampled_from(["red", "green", "blue", "", "1", "True", "x > 3", "{a, b}", "'", "a or b"]),
    st.text(max_size=3),
    st.integers(-2, 2),
    st.sampled_from([0.5, math.inf, -math.inf, 2.0**60, True]),
)
LABELS = st.one_of(
    st.lists(st.text(max_size=3), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-5, 5), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=6, unique=True),
    st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
    st.lists(st.dates(), min_size=1, max_size=6, unique=True),
    st.lists(st.datetimes(), min_size=1, max_size=6, unique=True),
    st.lists(
        st.one_of(st.text(max_size=2), st.integers(2, 9)), min_size=1, max_size=6, unique=True
    ),
)

# Gates of two inputs are drawn more often than constants, copies and negations, which test little.
_REAL_GATES = [gate for gate in GATES if gate.reads_a and gate.reads_b]
_GATES = st.sampled_from([*_REAL_GATES, *_REAL_GATES, *GATES])

# Dates with seconds that float64 holds exactly, so that every container gives the same number.
_DATES = st.integers(-(10**6), 10**6).map(lambda hours: hours * 3600.0)


@st.composite
def columns(draw: st.DrawFn, kinds: tuple[ColumnKind, ...] = COLUMN_KINDS) -> Column:
    kind = draw(st.sampled_from(kinds))
    categories: list[Category] = []
    if kind == "category":
        # At least one text, as in a column that dln itself reads as categories.
        categories = draw(st.lists(CATEGORIES, max_size=9, unique=True))
        categories += [] if any(isinstance(c, str) for c in categories) else ["word"]
    return Column(draw(NAMES), kind, tuple(categories))


@st.composite
def literals_of(draw: st.DrawFn, table: tuple[Column, ...]) -> Literal:
    index = draw(st.integers(0, len(table) - 1))
    column = table[index]
    if draw(st.integers(0, 4)) == 0:
        return Missing(index)
    if column.kind == "category":
        codes = st.integers(0, len(column.categories) - 1)
        return Among(index, tuple(draw(st.lists(codes, min_size=1, max_size=9, unique=True))))
    if column.kind == "boolean":
        return Above(index, draw(st.sampled_from([0.5, 0.0, -1.0, 1.0])))
    return Above(index, draw(_DATES if column.kind == "date" else NUMBERS))


@st.composite
def nodes_over(draw: st.DrawFn, n_literals: int, max_gates: int) -> tuple[Node, ...]:
    if n_literals == 0:
        return ()
    nodes: list[Node] = []
    for wire in range(n_literals, n_literals + draw(st.integers(0, max_gates))):
        # Recent wires are more likely, for deeper circuits.
        back = st.integers(1, wire)
        a, b = wire - draw(back), wire - draw(back)
        nodes.append(Node(draw(_GATES), a, b))
    return tuple(nodes)


@st.composite
def rules_over(draw: st.DrawFn, n_wires: int, n_classes: int) -> tuple[Rule, ...]:
    if n_wires == 0:
        return ()
    vote = st.one_of(st.integers(0, 1), st.integers(-3, 7), st.sampled_from([-1000, 10**6]))
    votes = st.tuples(*[vote] * n_classes)
    wire = st.integers(1, n_wires).map(lambda back: n_wires - back)  # the last ones first
    return tuple(draw(st.lists(st.builds(Rule, wire, votes), max_size=8)))


@st.composite
def calibrations(draw: st.DrawFn, n_classes: int) -> Calibration | None:
    """Draw a valid calibration for a number of classes, or none."""
    if n_classes < 2 or draw(st.booleans()):
        return None
    lead = st.one_of(st.integers(-9, 9), st.sampled_from([-(10**7), 10**6, 2**33]))
    leads = sorted(draw(st.sets(lead, min_size=1, max_size=6)))
    value = st.one_of(st.integers(1, 999).map(lambda n: n / 1000), st.sampled_from([1e-6, 0.99999]))
    table = st.lists(value, min_size=len(leads), max_size=len(leads)).map(sorted)
    n_tables = n_classes if n_classes > 2 and draw(st.booleans()) else 1
    return Calibration(tuple(leads), tuple(tuple(draw(table)) for _ in range(n_tables)))


@st.composite
def circuits(
    draw: st.DrawFn,
    kinds: tuple[ColumnKind, ...] = COLUMN_KINDS,
    max_columns: int = 4,
    max_literals: int = 6,
    max_gates: int = 12,
) -> Circuit:
    """Draw a valid circuit: with or without columns, literals, gates and rules."""
    table = tuple(
        draw(st.lists(columns(kinds), max_size=max_columns, unique_by=lambda column: column.name))
    )
    literals: tuple[Literal, ...] = ()
    if table:
        literals = tuple(draw(st.lists(literals_of(table), max_size=max_literals)))
    classes: tuple[Label, ...] = tuple(draw(LABELS))
    nodes = draw(nodes_over(len(literals), max_gates))
    return Circuit(
        columns=table,
        literals=literals,
        nodes=nodes,
        rules=draw(rules_over(len(literals) + len(nodes), len(classes))),
        base_votes=draw(st.tuples(*[st.integers(-2, 2)] * len(classes))),
        classes=classes,
        temperature=draw(st.sampled_from([1.0, 0.25, 3.0, 1e-300, 1e300])),
        calibration=draw(calibrations(len(classes))),
    )


@st.composite
def logic_circuits(draw: st.DrawFn, max_literals: int = 5, max_gates: int = 14) -> Circuit:
    """Draw a circuit of boolean columns with one literal each, so that `every_row` is complete."""
    n_literals = draw(st.one_of(st.integers(2, max_literals), st.integers(0, max_literals)))
    n_classes = draw(st.integers(1, 3))
    nodes = draw(nodes_over(n_literals, max_gates))
    return Circuit(
        columns=tuple(Column(f"x{index}", "boolean") for index in range(n_literals)),
        literals=tuple(Above(index, 0.5) for index in range(n_literals)),
        nodes=nodes,
        rules=draw(rules_over(n_literals + len(nodes), n_classes)),
        base_votes=(0,) * n_classes,
        classes=tuple(range(n_classes)),
    )


@st.composite
def score_circuits(
    draw: st.DrawFn, kinds: tuple[ColumnKind, ...] = COLUMN_KINDS, max_gates: int = 12
) -> Circuit:
    """Draw a circuit that predicts a number."""
    return with_score(draw, draw(circuits(kinds, max_gates=max_gates)))


@st.composite
def score_logic_circuits(draw: st.DrawFn, max_literals: int = 5, max_gates: int = 14) -> Circuit:
    """Draw a circuit of boolean columns that predicts a number; `every_row` is complete."""
    return with_score(draw, draw(logic_circuits(max_literals, max_gates)))


def with_score(draw: st.DrawFn, circuit: Circuit) -> Circuit:
    """Draw a score for the logic of a circuit."""
    point = st.one_of(st.integers(-9, 9), st.integers(-99_999, 99_999), st.just(10**8))
    score = Score(
        tuple(Rule(rule.wire, (draw(point),)) for rule in circuit.rules),
        (draw(point),),
        draw(st.one_of(st.integers(-3, 6), st.sampled_from([-22, 22]))),
        draw(st.sampled_from(LINKS)),
        draw(NAMES),
    )
    return Circuit(logic=circuit.logic, readout=score)


@st.composite
def busy_circuits(draw: st.DrawFn, kinds: tuple[ColumnKind, ...] = COLUMN_KINDS) -> Circuit:
    """Draw a circuit of few columns and many literals, where most rows can be changed."""
    table = (replace(draw(columns(kinds)), name="a"), replace(draw(columns(kinds)), name="b"))
    literals = tuple(draw(st.lists(literals_of(table), min_size=3, max_size=6)))
    nodes = draw(nodes_over(len(literals), 5))
    wires = st.integers(0, len(literals) + len(nodes) - 1)
    rule = st.builds(Rule, wires, st.sampled_from([(0, 1), (1, 0), (2, 0), (0, 2)]))
    rules = tuple(draw(st.lists(rule, min_size=2, max_size=6)))
    return Circuit(table, literals, nodes, rules, (0, 0), ("no", "yes"))


def every_row(circuit: Circuit) -> NDArray[np.float64]:
    """Make all rows of a circuit of boolean columns: (2 ** n_columns, n_columns)."""
    rows = list(itertools.product([0.0, 1.0], repeat=len(circuit.columns)))
    return np.array(rows).reshape(len(rows), len(circuit.columns))


def plain_votes(circuit: Circuit, rows: Rows) -> NDArray[np.int64]:
    """Count votes row by row from Python values, as the reference for all other ways."""
    votes = [_votes_of_row(circuit, row) for row in rows]
    return np.array(votes, dtype=np.int64).reshape(len(rows), circuit.readout.n_outputs)


def plain_number(score: Score, points: int) -> float:
    """Compute the prediction of some points in exact arithmetic, rounded once by each function."""
    exact = float(Fraction(points) / Fraction(10) ** score.digits)
    try:
        match score.link:
            case "identity":
                return exact
            case "log":
                return math.exp(exact)
            case "logit":
                return 1 / (1 + math.exp(-exact))
    except OverflowError:
        return math.inf if score.link == "log" else 0.0


def plain_wires(circuit: Circuit, rows: Rows) -> NDArray[np.bool_]:
    """Evaluate wires row by row from Python values, as the reference: (n_rows, n_wires)."""
    wires = [_wires_of_row(circuit, row) for row in rows]
    return np.array(wires, dtype=bool).reshape(len(rows), circuit.n_wires)


def _wires_of_row(circuit: Circuit, row: list[Cell]) -> list[int]:
    wires = [int(_holds(literal, circuit, row[literal.column])) for literal in circuit.literals]
    for gate, a, b in circuit.nodes:
        wires.append(gate.hard(wires[a], wires[b]))
    return wires


def _votes_of_row(circuit: Circuit, row: list[Cell]) -> list[int]:
    wires = _wires_of_row(circuit, row)
    votes = list(circuit.base_votes)
    for wire, given in circuit.rules:
        votes = [vote + wires[wire] * more for vote, more in zip(votes, given, strict=True)]
    return votes


def _holds(literal: Literal, circuit: Circuit, cell: Cell) -> bool:
    missing = cell is None or cell != cell
    if isinstance(literal, Missing):
        return missing
    if isinstance(literal, Among):
        known = circuit.columns[literal.column].categories
        return not missing and any(cell == known[index] for index in literal.categories)
    if isinstance(cell, datetime.datetime):
        cell = (cell - datetime.datetime(1970, 1, 1)).total_seconds()
    return not missing and float(cell) > literal.cutoff


# -- tables -----------------------------------------------------------------------------------


@st.composite
def rows_for(draw: st.DrawFn, circuit: Circuit, max_rows: int = 9) -> Rows:
    """Draw rows of Python values: at, near and far from cutoffs, categories, missing values."""
    cells = [_cells_of(circuit, index) for index in range(len(circuit.columns))]
    return draw(st.lists(st.tuples(*cells).map(list), max_size=max_rows))


def _cells_of(circuit: Circuit, index: int) -> st.SearchStrategy[Cell]:
    column = circuit.columns[index]
    cutoffs = [x.cutoff for x in circuit.literals if isinstance(x, Above) and x.column == index]
    if column.kind == "category":
        known = st.sampled_from(column.categories)
        return st.one_of(known, known, st.sampled_from(["never seen", None]))
    if column.kind == "boolean":
        return st.sampled_from([True, False, None])
    if column.binary:
        return st.sampled_from([0, 1, None])
    if column.kind == "date":
        return st.one_of(st.sampled_from([*map(_moment, cutoffs), None]), _DATES.map(_moment))
    if column.kind == "integer":
        steps = [math.floor(cutoff) + step for cutoff in cutoffs for step in (0, 1)]
        near_cutoffs = [step for step in steps if abs(step) < 2**53]
        return st.one_of(st.sampled_from([*near_cutoffs, 0, None]), st.integers(-5, 5))
    near = [0.0, -0.0, math.nan, math.inf, -math.inf]
    for cutoff in cutoffs:
        near += [cutoff, math.nextafter(cutoff, math.inf), math.nextafter(cutoff, -math.inf)]
    return st.one_of(st.sampled_from(near), NUMBERS)


def atom_cells(circuit: Circuit, column: int) -> list[Cell]:
    """List an example of every atom of a column, that is of all values its literals distinguish."""
    literals = [literal for literal in circuit.literals if literal.column == column]
    return [atom.cell for atom in column_atoms(circuit.columns[column], literals).atoms]


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)


Form = Callable[[Circuit, Rows], Any]


def as_rows(circuit: Circuit, rows: Rows) -> Any:
    """Return the rows as a list of lists, or as an empty array with the right number of columns."""
    return rows if rows else as_objects(circuit, rows)


def as_objects(circuit: Circuit, rows: Rows) -> NDArray[Any]:
    """Return the rows as an array of objects."""
    array = np.empty((len(rows), len(circuit.columns)), dtype=object)
    for index, row in enumerate(rows):
        array[index] = row
    return array


def as_pandas(circuit: Circuit, rows: Rows) -> pd.DataFrame:
    """Return a pandas frame with the columns in another order, and one additional column."""
    dtypes = {
        "number": "float64",
        "integer": "Int64",
        "boolean": "boolean",
        "date": "datetime64[us]",
        "category": "object",
    }
    data: dict[str, Any] = {"more of it": pd.Series(range(len(rows)))}
    for index, column in reversed(list(enumerate(circuit.columns))):
        data[column.name] = pd.Series([row[index] for row in rows], dtype=dtypes[column.kind])
    return pd.DataFrame(data)


def as_polars(circuit: Circuit, rows: Rows) -> pl.DataFrame:
    """Return a polars frame, in which categories must be text or objects."""
    dtypes: dict[ColumnKind, Any] = {
        "number": pl.Float64,
        "integer": pl.Int64,
        "boolean": pl.Boolean,
        "date": pl.Datetime("us"),
    }
    data = {}
    for index, column in enumerate(circuit.columns):
        cells = [row[index] for row in rows]
        text = all(cell is None or isinstance(cell, str) for cell in cells)
        dtype = dtypes.get(column.kind, pl.String if text else pl.Object)
        data[column.name] = pl.Series(cells, dtype=dtype)
    return pl.DataFrame(data)


FORMS: dict[str, Form] = {
    "rows": as_rows,
    "objects": as_objects,
    "pandas": as_pandas,
    "polars": as_polars,
}


def matrices(rows: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return the same float64 numbers in every memory layout."""
    wide = np.full((2 * len(rows), 3 * rows.shape[1]), -7.0)
    wide[::2, 1::3] = rows
    frozen = rows.copy()
    frozen.flags.writeable = False
    offset = np.zeros(rows.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(rows.shape)
    offset[...] = rows
    return [
        np.ascontiguousarray(rows),
        np.asfortranarray(rows),
        wide[::2, 1::3],
        rows[::-1, ::-1].copy()[::-1, ::-1],
        frozen,
        offset,
        rows.astype(">f8"),
    ]
