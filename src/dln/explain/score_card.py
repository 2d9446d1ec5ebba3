"""A score card: the rules of a circuit with two classes as one signed sum.

A rule's points are its votes for the second class minus those for the first. Above 0 the second
class wins; a tie at 0 goes to the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dln._util.messages import percent
from dln.core.calibration import Calibration
from dln.core.labels import Label, label_text, label_to_json
from dln.explain.document import Document, Section
from dln.explain.evidence import Evidence
from dln.explain.formatted import Formatted
from dln.explain.probabilities import (
    calibration_to_dict,
    probability_lines,
    probability_section,
)


@dataclass(frozen=True)
class CardRow:
    """A rule and the points that it adds when it is true."""

    points: int
    text: str
    evidence: Evidence | None = None


@dataclass(frozen=True)
class ScoreCard(Formatted):
    """Points that decide between two classes.

    Attributes
    ----------
    negative, positive
        The class at a score of 0 or less, and the class at a score above 0.
    start
        The score before any rule fires.
    rows
        The rules, strongest first, without those that give both classes the same votes.
    parts
        Names used in the rules, with their definitions.
    notes
        How missing values are treated, if a rule tests for them.
    calibration
        The table from scores to probabilities; None if there is none.
    """

    negative: Label
    positive: Label
    start: int
    rows: tuple[CardRow, ...]
    parts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    calibration: Calibration | None = None

    def to_text(self) -> str:
        """Write one line for each rule, points first."""
        lines = [*self._notes(), f"  {self.start:+d}  start"]
        lines += [f"  {row.points:+d}  {row.text}" for row in self.rows]
        where = [f"  {name}: {text}" for name, text in self.parts]
        table = probability_lines(self.calibration, (self.negative, self.positive))
        return "\n".join([*lines, *(["where"] if where else []), *where, *table])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "negative": label_to_json(self.negative),
            "positive": label_to_json(self.positive),
            "start": self.start,
            "rules": [{"text": row.text, "points": row.points} for row in self.rows],
            "parts": dict(self.parts),
            "calibration": calibration_to_dict(self.calibration),
        }

    def _notes(self) -> tuple[str, ...]:
        negative, positive = label_text(self.negative), label_text(self.positive)
        return (
            f"Add up the points of the rules that hold. Above 0: {positive}; below 0: {negative}; "
            f"a tie at 0 goes to {negative}.",
            *self.notes,
        )

    def _document(self) -> Document:
        known = any(row.evidence is not None for row in self.rows)
        rows = [(f"{self.start:+d}", "start", *([""] if known else []))]
        for row in self.rows:
            share = [percent(row.evidence.share)] if row.evidence else []
            rows.append((f"{row.points:+d}", row.text, *share))
        header = ("points", "rule", *(["share"] if known else []))
        title = f"Score for {label_text(self.positive)}"
        sections = [Section(title, header, tuple(rows), class_number=1)]
        if self.parts:
            sections.append(Section("where", ("part", "stands for"), self.parts))
        sections += probability_section(self.calibration, (self.negative, self.positive))
        return Document(self._notes(), tuple(sections))
