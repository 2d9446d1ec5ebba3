"""A circuit that predicts a number + one row -> what each rule added, and what would change it.

Promise: the amounts of the rules that fired and the start add up to the score, without rounding.
Every change shown was checked by predicting the changed row (`dln.explain.change`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dln.core.bands import Bands, check_no_limits, split_bands
from dln.core.conditions import Cell, column_atoms
from dln.core.labels import Label
from dln.core.literals import format_name
from dln.core.score import Score
from dln.core.values import cell_text, cell_to_json
from dln.errors import OptionError
from dln.explain.amounts import (
    Prediction,
    amount_text,
    decimal_text,
    factor_of,
    number_text,
)
from dln.explain.change import Change, nearest_changes
from dln.explain.condition import describe_atoms
from dln.explain.document import Document, Section
from dln.explain.explanation import (
    Outcome,
    cells_by_name,
    change_lines,
    immutable_names,
    missing_values,
    named_parts,
    outcome_to_dict,
    reason_text,
    rule_lines,
    rule_outcomes,
)
from dln.explain.formatted import Formatted
from dln.explain.options import ChangeOptions
from dln.explain.row import OneRow, read_row
from dln.prove.votes import votes_of

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True)
class Reach:
    """How far one feature alone can move the prediction of a row.

    Attributes
    ----------
    feature
        The name of the column.
    lowest, highest
        The extreme predictions over the values of this feature; the others stay. Missing values
        and unknown categories are left out.
    lowest_if, highest_if
        Conditions on the feature under which they are predicted.
    """

    feature: str
    lowest: Prediction
    lowest_if: str
    highest: Prediction
    highest_if: str

    def __str__(self) -> str:
        return (
            f"{format_name(self.feature)}: {self.lowest} ({self.lowest_if}) "
            f"to {self.highest} ({self.highest_if})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "feature": self.feature,
            "lowest": self.lowest.to_json(),
            "lowest_if": self.lowest_if,
            "highest": self.highest.to_json(),
            "highest_if": self.highest_if,
        }


@dataclass(frozen=True)
class NumberExplanation(Formatted):
    """Why a row gets its number; returned by `Circuit.explain`.

    Attributes
    ----------
    row
        The values of the columns that the circuit reads, by name; None means missing.
    score
        How points become the prediction.
    points
        The points of the row.
    prediction
        The predicted number.
    rules
        The result of each rule; those that add or subtract most come first.
    reaches
        For each feature that can move the prediction alone: how far. The widest range first;
        immutable columns are left out.
    changes
        For each feature, the nearest other value that alone brings the prediction into `wanted`;
        smallest change first. Empty if there is none, or if no limit was given.
    wanted
        The range that was asked for, such as "price at least 20"; None if no limit was given.
    parts
        Names used in the rules, with their definitions.
    immutable
        The names of the immutable columns that the circuit reads.
    """

    row: Mapping[str, Cell] = field(hash=False)
    score: Score
    points: int
    prediction: float
    rules: tuple[Outcome, ...]
    reaches: tuple[Reach, ...]
    changes: tuple[Change, ...] = ()
    wanted: str | None = None
    parts: tuple[tuple[str, str], ...] = ()
    immutable: tuple[str, ...] = ()

    @property
    def fired(self) -> tuple[Outcome, ...]:
        """The rules that are true in the row."""
        return tuple(rule for rule in self.rules if rule.fired)

    @property
    def silent(self) -> tuple[Outcome, ...]:
        """The rules that are false in the row."""
        return tuple(rule for rule in self.rules if not rule.fired)

    @property
    def change(self) -> Change | None:
        """The smallest change of a single feature; None if there is none."""
        return self.changes[0] if self.changes else None

    # -- formats ------------------------------------------------------------------------------

    def to_text(self) -> str:
        """Write the explanation line by line."""
        lines = [self._headline(), *missing_values(self.row)]
        for title, rules in (("fired", self.fired), ("did not fire", self.silent)):
            lines += rule_lines(title, rules, self._given, "that add or subtract less")
        if self.reaches:
            lines.append("one feature alone can move it:")
            lines += [f"  {reach}" for reach in self.reaches]
        else:
            lines.append("No single feature can move it.")
        if self.wanted is not None:
            lines += change_lines(self.changes) or [self._no_change]
        where = [f"  {name}: {text}" for name, text in named_parts(lines, self.parts)]
        return "\n".join([*lines, *(["where"] if where else []), *where])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-number-explanation",
            "version": 1,
            "row": {name: cell_to_json(cell) for name, cell in self.row.items()},
            "name": self.score.name,
            "prediction": Prediction.of(self.score, self.points).to_json(),
            "score": decimal_text(self.score, self.points),
            "start": decimal_text(self.score, self.score.offset),
            "link": self.score.link,
            "rules": [
                outcome_to_dict(
                    rule,
                    adds=decimal_text(self.score, rule.votes[0]),
                    factor=factor_of(self.score, rule.votes[0]),
                )
                for rule in self.rules
            ],
            "reaches": [reach.to_dict() for reach in self.reaches],
            "wanted": self.wanted,
            "changes": [change.to_dict() for change in self.changes],
            "parts": dict(self.parts),
        }

    @property
    def _no_change(self) -> str:
        which = " that is not immutable" if self.immutable else ""
        return f"No change of a single feature{which} gives {self.wanted}."

    def _headline(self) -> str:
        """Write the prediction as the start and the sum of what the rules added."""
        score, added = self.score, self.points - self.score.offset
        start = decimal_text(score, score.offset)
        sign, amount = "-" if added < 0 else "+", decimal_text(score, abs(added))
        total = f"{start} {sign} {amount}"
        prediction = Prediction.of(score, self.points)
        name = format_name(score.name)
        match score.link:
            case "identity":
                return f"{name}: {prediction} = {total}"
            case "log":
                return f"{name}: {prediction} = exp({total})"
            case "logit":
                return f"{name}: {prediction} = 1 / (1 + exp(-s)), s = {total}"

    def _given(self, votes: tuple[int, ...]) -> str:
        return amount_text(self.score, votes[0])

    def _document(self) -> Document:
        cells = tuple((format_name(name), cell_text(cell)) for name, cell in self.row.items())
        fired = tuple(
            (self._given(rule.votes), rule.text, reason_text(rule.reason))
            for rule in self.rules
            if rule.reason is not None
        )
        silent = tuple((self._given(rule.votes), rule.text) for rule in self.silent)
        reaches = tuple(
            (format_name(r.feature), str(r.lowest), r.lowest_if, str(r.highest), r.highest_if)
            for r in self.reaches
        )
        changes = tuple(
            (
                format_name(change.feature),
                cell_text(change.before),
                cell_text(change.after),
                change.condition,
                str(change.prediction),
            )
            for change in self.changes
        )
        sections = [
            Section("Row", ("feature", "value"), cells),
            Section("Rules that fired", ("adds", "if", "because"), fired),
            Section("Rules that did not fire", ("adds", "if"), silent),
            Section(
                "What one feature alone can do",
                ("feature", "lowest", "if", "highest", "if"),
                reaches,
            ),
            Section(
                f"Changes of a single feature that give {self.wanted}, smallest first",
                ("feature", "from", "to", "so that", "prediction"),
                changes,
            ),
            Section("where", ("part", "stands for"), self.parts),
        ]
        kept = [section for section in sections if section.rows]
        if self.wanted is not None and not changes:
            kept.append(Section(self._no_change))
        return Document(missing_values(self.row), tuple(kept), self._headline())


def explain_number(
    circuit: Circuit, row: Any, *, at_least: float | None = None, at_most: float | None = None
) -> NumberExplanation:
    """Explain what each rule added to a row, and find the changes that reach a limit."""
    score = circuit.number_readout
    one, evaluation = read_row(circuit, row)
    points = int(evaluation.votes[0, 0])
    changes: tuple[Change, ...] = ()
    wanted = None
    if at_least is not None or at_most is not None:
        bands, present = _bands(circuit, row, at_least, at_most)
        wanted = str(bands.label)
        found = nearest_changes(bands.circuit, one, present, to=bands.number)
        changes = tuple(_with_prediction(circuit, one, change) for change in found)
    rules = sorted(rule_outcomes(circuit, evaluation), key=lambda rule: -abs(rule.votes[0]))
    return NumberExplanation(
        row=cells_by_name(circuit, one),
        score=score,
        points=points,
        prediction=score.answer(points),
        rules=tuple(rules),
        reaches=_reaches(circuit, one),
        changes=changes,
        wanted=wanted,
        parts=circuit._written_rules[1],
        immutable=immutable_names(circuit, one),
    )


def find_aim(
    circuit: Circuit,
    row: Any,
    to: Label | None,
    at_least: float | None,
    at_most: float | None,
) -> tuple[Circuit, Label | None]:
    """Return the classifier whose class is to be changed, and the class to get."""
    if circuit.task == "number":
        if to is not None:
            raise OptionError(
                f"to is {to!r}, but the circuit predicts a number; use at_least or at_most"
            )
        bands, _ = _bands(circuit, row, at_least, at_most)
        return bands.circuit, bands.label
    check_no_limits(circuit, at_least, at_most)
    return circuit, to


def add_predictions(circuit: Circuit, row: Any, found: ChangeOptions) -> ChangeOptions:
    """Add the predicted numbers to changes; nothing if the circuit predicts classes."""
    if circuit.task != "number":
        return found
    score = circuit.number_readout
    one, evaluation = read_row(circuit, row)
    options = []
    for option in found.options:
        cells = cells_by_name(circuit, one)
        cells |= {change.feature: change.after for change in option.changes}
        prediction = Prediction.of(score, votes_of(circuit, cells)[0])
        options.append(replace(option, prediction=prediction))
    now = Prediction.of(score, int(evaluation.votes[0, 0]))
    return replace(found, options=tuple(options), prediction=now)


def _bands(
    circuit: Circuit, row: Any, at_least: float | None, at_most: float | None
) -> tuple[Bands, int]:
    """Split at the limits; return the number of the row's own band too, which is another one."""
    bands = split_bands(circuit, at_least=at_least, at_most=at_most)
    _, evaluation = read_row(bands.circuit, row)
    present = int(evaluation.winners[0])
    if present == bands.number:
        now = number_text(circuit.number_readout, float(read_row(circuit, row)[1].answers[0]))
        raise OptionError(
            f"the row gets {now}, which is already in the range asked for ({bands.label}); "
            "ask for another range"
        )
    return bands, present


