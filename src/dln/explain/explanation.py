"""Circuit + one row -> why the row gets its class, and what would flip it.

Promise: the rules listed as fired are those whose wire is 1. Their votes and the base votes add up
to the circuit's votes. A reason forces its rule (`dln.explain.reasons`). Every change shown was
checked by predicting the changed row (`dln.explain.change`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dln._util.messages import percent
from dln.core.conditions import Cell
from dln.core.labels import Label, label_text, label_to_json
from dln.core.values import cell_to_json
from dln.explain.change import Change, nearest_changes
from dln.explain.outcome import Outcome, rule_outcomes
from dln.explain.row import read_row
from dln.explain.row_explanation import RowExplanation, cells_by_name, immutable_names

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True)
class Explanation(RowExplanation):
    """Why a row gets its class.

    Attributes
    ----------
    row
        The values of the columns that the circuit reads, by name; None means missing.
    classes
        The classes, in the order that decides ties.
    label
        The predicted class.
    votes, base_votes
        The votes of each class, in total and before any rule.
    rules
        The result of each rule, in the circuit's order.
    changes
        For each feature, the nearest other value that alone flips the class, if there is one;
        smallest change first. Immutable columns are left out.
    parts
        Names used in the rules, with their definitions.
    probabilities
        The probability of each class if the circuit is calibrated, else none.
    immutable
        The names of the immutable columns that the circuit reads.
    """

    row: Mapping[str, Cell] = field(hash=False)
    classes: tuple[Label, ...]
    label: Label
    votes: tuple[int, ...]
    base_votes: tuple[int, ...]
    rules: tuple[Outcome, ...]
    changes: tuple[Change, ...]
    parts: tuple[tuple[str, str], ...] = ()
    probabilities: tuple[float, ...] = ()
    immutable: tuple[str, ...] = ()

    _rule_heads: ClassVar = ("votes", "rule")
    _answer_head: ClassVar = "class"
    _lesser_rules: ClassVar = "with fewer or equal votes"

    @property
    def runner_up(self) -> Label | None:
        """The class with the most votes apart from the predicted one; None if there is no other."""
        others = [number for number, label in enumerate(self.classes) if label != self.label]
        if not others:
            return None
        return self.classes[max(others, key=lambda number: self.votes[number])]

    @property
    def margin(self) -> int:
        """The vote margin over the runner-up; 0 for a tie, which the class listed first wins."""
        first, *others = sorted(self.votes, reverse=True)
        return first - others[0] if others else 0

    # -- formats ------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        runner_up = self.runner_up
        return {
            "format": "dln-explanation",
            "version": 1,
            "row": {name: cell_to_json(cell) for name, cell in self.row.items()},
            "classes": [label_to_json(label) for label in self.classes],
            "class": label_to_json(self.label),
            "votes": list(self.votes),
            "base_votes": list(self.base_votes),
            "runner_up": None if runner_up is None else label_to_json(runner_up),
            "margin": self.margin,
            "probabilities": list(self.probabilities) or None,
            "rules": [rule.to_dict(votes=list(rule.votes)) for rule in self.rules],
            "changes": [change.to_dict() for change in self.changes],
            "parts": dict(self.parts),
        }

    def _headline(self) -> str:
        votes = zip(map(label_text, self.classes), self.votes, strict=True)
        counted = f"({', '.join(f'{label}: {count}' for label, count in votes)})"
        label, runner_up = label_text(self.label), self.runner_up
        if runner_up is None:
            return f"{label}, the only class {counted}"
        if self.margin == 0:
            count = max(self.votes)
            return (
                f"{label} {counted}. Tie {count} to {count}; {_quoted(self.label)} is listed first."
            )
        word = "vote" if self.margin == 1 else "votes"
        return f"{label}, {self.margin} {word} ahead of {label_text(runner_up)} {counted}"

    def _about_answer(self) -> tuple[str, ...]:
        """Write the probability of the predicted class."""
        if not self.probabilities:
            return ()
        share = self.probabilities[self.classes.index(self.label)]
        return (f"probability of {label_text(self.label)}: {percent(share)}",)

    def _given(self, votes: tuple[int, ...]) -> str:
        """Write the votes of a rule that are not 0."""
        named = zip(map(label_text, self.classes), votes, strict=True)
        return ", ".join(f"{vote:+d} {label}" for label, vote in named if vote) or "no votes"

    def _before_rules(self) -> tuple[str, ...]:
        votes = self.base_votes
        return (f"before any rule: {self._given(votes)}",) if any(votes) else ()

    def _answer(self, change: Change) -> str:
        return label_text(change.label)

    def _aim(self) -> tuple[str, str]:
        return "flips the class", "flip the class"


def explain_row(circuit: Circuit, row: Any) -> Explanation:
    """Explain why a row gets its class, and find the smallest change that flips it.

    Parameters
    ----------
    circuit
        Any circuit.
    row
        A dict or a Series by column names, a list or array in the circuit's order, or a frame of
        one row. Missing values and unknown categories are treated as in `Circuit.predict`.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Circuit, Column, Node, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["OR"], 0, 1),),
    ...     rules=(Rule(2, (0, 1)),),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> print(explain_row(circuit, {"age": 60, "smoker": False}))
    ill, 1 vote ahead of healthy (healthy: 0, ill: 1)
    smallest change: age: 60 -> 54 (age <= 54) gives healthy
    fired:
      +1 ill  age > 54 or smoker
          because age > 54
    """
    one, evaluation = read_row(circuit, row)
    winner = int(evaluation.winners[0])
    return Explanation(
        row=cells_by_name(circuit, one),
        classes=circuit.classes,
        label=circuit.classes[winner],
        votes=tuple(evaluation.votes[0].tolist()),
        base_votes=circuit.base_votes,
        rules=rule_outcomes(circuit, evaluation),
        changes=nearest_changes(circuit, one, winner),
        parts=circuit._written_rules[1],
        probabilities=()
        if circuit.calibration is None
        else tuple(evaluation.probabilities[0].tolist()),
        immutable=immutable_names(circuit, one),
    )


def _quoted(label: Label) -> str:
    return repr(label) if isinstance(label, str) else label_text(label)
