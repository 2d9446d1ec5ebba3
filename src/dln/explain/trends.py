"""A circuit -> which way each of its features moves each class, proven for every possible row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from dln.circuit import Circuit, check_is_circuit
from dln.explain.sheet import Section, Sheet
from dln.explain.shown import Shown
from dln.labels import Label, label_text, label_to_json
from dln.literals import format_name
from dln.prove.clock import Clock, TimeIsUpError, check_time_limit
from dln.prove.monotone import Fall, find_fall
from dln.prove.slices import Slices, slice_by

Trend = OneOf["none", "rising", "falling", "both", "undecided"]

TREND_WORDS: dict[Trend, str] = {
    "none": "not moved",
    "rising": "never loses",
    "falling": "never gains",
    "both": "gains and loses",
    "undecided": "not decided",
}
"""What is said of a class, by its trend."""


@dataclass(frozen=True)
class FeatureTrends:
    """What the classes do as one feature grows."""

    feature: str
    trends: tuple[Trend, ...]


@dataclass(frozen=True)
class Trends(Shown):
    """Which way each feature moves each class; `find_trends` makes it.

    Attributes
    ----------
    classes
        The classes that are told of: of two, what the first does is the opposite of the second.
    rows
        One for each column with an order that the circuit reads, in the order of the table.

    Notes
    -----
    *Rising* and *falling* are said in `dln.prove_monotone`; *none* is both. *Both* means that
    there are rows on which the class gains and rows on which it loses as the feature grows.
    """

    classes: tuple[Label, ...]
    rows: tuple[FeatureTrends, ...]

    def to_text(self) -> str:
        """Write one line a feature."""
        lines = [self._header(), *self._cells()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
        return "\n".join(
            "  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain values: of each feature a list, one trend for each of the classes."""
        return {
            "classes": [label_to_json(label) for label in self.classes],
            "features": {row.feature: list(row.trends) for row in self.rows},
        }

    def _header(self) -> tuple[str, ...]:
        return ("as it grows", *map(label_text, self.classes))

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (format_name(row.feature), *(TREND_WORDS[trend] for trend in row.trends))
            for row in self.rows
        ]

    def _sheet(self) -> Sheet:
        title = "What a class does as one feature grows, on every possible row"
        return Sheet((), (Section(title, self._header(), tuple(self._cells())),))


def find_trends(circuit: Circuit, *, time_limit: float | None = 60.0) -> Trends:
    """Find which way each feature moves each class, proven for every possible row.

    Parameters
    ----------
    circuit
        Any circuit.
    time_limit
        Seconds after which the rest is left undecided; None to go on for as long as it takes.

    Raises
    ------
    ExtraMissingError
        If a question needs a SAT solver and python-sat is not installed.

    See Also
    --------
    dln.prove_monotone : One direction of one feature, with the rows that go against it.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> both, differ = GATE_BY_NAME["AND"], GATE_BY_NAME["XOR"]
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("pulse", "number")),
    ...     literals=(Above(0, 54.0), Above(1, 120.0)),
    ...     nodes=(Node(both, 0, 1), Node(differ, 0, 1)),
    ...     rules=(Rule(0, (0, 1)), Rule(2, (1, 0)), Rule(3, (0, 1))),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> print(find_trends(circuit))
    as it grows  ill
    age          gains and loses
    pulse        gains and loses
    """
    check_is_circuit(circuit, "find_trends")
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    told = range(1, 2) if circuit.n_classes == 2 else range(circuit.n_classes)
    read = sorted({literal.column for literal in circuit.literals})
    rows = []
    for number in read:
        if circuit.columns[number].is_numeric:
            trends = _trends(circuit, number, told, clock)
            rows.append(FeatureTrends(circuit.columns[number].name, trends))
    return Trends(tuple(circuit.classes[winner] for winner in told), tuple(rows))


def _trends(circuit: Circuit, number: int, told: range, clock: Clock) -> tuple[Trend, ...]:
    try:
        slices = slice_by(circuit, number, clock)
    except TimeIsUpError:
        undecided: Trend = "undecided"
        return (undecided,) * len(told)
    return tuple(_trend(slices, winner, clock) for winner in told)


def _trend(slices: Slices, winner: int, clock: Clock) -> Trend:
    try:
        falls = isinstance(find_fall(slices, winner, "rising", clock), Fall)
        rises = isinstance(find_fall(slices, winner, "falling", clock), Fall)
    except TimeIsUpError:
        return "undecided"
    ways: dict[tuple[bool, bool], Trend] = {
        (False, False): "none",
        (False, True): "rising",
        (True, False): "falling",
        (True, True): "both",
    }
    return ways[falls, rises]
