"""A circuit that predicts a number -> its rules as a table, and as a score card.

Promise: the printed rules add up to exactly the circuit's points on every possible row. Only
statistics and factors are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import percent
from dln.core.circuit import Circuit
from dln.core.literals import format_name
from dln.core.score import Score
from dln.evaluate.evaluation import Evaluation
from dln.explain.amounts import amount_text, factor_of, number_text, sum_note
from dln.explain.document import Document, Section
from dln.explain.effects import find_effects
from dln.explain.formatted import Formatted
from dln.explain.number_evidence import NumberEvidence, mean_text, measure_number_rules
from dln.explain.text import rule_notes
from dln.explain.writer import missing_note


@dataclass(frozen=True)
class NumberRule:
    """One rule of a circuit that predicts a number.

    Attributes
    ----------
    text
        The rule in the user's words; it may refer to named parts.
    points
        The integer points that it adds when it is true.
    adds
        The same as a decimal.
    factor
        By what it multiplies the prediction (link "log") or its odds ("logit"); else None.
    evidence
        Statistics on the rows; None if no rows were given.
    """

    text: str
    points: int
    adds: Decimal
    factor: float | None = None
    evidence: NumberEvidence | None = None

    def __str__(self) -> str:
        """Write the rule as a sentence, such as "adds 3.2 if age > 54"."""
        verb = "adds" if self.points >= 0 else "subtracts"
        return f"{verb} {abs(self.adds):f} if {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; statistics are left out if no rows were given."""
        return {
            "text": self.text,
            "points": self.points,
            "adds": f"{self.adds:f}",
            "factor": self.factor,
            **({} if self.evidence is None else self.evidence.to_dict()),
        }


