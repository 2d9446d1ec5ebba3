"""Circuits, and rows with extreme and unusual values, that every target must answer correctly."""

from __future__ import annotations

import datetime
import math
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dln import (
    GATES,
    Above,
    Among,
    Circuit,
    Column,
    DLNClassifier,
    DLNRegressor,
    Logic,
    Missing,
    Node,
    Rule,
    Score,
)
from dln.core.score import LINKS, MAX_DIGITS, Link
from tests.support.strategies import Rows, as_objects, circuits, score_circuits

_FEW = 5
_CLASSIFIERS = circuits(max_columns=5, max_literals=8, max_gates=16)
_EPOCH = datetime.datetime(1970, 1, 1)
_TICK = datetime.timedelta(microseconds=1)
_NUMBERS = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, 0.1, None]
_INTEGERS = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), None]
_DATES = [_EPOCH, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59), None]
_TEXTS = ["never seen", "", "NULL", "nan", "é", "a'b", 'a"b', "a\\b", "a\nb", None]


@dataclass(frozen=True)
class Case:
    """A circuit and rows of Python values."""

    circuit: Circuit
    rows: Rows

    @property
    def table(self) -> Any:
        return as_objects(self.circuit, self.rows)

    def answers(self) -> Answers:
        """Return the answers of `Circuit`, which all targets must match."""
        found = self.circuit.evaluate(self.table)
        fired = [np.flatnonzero(row).tolist() for row in found.fired]
        if self.predicts_number:
            return Answers(found.answers.tolist(), found.votes.tolist(), fired)
        return Answers(
            found.winners.tolist(), found.votes.tolist(), fired, found.probabilities.tolist()
        )

    @property
    def predicts_number(self) -> bool:
        return self.circuit.task == "number"

    @property
    def has_table(self) -> bool:
        """Whether the circuit looks up probabilities in a calibration."""
        return not self.predicts_number and self.circuit.calibration is not None


@dataclass(frozen=True)
class Answers:
    """For each row: the answer, the votes, the rules that fired, probabilities.

    The answer is the index of the class, or the number. A number has one vote: its points. Some
    targets give no probabilities, or only those of calibrated circuits.
    """

    predicted: list[Any]
    votes: list[list[int]]
    fired: list[list[int]]
    probabilities: list[list[float]] | None = field(default=None, compare=False)


def nasty_rows(circuit: Circuit, n_rows: int = 40, seed: int = 0) -> Rows:
    """Make rows of extreme and unusual values of every column, in random combinations."""
    mix = random.Random(seed)
    columns = []
    for index in range(len(circuit.columns)):
        cells = _cells(circuit, index)
        more = [mix.choice(cells) for _ in range(max(0, n_rows - len(cells)))]
        columns.append(mix.sample(cells + more, max(n_rows, len(cells)))[:n_rows])
    return [[column[row] for column in columns] for row in range(n_rows)]


def _cells(circuit: Circuit, index: int) -> list[Any]:
    column = circuit.columns[index]
    cutoffs = [x.cutoff for x in circuit.literals if isinstance(x, Above) and x.column == index]
    if column.kind == "category":
        return [*column.categories, *_TEXTS]
    if column.kind == "boolean":
        return [True, False, None]
    if column.kind == "number":
        beside = [math.nextafter(c, to) for c in cutoffs for to in (math.inf, -math.inf)]
        return [*cutoffs, *beside, *_NUMBERS]
    if column.kind == "date":
        moments = [_EPOCH + datetime.timedelta(seconds=c) for c in cutoffs]
        return [*moments, *(m + _TICK for m in moments), *(m - _TICK for m in moments), *_DATES]
    whole = [math.floor(c) + step for c in cutoffs if abs(c) < 2**62 for step in (-1, 0, 1)]
    return [*whole, *_INTEGERS]


@cache
def fixed_cases() -> tuple[Case, ...]:
    """Return circuits made by hand and trained circuits."""
    by_hand = (_gate_case(), _chunked_case(), _ladder_case(), _constant_case(), _twin_case())
    return (*by_hand, *_trained_cases())


@cache
def drawn_cases() -> tuple[Case, ...]:
    """Return random circuits, the same in every run; `DLN_EXAMPLES=2000` tests more of them."""
    return tuple(_drawn_cases())


