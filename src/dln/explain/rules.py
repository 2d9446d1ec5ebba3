"""Circuit -> its rules as a table, for people and programs: text, Markdown, HTML, JSON.

Promise: the printed rules evaluate to exactly the circuit's votes on every possible row. Rules are
written in their shortest form (`dln.explain.shortest`). Only statistics are rounded, and only in
the formats for people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.calibration import Calibration
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.labels import Label, label_text, label_to_json
from dln.data.number_target import read_numbers
from dln.data.target import class_numbers
from dln.errors import OptionError
from dln.evaluate.evaluation import Evaluation
from dln.explain.document import Document, Section
from dln.explain.evidence import Evidence, Rows, measure_rules
from dln.explain.formatted import Formatted
from dln.explain.number_rules import (
    NumberRuleTable,
    NumberScoreCard,
    describe_number_rules,
    make_score_card,
)
from dln.explain.probabilities import (
    calibration_to_dict,
    probability_lines,
    probability_section,
)
from dln.explain.score_card import CardRow, ScoreCard
from dln.explain.statistics import evidence_line, statistic_cells, statistic_header
from dln.explain.text import decision_note, rule_notes


@dataclass(frozen=True)
class RuleRow:
    """One rule.

    Attributes
    ----------
    text
        The rule in the user's words; it may refer to named parts.
    votes
        The votes for each class when the rule is true.
    evidence
        Statistics on the rows; None if no rows were given.
    """

    text: str
    votes: tuple[int, ...]
    evidence: Evidence | None = None

    @property
    def support(self) -> int | None:
        """Number of rows where the rule fires."""
        return None if self.evidence is None else self.evidence.support

    @property
    def share(self) -> float | None:
        """Fraction of the rows where the rule fires."""
        return None if self.evidence is None else self.evidence.share

    @property
    def class_counts(self) -> tuple[int, ...] | None:
        """Number of rows where the rule fires, by class."""
        return None if self.evidence is None else self.evidence.class_counts

    @property
    def precision(self) -> tuple[float | None, ...] | None:
        """For each class, its fraction of the rows where the rule fires."""
        return None if self.evidence is None else self.evidence.precision

    @property
    def lift(self) -> tuple[float | None, ...] | None:
        """For each class, the precision divided by the class's fraction of all rows."""
        return None if self.evidence is None else self.evidence.lift

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; statistics are None if no rows were given."""
        return {
            "text": self.text,
            "votes": list(self.votes),
            "support": self.support,
            "share": self.share,
            "class_counts": _listed(self.class_counts),
            "precision": _listed(self.precision),
            "lift": _listed(self.lift),
        }


@dataclass(frozen=True)
class RuleTable(Formatted):
    """The rules of a circuit, in its order.

    Attributes
    ----------
    classes
        The classes, in the order that decides ties.
    base_votes
        Votes of each class before any rule fires.
    rules
        The rules.
    parts
        Names used in the rules, with their definitions.
    notes
        How missing values are treated, if a rule tests for them; and what every rule keeps.
    rows
        The number of rows behind the statistics; None if there are none.
    calibration
        The table from vote leads to probabilities; None if there is none.
    """

    classes: tuple[Label, ...]
    base_votes: tuple[int, ...]
    rules: tuple[RuleRow, ...]
    parts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    rows: Rows | None = None
    calibration: Calibration | None = None

    def of_class(self, number: int) -> list[RuleRow]:
        """List the rules that vote for or against a class, strongest first."""
        voting = [rule for rule in self.rules if rule.votes[number]]
        return sorted(voting, key=lambda rule: -abs(rule.votes[number]))

    def score_card(self) -> ScoreCard:
        """Combine the votes of two classes into one score; otherwise raises `OptionError`."""
        if len(self.classes) != 2:
            raise OptionError(
                f"a score card needs 2 classes, the circuit has {len(self.classes)}; "
                "use the rule table, which supports any number"
            )
        points = [(rule.votes[1] - rule.votes[0], rule) for rule in self.rules]
        rows = [CardRow(value, rule.text, rule.evidence) for value, rule in points if value]
        start = self.base_votes[1] - self.base_votes[0]
        ranked = tuple(sorted(rows, key=lambda row: -abs(row.points)))
        return ScoreCard(
            *self.classes, start, ranked, self.parts, self.notes, calibration=self.calibration
        )

    # -- formats ------------------------------------------------------------------------------

    def to_text(self) -> str:
        """Write the rules as `print(circuit)` does, each in its shortest form."""
        lines = [decision_note(self.classes), *self.notes]
        for number, label in enumerate(map(label_text, self.classes)):
            rules, base = self.of_class(number), self.base_votes[number]
            if not rules and not base:
                lines.append(f"{label}: no votes")
                continue
            lines.append(f"{label}:")
            if base:
                lines.append(f"  {base:+d}  always")
            for rule in rules:
                lines.append(f"  {rule.votes[number]:+d}  {rule.text}")
                if rule.evidence is not None:
                    lines.append(f"      {evidence_line(rule.evidence, self.classes, number)}")
        where = [f"  {name}: {text}" for name, text in self.parts]
        table = probability_lines(self.calibration, self.classes)
        return "\n".join([*lines, *(["where"] if where else []), *where, *table])

    def to_page(self) -> str:
        """Write each rule on one line, to check a small circuit line by line.

        With more than two classes, the votes of a rule for all classes are in columns, and the
        table of probabilities is left out. Else the same as `to_text`.
        """
        if len(self.classes) == 2:
            return self.to_text()
        heads = [label_text(label) for label in self.classes]
        rows = [("always", self.base_votes)] if any(self.base_votes) else []
        rows += [(rule.text, rule.votes) for rule in self.rules]
        cells = [[f"{vote:+d}" if vote else "" for vote in votes] for _, votes in rows]
        widths = [max(len(text) for text in column) for column in zip(heads, *cells, strict=True)]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(own, widths, strict=True))
            for own in (heads, *cells)
        ]
        texts = ["", *(text for text, _ in rows)]
        where = [f"  {name}: {text}" for name, text in self.parts]
        return "\n".join(
            [
                decision_note(self.classes),
                *self.notes,
                *(f"  {line}  {text}".rstrip() for line, text in zip(lines, texts, strict=True)),
                *(["where"] if where else []),
                *where,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-rules",
            "version": 1,
            "classes": [label_to_json(label) for label in self.classes],
            "base_votes": list(self.base_votes),
            "calibration": calibration_to_dict(self.calibration),
            "n_rows": None if self.rows is None else self.rows.n_rows,
            "class_rows": _listed(self.rows.class_rows if self.rows else None),
            "rules": [rule.to_dict() for rule in self.rules],
            "parts": dict(self.parts),
            "score_card": self.score_card().to_dict() if len(self.classes) == 2 else None,
        }

    def _document(self) -> Document:
        sections = []
        for number, label in enumerate(map(label_text, self.classes)):
            header = ("votes", "rule", *statistic_header(self.rows))
            rows = []
            if self.base_votes[number]:
                blank = [""] * (len(header) - 2)
                rows.append((f"{self.base_votes[number]:+d}", "always", *blank))
            for rule in self.of_class(number):
                cells = statistic_cells(rule.evidence, self.classes, number)
                rows.append((f"{rule.votes[number]:+d}", rule.text, *cells))
            title = label if rows else f"{label}: no votes"
            sections.append(Section(title, header, tuple(rows), number))
        if self.parts:
            sections.append(Section("where", ("part", "stands for"), self.parts))
        sections += probability_section(self.calibration, self.classes)
        return Document((decision_note(self.classes), *self.notes), tuple(sections))


def rule_table(circuit: Circuit, X: Any = None, y: Any = None) -> RuleTable | NumberRuleTable:
    """Write a circuit's rules, with statistics of each rule if rows are given.

    Parameters
    ----------
    circuit
        Any circuit; simplify it first for the shortest rules.
    X
        Rows, in any form that `Circuit.predict` takes; None for rules alone.
    y
        The class of each row, for precision, lift and class counts, or its number, for means;
        None for support alone.

    Returns
    -------
    RuleTable | NumberRuleTable
        The second for a circuit that predicts a number.

    Examples
    --------
    >>> from dln import Above, Circuit, Column, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(),
    ...     rules=(Rule(0, (0, 2)), Rule(1, (-1, 0))),
    ...     base_votes=(1, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> print(rule_table(circuit, [[60, True], [70, False], [30, True]], ["ill", "ill", "healthy"]))
    Most votes win; a tie goes to healthy.
    healthy:
      +1  always
      -1  smoker
          2 of 3 rows (66.7 %), precision 50.0 %, lift 1.50; healthy: 1, ill: 1
    ill:
      +2  age > 54
          2 of 3 rows (66.7 %), precision 100.0 %, lift 1.50; ill: 2
    """
    check_is_circuit(circuit, "rule_table")
    if X is None and y is not None:
        raise OptionError("y is given without X; pass the rows too: rule_table(circuit, X, y)")
    evaluation = None if X is None else circuit.evaluate(X, wires=circuit.readout.wires)
    if circuit.task == "number":
        numbers = None if evaluation is None or y is None else read_numbers(y, evaluation.n_rows)
        return describe_number_rules(circuit, evaluation, numbers)
    if evaluation is None:
        return describe_rules(circuit)
    target = None if y is None else class_numbers(y, circuit.classes, evaluation.n_rows)
    return describe_rules(circuit, evaluation, target)


def describe_rules(
    circuit: Circuit,
    evaluation: Evaluation | None = None,
    target: NDArray[np.int64] | None = None,
) -> RuleTable:
    """Write a circuit's rules, with statistics if they were evaluated on rows.

    `target` has the number of each row's class.
    """
    texts, parts = circuit._written_rules
    rows, evidence = (None, None) if evaluation is None else measure_rules(evaluation, target)
    rules = tuple(
        RuleRow(text, rule.votes, None if evidence is None else evidence[number])
        for number, (text, rule) in enumerate(zip(texts, circuit.rules, strict=True))
    )
    return RuleTable(
        circuit.classes,
        circuit.base_votes,
        rules,
        parts,
        rule_notes(circuit),
        rows,
        circuit.calibration,
    )


def score_card(circuit: Circuit, X: Any = None, y: Any = None) -> ScoreCard | NumberScoreCard:
    """Write a circuit of two classes as one signed score; parameters as for `rule_table`.

    For a circuit that predicts a number, the card has what each feature adds by its value. It has
    no statistics.

    Examples
    --------
    >>> from dln import Above, Circuit, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 2)),),
    ...     (1, 0), ("healthy", "ill"),
    ... )
    >>> print(score_card(circuit))
    Add up the points of the rules that hold. Above 0: ill; below 0: healthy; a tie at 0 goes to ...
      -1  start
      +2  age > 54
    """
    check_is_circuit(circuit, "score_card")
    table = rule_table(circuit, X, y)
    return make_score_card(circuit) if isinstance(table, NumberRuleTable) else table.score_card()


def _listed(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else list(values)