@dataclass(frozen=True)
class NumberRuleTable(Formatted):
    """The rules of a circuit that predicts a number; returned by `rule_table`.

    Attributes
    ----------
    score
        How points become the prediction.
    rules
        The rules, in the circuit's order.
    parts
        Names used in the rules, with their definitions.
    notes
        How missing values are treated, if a rule tests for them.
    n_rows
        The number of rows behind the statistics; None if there are none.
    """

    score: Score
    rules: tuple[NumberRule, ...]
    parts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    n_rows: int | None = None

    @property
    def ranked(self) -> list[NumberRule]:
        """The rules, those that add or subtract most first."""
        return sorted(self.rules, key=lambda rule: -abs(rule.points))

    def to_text(self) -> str:
        """Write the rules as `print(circuit)` does, each in its shortest form."""
        lines = [sum_note(self.score), *self.notes]
        for rule in self.ranked:
            lines.append(f"  {amount_text(self.score, rule.points)}  {rule.text}")
            if rule.evidence is not None:
                lines.append(f"      {rule.evidence.to_text(format_name(self.score.name))}")
        return "\n".join([*lines, *_where(self.parts)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-number-rules",
            "version": 1,
            **_score_to_dict(self.score),
            "n_rows": self.n_rows,
            "rules": [rule.to_dict() for rule in self.rules],
            "parts": dict(self.parts),
        }

    def _document(self) -> Document:
        with_target = any(r.evidence and r.evidence.mean_target is not None for r in self.rules)
        header: tuple[str, ...] = ("adds", "if")
        if self.n_rows is not None:
            header += ("rows", "share", "mean prediction")
            header += ("mean where it fires", "mean elsewhere") if with_target else ()
        rows = []
        for rule in self.ranked:
            cells: tuple[str, ...] = (amount_text(self.score, rule.points), rule.text)
            if (found := rule.evidence) is not None:
                cells += (str(found.support), percent(found.share))
                means = (found.mean_prediction, found.mean_target, found.mean_elsewhere)
                cells += tuple(map(mean_text, means if with_target else means[:1]))
            rows.append(cells)
        sections = [Section("Rules" if rows else "no rules", header, tuple(rows))]
        return Document((sum_note(self.score), *self.notes), (*sections, *_parts(self.parts)))


@dataclass(frozen=True)
class CardEntry:
    """Values of a feature, or a rule over several features, and what they add."""

    text: str
    points: int


@dataclass(frozen=True)
class NumberScoreCard(Formatted):
    """What each feature adds by its value; returned by `score_card`.

    Rules that read one feature are added up. For each feature exactly one entry applies. Rules
    that read several features are listed after them.

    Attributes
    ----------
    score
        How points become the prediction.
    features
        For each feature its name and its entries.
    joint
        The rules that read several features, those that add or subtract most first.
    parts
        Names used in these rules, with their definitions.
    notes
        How missing values are treated.
    """

    score: Score
    features: tuple[tuple[str, tuple[CardEntry, ...]], ...]
    joint: tuple[CardEntry, ...]
    parts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Write the start, the entries of each feature, then the other rules."""
        lines = [*self._notes(), f"  {self.score.decimal(self.score.offset):+f}  start"]
        for name, entries in self.features:
            lines.append(f"{format_name(name)}:")
            lines += self._lines(entries)
        lines += ["several features:", *self._lines(self.joint)] if self.joint else []
        return "\n".join([*lines, *_where(self.parts)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-score-card",
            "version": 1,
            **_score_to_dict(self.score),
            "features": {
                name: [_entry_to_dict(self.score, entry) for entry in entries]
                for name, entries in self.features
            },
            "several": [_entry_to_dict(self.score, entry) for entry in self.joint],
            "parts": dict(self.parts),
        }

    def _lines(self, entries: Sequence[CardEntry]) -> list[str]:
        return [f"  {amount_text(self.score, entry.points)}  {entry.text}" for entry in entries]

    def _notes(self) -> tuple[str, ...]:
        name, start = format_name(self.score.name), "Add up the start and what applies."
        how = {
            "identity": f"The sum is {name}.",
            "log": f"{name} is exp(sum).",
            "logit": f"{name} is 1 / (1 + exp(-sum)).",
        }[self.score.link]
        return (f"{start} {how}", *self.notes)

    def _document(self) -> Document:
        header = ("adds", "if")
        start = (f"{self.score.decimal(self.score.offset):+f}", "always")
        sections = [Section("Start", header, (start,))]
        several = [("several features", self.joint)] if self.joint else []
        for name, entries in (*self.features, *several):
            rows = tuple((amount_text(self.score, entry.points), entry.text) for entry in entries)
            sections.append(Section(name, header, rows))
        return Document(self._notes(), (*sections, *_parts(self.parts)))


def describe_number_rules(
    circuit: Circuit,
    evaluation: Evaluation | None = None,
    target: NDArray[np.float64] | None = None,
) -> NumberRuleTable:
    """Write the rules, with statistics if they were evaluated on rows."""
    score = circuit.number_readout
    texts, parts = circuit._written_rules
    measured: Sequence[NumberEvidence | None] = [None] * len(texts)
    if evaluation is not None:
        measured = measure_number_rules(evaluation, target)
    rules = tuple(
        NumberRule(
            text,
            rule.votes[0],
            score.decimal(rule.votes[0]),
            factor_of(score, rule.votes[0]),
            evidence,
        )
        for text, rule, evidence in zip(texts, score.rules, measured, strict=True)
    )
    n_rows = None if evaluation is None else evaluation.n_rows
    return NumberRuleTable(score, rules, parts, rule_notes(circuit), n_rows)


def make_score_card(circuit: Circuit) -> NumberScoreCard:
    """Write what each feature adds by its value."""
    effects = find_effects(circuit)
    texts, parts = circuit._written_rules
    joint = [CardEntry(texts[rule], circuit.rules[rule].votes[0]) for rule in effects.joint]
    return NumberScoreCard(
        circuit.number_readout,
        tuple(
            (
                circuit.columns[effect.column].name,
                tuple(CardEntry(step.condition, step.points) for step in effect.steps),
            )
            for effect in effects.alone
        ),
        tuple(sorted(joint, key=lambda entry: -abs(entry.points))),
        parts if joint else (),
        missing_note(circuit.logic),
    )


def _score_to_dict(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "link": score.link,
        "digits": score.digits,
        "offset": score.offset,
        "start": number_text(score, score.answer(score.offset)),
    }


def _entry_to_dict(score: Score, entry: CardEntry) -> dict[str, Any]:
    return {
        "text": entry.text,
        "points": entry.points,
        "adds": f"{score.decimal(entry.points):f}",
        "factor": factor_of(score, entry.points),
    }


def _where(parts: Sequence[tuple[str, str]]) -> list[str]:
    return ["where", *(f"  {name}: {text}" for name, text in parts)] if parts else []


def _parts(parts: tuple[tuple[str, str], ...]) -> list[Section]:
    return [Section("where", ("part", "stands for"), parts)] if parts else []