@cache
def number_cases() -> tuple[Case, ...]:
    """Return circuits that predict a number: every number of digits, every link, random ones."""
    drawn = _drawn_cases(score_circuits(max_gates=16), 45)
    return (_given_number_case(), *_digit_cases(), *_link_cases(), *drawn)


def _drawn_cases(
    strategy: st.SearchStrategy[Circuit] = _CLASSIFIERS, n_examples: int = 110
) -> list[Case]:
    drawn: list[Case] = []

    @settings(
        max_examples=int(os.environ.get("DLN_EXAMPLES", n_examples)),
        derandomize="DLN_EXAMPLES" not in os.environ,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(circuit: Circuit) -> None:
        if not circuit.rules and len(drawn) > _FEW:
            return  # most small random circuits have no rule, and there is little to test
        n_rows = 70 if len(drawn) % 10 == 0 else 24  # some need more than one word of 64 rows
        drawn.append(Case(circuit, nasty_rows(circuit, n_rows, seed=len(drawn))))

    draw()
    return drawn


def _number_case(points: tuple[int, ...], offset: int, digits: int, link: Link) -> Case:
    """Make a circuit with a boolean column for each rule."""
    logic = Logic(
        tuple(Column(f"x{i}", "boolean") for i in range(len(points))),
        tuple(Above(i, 0.5) for i in range(len(points))),
        (),
    )
    rules = tuple(Rule(wire, (more,)) for wire, more in enumerate(points))
    circuit = Circuit(logic=logic, readout=Score(rules, (offset,), digits, link, 'the "price"\n'))
    return Case(circuit, nasty_rows(circuit, 12, seed=digits + 100))


def _digit_cases() -> list[Case]:
    """Make a circuit for every number of digits: small and large points, sums of 31 bits."""
    points = (1, -9, 100_007, -(2**29), 2**30 + 12_345)
    return [
        _number_case(points, 3 * digits, digits, "identity")
        for digits in range(-MAX_DIGITS, MAX_DIGITS + 1)
    ]


def _link_cases() -> list[Case]:
    """Make scores of usual size, and some beyond the range of the exponential function."""
    ranges = (((12, -340, 57, 1_001), 2), ((300, -700, 709, -45), 0), ((70_978, -74_513), 2))
    cases = [
        _number_case(points, 1, digits, link)
        for link in LINKS[1:]
        for points, digits in (*ranges, ((1, -3), -22), ((5, -8), 22))
    ]
    nothing = Score((), (-25,), digits=1, link="log")
    return [*cases, Case(Circuit(logic=Logic((), (), ()), readout=nothing), [[], []])]


def _gate_case() -> Case:
    """Make each of the 16 gates vote, over a number and a text that may be missing."""
    columns = (Column("x", "number"), Column("word", "category", ("a", "b")))
    literals = (Above(0, 0.1), Among(1, (1,)), Missing(0), Missing(1))
    nodes = tuple(Node(gate, a, b) for gate in GATES for a, b in ((0, 1), (2, 3), (0, 0)))
    rules = tuple(Rule(4 + n, (n % 3, -(n % 5))) for n in range(len(nodes)))
    circuit = Circuit(columns, literals, nodes, rules, (7, -3), ("no", "yes"))
    cells = [[x, word] for x in (0.1, 0.2, None, math.nan) for word in ("a", "b", "c", None)]
    return Case(circuit, cells)


def _chunked_case() -> Case:
    """Make a circuit with more gates than fit in one function, and rows for several words."""
    mix = random.Random(5)
    columns = tuple(Column(f"x{i}", "boolean") for i in range(12))
    literals = tuple(Above(i, 0.5) for i in range(12))
    nodes = []
    for wire in range(12, 12 + 1000):
        sources = [mix.randrange(max(0, wire - mix.choice((20, 2000))), wire) for _ in range(2)]
        nodes.append(Node(mix.choice(GATES), *sources))
    rules = tuple(
        Rule(mix.randrange(12, 1012), tuple(mix.randrange(-2, 3) for _ in range(5)))
        for _ in range(40)
    )
    circuit = Circuit(columns, literals, tuple(nodes), rules, (0, 1, 0, 0, 2), (1, 2, 3, 4, 5))
    return Case(circuit, nasty_rows(circuit, 150))


def _ladder_case() -> Case:
    """Make a circuit with 2 ** 40 paths. As one expression, it would fill the disk."""
    columns = tuple(Column(f"x{i}", "boolean") for i in range(4))
    nodes, a, b = [], 0, 1
    for level in range(40):
        wire = 4 + 2 * level
        nodes += [Node(GATES[7], a, b), Node(GATES[6], b, a if level % 3 else 2 + level % 2)]
        a, b = wire, wire + 1
    circuit = Circuit(
        columns,
        tuple(Above(i, 0.5) for i in range(4)),
        tuple(nodes),
        (Rule(a, (1, 0)), Rule(b, (0, 1))),
        (0, 0),
        ("even", "odd"),
    )
    return Case(circuit, nasty_rows(circuit, 30))


def _constant_case() -> Case:
    """Make a circuit without columns, and with a tie between the second class and the third."""
    return Case(Circuit((), (), (), (), (1, 2, 2), ("a", "b", "c")), [[], [], []])


def _twin_case() -> Case:
    """Make a circuit with every literal, gate and rule twice, and with a constant that votes."""
    columns = (Column("x", "number"), Column("code", "category", (1, 2.5, True + 2)))
    literals = (Missing(0), Missing(0), Above(0, 1.0), Above(0, 1.0), Among(1, (0, 2))) * 2
    nodes = tuple(Node(GATES[code], 2, 4) for code in (6, 6, 15, 0))
    rules = tuple(Rule(wire, (wire, 1 - wire)) for wire in (0, 1, 2, 3, 9, 10, 11, 12, 13, 13))
    circuit = Circuit(columns, literals, nodes, rules, (-4, 3), (False, True))
    return Case(circuit, [[x, c] for x in (0.5, 1.5, None) for c in (1, 2.5, 3, 9, None)])


def _trained_cases() -> list[Case]:
    """Train on a table that has a column of every kind, each with missing values."""
    rows = _training_rows()
    y = [
        ("low", "middle", "top")[((r[0] or 0) > 0) + ((r[1] or 0) > 4 or r[4] == "red")]
        for r in rows
    ]
    found = []
    for seed in range(2):
        model = DLNClassifier(layers=(12, 12), n_networks=2, epochs=40, random_state=seed)
        circuit = model.fit(_frame(rows), y).circuit_
        found.append(Case(circuit, nasty_rows(circuit, 60, seed)))
    model = DLNClassifier(layers=(8,), n_networks=1, epochs=10, rules=GIVEN, random_state=0)
    circuit = model.fit(_frame(rows).rename(columns=_PLAIN), y).circuit_
    assert len(circuit.locked) == 1
    found.append(Case(circuit, nasty_rows(circuit, 60, 2)))
    return found


def _given_number_case() -> Case:
    """Train a circuit that predicts a number around a given rule."""
    rows = _training_rows()
    y = [(r[0] or 0) + 3 * ((r[1] or 0) > 4) for r in rows]
    rules = GIVEN.split("\n")[1]
    model = DLNRegressor(layers=(8,), n_networks=1, epochs=10, rules=rules, random_state=0)
    circuit = model.fit(_frame(rows).rename(columns=_PLAIN), y).circuit_
    assert len(circuit.locked) == 1
    return Case(circuit, nasty_rows(circuit, 60, 2))


_PLAIN = {"amount (€)": "amount", "is it?": "open"}
"""Names that every target allows."""


def _training_rows() -> Rows:
    rng = np.random.default_rng(3)
    rows: Rows = []
    for _ in range(160):
        number, whole = rng.normal(), int(rng.integers(0, 9))
        row = [
            number,
            whole,
            bool(rng.integers(2)),
            _EPOCH + datetime.timedelta(days=int(rng.integers(0, 99)), microseconds=500_000),
            str(rng.choice(["red", "green", "blue, 'light'", "\u2028"])),
        ]
        rows.append([None if rng.random() < 0.1 else cell for cell in row])
    return rows


GIVEN = "top:\n  +5  count > 4 and class = red"
"""A rule that one of the trained circuits was given."""


def given_holds(row: Sequence[Any]) -> bool:
    """Evaluate the given rule without dln."""
    return bool(row[1] is not None and row[1] > 4 and row[4] == "red")


def _frame(rows: Rows) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=["amount (€)", "count", "is it?", "when", "class"])
