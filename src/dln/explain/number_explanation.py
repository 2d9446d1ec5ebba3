"""A circuit that predicts a number + one row -> what each rule added, and what would change it.

Promise: the amounts of the rules that fired and the start add up to the score, without rounding.
Every change shown was checked by predicting the changed row (`dln.explain.change`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dln.core.conditions import Cell
from dln.core.literals import format_name
from dln.core.score import Score
from dln.core.values import cell_to_json
from dln.explain.amounts import Prediction, amount_text, decimal_text, factor_of
from dln.explain.change import Change, nearest_changes
from dln.explain.document import Section
from dln.explain.number_aim import row_bands
from dln.explain.outcome import Outcome, rule_outcomes
from dln.explain.reach import Reach, find_reaches
from dln.explain.row import OneRow, read_row
from dln.explain.row_explanation import RowExplanation, cells_by_name, immutable_names
from dln.prove.votes import votes_of

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True)
class NumberExplanation(RowExplanation):
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

    _rule_heads: ClassVar = ("adds", "if")
    _answer_head: ClassVar = "prediction"
    _lesser_rules: ClassVar = "that add or subtract less"

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
                rule.to_dict(
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

    def _answer(self, change: Change) -> str:
        return str(change.prediction)

    def _aim(self) -> tuple[str, str] | None:
        return None if self.wanted is None else (f"gives {self.wanted}", f"give {self.wanted}")

    def _after_answer(self) -> tuple[str, ...]:
        if not self.reaches:
            return ("No single feature can move it.",)
        return "one feature alone can move it:", *(f"  {reach}" for reach in self.reaches)

    def _more_sections(self) -> tuple[Section, ...]:
        reaches = tuple(
            (format_name(r.feature), str(r.lowest), r.lowest_if, str(r.highest), r.highest_if)
            for r in self.reaches
        )
        heads = ("feature", "lowest", "if", "highest", "if")
        return (Section("What one feature alone can do", heads, reaches),)


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
        bands, present = row_bands(circuit, row, at_least, at_most)
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
        reaches=find_reaches(circuit, one),
        changes=changes,
        wanted=wanted,
        parts=circuit._written_rules[1],
        immutable=immutable_names(circuit, one),
    )


def _with_prediction(circuit: Circuit, row: OneRow, change: Change) -> Change:
    cells = cells_by_name(circuit, row) | {change.feature: change.after}
    points = votes_of(circuit, cells)[0]
    return replace(change, prediction=Prediction.of(circuit.number_readout, points))
