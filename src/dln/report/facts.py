"""What a report says about the test rows of one circuit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dln.explain.number_rules import NumberRuleTable
from dln.explain.rules import RuleTable
from dln.report.rows import LabelledRows


@dataclass(frozen=True)
class Facts:
    """Figures, rules and rows, ready for the page.

    Attributes
    ----------
    title
        The heading, if none is given.
    content
        The object that the page reads, still without rows.
    rows
        The rows that the page can load.
    rules
        The rules with their statistics.
    context
        Further variables of the template.
    """

    title: str
    content: dict[str, Any]
    rows: LabelledRows
    rules: RuleTable | NumberRuleTable
    context: dict[str, Any]