def _with_prediction(circuit: Circuit, row: OneRow, change: Change) -> Change:
    cells = cells_by_name(circuit, row) | {change.feature: change.after}
    points = votes_of(circuit, cells)[0]
    return replace(change, prediction=Prediction.of(circuit.number_readout, points))


def _reaches(circuit: Circuit, row: OneRow) -> tuple[Reach, ...]:
    found = []
    for column in sorted(row.cells):
        if not circuit.columns[column].immutable:
            ranked = _reach(circuit, row, column)
            found += [] if ranked is None else [ranked]
    return tuple(reach for _, reach in sorted(found, key=lambda pair: -pair[0]))


def _reach(circuit: Circuit, row: OneRow, column: int) -> tuple[int, Reach] | None:
    """Predict the row with every known value of a column; None if all give the same number."""
    score, known = circuit.number_readout, circuit.columns[column].categories
    literals = [literal for literal in circuit.literals if literal.column == column]
    found = column_atoms(circuit.columns[column], literals)
    numeric = circuit.columns[column].is_numeric
    tried = [
        number
        for number, atom in enumerate(found.atoms)
        if atom.cell is not None and (numeric or atom.cell in known)
    ]
    cells: Sequence[Cell] = [found.atoms[number].cell for number in tried]
    points = circuit.votes(row.with_cells(column, cells))[:, 0].tolist() if cells else []
    low, high = min(points, default=0), max(points, default=0)
    if low == high:
        return None

    def condition(wanted: int) -> str:
        chosen = [number for number, value in zip(tried, points, strict=True) if value == wanted]
        return describe_atoms(circuit.logic, column, found, chosen)

    ends = (Prediction.of(score, low), condition(low), Prediction.of(score, high), condition(high))
    return high - low, Reach(circuit.columns[column].name, *ends)
