"""A circuit -> the direction in which each feature moves each class, proven for all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from dln.core.bands import points_as_votes
from dln.core.circuit import Circuit, Task, check_is_circuit
from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import format_name
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
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
"""The words for each trend of a class."""

NUMBER_TREND_WORDS: dict[Trend, str] = {
    **TREND_WORDS,
    "rising": "never falls",
    "falling": "never rises",
    "both": "rises and falls",
}
"""The words for each trend of a number."""


@dataclass(frozen=True)
class FeatureTrends:
    """How the classes change as one feature grows."""

    feature: str
    trends: tuple[Trend, ...]


@dataclass(frozen=True)
class Trends(Formatted):
    """The direction in which each feature moves each class; returned by `find_trends`.

    Attributes
    ----------
    classes
        The classes described. For two classes only the second, since the first moves the opposite
        way.
    rows
        One for each ordered column that the circuit reads, in the order of the table.
    task
        "number" if the trends are those of a predicted number; `classes` has its name then.

    Notes
    -----
    `dln.prove_monotone` defines *rising* and *falling*; *none* means that both hold. *Both* means
    that the class gains on some rows and loses on others as the feature grows.
    """

    classes: tuple[Label, ...]
    rows: tuple[FeatureTrends, ...]
    task: Task = "classes"

    @property
    def words(self) -> dict[Trend, str]:
        """The words for each trend."""
        return TREND_WORDS if self.task == "classes" else NUMBER_TREND_WORDS

    def to_text(self) -> str:
        """Write one line for each feature."""
        lines = [self._header(), *self._cells()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
        return "\n".join(
            "  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: for each feature a list with one trend for each class."""
        return {
            "classes": [label_to_json(label) for label in self.classes],
            "features": {row.feature: list(row.trends) for row in self.rows},
        }

    def _header(self) -> tuple[str, ...]:
        return ("as it grows", *map(label_text, self.classes))

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (format_name(row.feature), *(self.words[trend] for trend in row.trends))
            for row in self.rows
        ]

    def _document(self) -> Document:
        what = "a class" if self.task == "classes" else "the prediction"
        title = f"What {what} does as one feature grows, on every possible row"
        return Document((), (Section(title, self._header(), tuple(self._cells())),))


def find_trends(circuit: Circuit, *, time_limit: float | None = 60.0) -> Trends:
    """Find the direction in which each feature moves each class, proven for every possible row.

    For a circuit that predicts a number: the direction in which each feature moves the prediction.

    Parameters
    ----------
    circuit
        Any circuit.
    time_limit
        Seconds after which the rest stays undecided; None means no limit.

    Raises
    ------
    ExtraMissingError
        If a SAT solver is needed and python-sat is not installed.

    See Also
    --------
    dln.prove_monotone : One direction of one feature, with a counterexample if it is refuted.

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
    task = circuit.task
    if task == "number":
        circuit = points_as_votes(circuit)
    classes = range(1, 2) if circuit.n_classes == 2 else range(circuit.n_classes)
    read = circuit.logic.used_columns
    rows = []
    for number in read:
        if circuit.columns[number].is_numeric:
            trends = _trends(circuit, number, classes, clock)
            rows.append(FeatureTrends(circuit.columns[number].name, trends))
    names = tuple(circuit.classes[winner] for winner in classes)
    return Trends(names, tuple(rows), task)


def _trends(circuit: Circuit, number: int, classes: range, clock: Clock) -> tuple[Trend, ...]:
    try:
        slices = slice_by(circuit, number, clock)
    except TimeIsUpError:
        undecided: Trend = "undecided"
        return (undecided,) * len(classes)
    return tuple(_trend(slices, winner, clock) for winner in classes)


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
