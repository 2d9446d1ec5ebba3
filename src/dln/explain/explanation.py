"""Circuit + one row -> why the row gets its class, and what would flip it.

Promise: the rules listed as fired are those whose wire is 1. Their votes and the base votes add up
to the circuit's votes. A reason forces its rule (`dln.explain.reasons`). Every change shown was
checked by predicting the changed row (`dln.explain.change`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dln._util.messages import percent
from dln.core.conditions import Cell
from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import format_name
from dln.core.values import cell_text, cell_to_json
from dln.explain.change import Change, nearest_changes
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
from dln.explain.reasons import Reason, find_reason
from dln.explain.row import OneRow, read_row
from dln.explain.writer import MISSING_RULE

if TYPE_CHECKING:
    from dln.core.circuit import Circuit
    from dln.evaluate.evaluation import Evaluation


MAX_LISTED = 20
"""Number of rules that a text lists as fired, and as not fired; `to_dict` has all of them."""

_NO_CHANGE = "No change of a single feature flips the class."
_NO_ALLOWED_CHANGE = "No change of a single feature that is not immutable flips the class."


@dataclass(frozen=True)
class Outcome:
    """The result of one rule on the row.

    Attributes
    ----------
    text
        The rule in the user's words.
    votes
        The votes for each class when the rule is true.
    reason
        The part that makes it true; None if it is false.
    """

    text: str
    votes: tuple[int, ...]
    reason: Reason | None

    @property
    def fired(self) -> bool:
        """Whether the rule is true in the row."""
        return self.reason is not None


@dataclass(frozen=True)
class Explanation(Formatted):
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
        """The smallest change of a single feature that flips the class; None if there is none."""
        return self.changes[0] if self.changes else None

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
            "rules": [outcome_to_dict(rule, votes=list(rule.votes)) for rule in self.rules],
            "changes": [change.to_dict() for change in self.changes],
            "parts": dict(self.parts),
        }

    def to_text(self) -> str:
        """Write the explanation line by line."""
        lines = [self._headline(), *self._likely(), *missing_values(self.row)]
        for title, rules in (("fired", self.fired), ("did not fire", self.silent)):
            lines += rule_lines(title, rules, self._given, "with fewer or equal votes")
        if any(self.base_votes):
            lines.append(f"before any rule: {self._given(self.base_votes)}")
        lines += change_lines(self.changes) or [self._no_change]
        where = [f"  {name}: {text}" for name, text in named_parts(lines, self.parts)]
        return "\n".join([*lines, *(["where"] if where else []), *where])

    @property
    def _no_change(self) -> str:
        return _NO_ALLOWED_CHANGE if self.immutable else _NO_CHANGE

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

    def _likely(self) -> tuple[str, ...]:
        """Write the probability of the predicted class."""
        if not self.probabilities:
            return ()
        share = self.probabilities[self.classes.index(self.label)]
        return (f"probability of {label_text(self.label)}: {percent(share)}",)

    def _given(self, votes: tuple[int, ...]) -> str:
        """Write the votes of a rule that are not 0."""
        named = zip(map(label_text, self.classes), votes, strict=True)
        return ", ".join(f"{vote:+d} {label}" for label, vote in named if vote) or "no votes"

    def _document(self) -> Document:
        cells = tuple((format_name(name), cell_text(cell)) for name, cell in self.row.items())
        fired = tuple(
            (self._given(rule.votes), rule.text, reason_text(rule.reason))
            for rule in self.rules
            if rule.reason is not None
        )
        silent = tuple((self._given(rule.votes), rule.text) for rule in self.silent)
        changes = tuple(
            (
                format_name(change.feature),
                cell_text(change.before),
                cell_text(change.after),
                change.condition,
                label_text(change.label),
            )
            for change in self.changes
        )
        base = f"before any rule: {self._given(self.base_votes)}"
        notes = (
            *self._likely(),
            *([base] if any(self.base_votes) else []),
            *missing_values(self.row),
        )
        sections = (
            Section("Row", ("feature", "value"), cells),
            Section("Rules that fired", ("votes", "rule", "because"), fired),
            Section("Rules that did not fire", ("votes", "rule"), silent),
            Section(
                "Changes of a single feature that flip the class, smallest first"
                if changes
                else self._no_change,
                ("feature", "from", "to", "so that", "class"),
                changes,
            ),
            Section("where", ("part", "stands for"), self.parts),
        )
        kept = tuple(s for s in sections if s.rows or s.title == self._no_change)
        return Document(notes, kept, self._headline())


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
    fired:
      +1 ill  age > 54 or smoker
          because age > 54
    smallest change: age: 60 -> 54 (age <= 54) gives healthy
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


def cells_by_name(circuit: Circuit, row: OneRow) -> dict[str, Cell]:
    """Return the values of the columns that the circuit reads."""
    return {circuit.columns[index].name: row.cell(index) for index in sorted(row.cells)}


def immutable_names(circuit: Circuit, row: OneRow) -> tuple[str, ...]:
    """Return the names of the immutable columns that the circuit reads."""
    columns = (circuit.columns[index] for index in sorted(row.cells))
    return tuple(column.name for column in columns if column.immutable)


def rule_outcomes(circuit: Circuit, evaluation: Evaluation) -> tuple[Outcome, ...]:
    """Return the result of each rule on the first row, with what made it true."""
    literals = evaluation.wires(range(circuit.n_literals))[0].tolist()
    texts, _ = circuit._written_rules
    return tuple(
        Outcome(
            text,
            rule.votes,
            find_reason(circuit.logic, rule.wire, literals) if fired else None,
        )
        for text, rule, fired in zip(texts, circuit.rules, evaluation.fired[0], strict=True)
    )


def rule_lines(
    title: str, rules: Sequence[Outcome], given: Callable[[tuple[int, ...]], str], rest: str
) -> list[str]:
    """Write the rules under a title, with what each gives; those that give least are counted."""
    lines = [f"{title}:"] if rules else []
    listed = weightiest(rules)
    for rule in listed:
        lines.append(f"  {given(rule.votes)}  {rule.text}")
        if rule.reason is not None and str(rule.reason) != rule.text:
            lines.append(f"      because {reason_text(rule.reason)}")
    if len(listed) < len(rules):
        lines.append(f"  and {len(rules) - len(listed):,} rules {rest}")
    return lines


def change_lines(changes: Sequence[Change]) -> list[str]:
    """Write changes of a single feature, smallest first."""
    if not changes:
        return []
    first, *others = map(str, changes)
    more = ["other changes:", *(f"  {other}" for other in others)] if others else []
    return [f"smallest change: {first}", *more]


def missing_values(row: Mapping[str, Cell]) -> tuple[str, ...]:
    """Name the columns with missing values, to show why a test such as `x != c` is true."""
    names = [format_name(name) for name, cell in row.items() if cell is None]
    return (f"missing: {', '.join(names)}. {MISSING_RULE}",) if names else ()


def weightiest(rules: Sequence[Outcome]) -> Sequence[Outcome]:
    """Return the rules to list in a text: all, or those that move the votes most, in order."""
    if len(rules) <= MAX_LISTED:
        return rules
    by_weight = sorted(range(len(rules)), key=lambda place: -max(map(abs, rules[place].votes)))
    return [rules[place] for place in sorted(by_weight[:MAX_LISTED])]


def named_parts(lines: Sequence[str], parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the parts that some lines name, directly or through other parts."""
    texts = dict(parts)
    named: set[str] = set()
    waiting = list(lines)
    while waiting:
        found = {word for word in re.findall(r"\w+", waiting.pop()) if word in texts} - named
        named |= found
        waiting += [texts[name] for name in found]
    return [(name, text) for name, text in parts if name in named]


def _quoted(label: Label) -> str:
    return repr(label) if isinstance(label, str) else label_text(label)


def reason_text(reason: Reason) -> str:
    """Write the part that makes a rule true."""
    return str(reason) if reason.exact else f"{reason} (there may be a shorter reason)"


def outcome_to_dict(rule: Outcome, **given: Any) -> dict[str, Any]:
    """Return plain values of a rule, with what it gives."""
    reason = rule.reason
    return {
        "text": rule.text,
        **given,
        "fired": rule.fired,
        "reason": None if reason is None else [fact.text for fact in reason.facts],
        "reason_is_exact": None if reason is None else reason.exact,
    }
