"""Circuit + one row -> what each rule does to the row, and the lines that say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dln.explain.reasons import Reason, find_reason

if TYPE_CHECKING:
    from dln.core.circuit import Circuit
    from dln.evaluate.evaluation import Evaluation

MAX_LISTED = 10
"""Number of rules that a text lists as fired, and as not fired; `to_dict` has all of them."""


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

    @property
    def because(self) -> str:
        """The part that makes the rule true, as text; "" if it is false."""
        if self.reason is None:
            return ""
        return f"{self.reason}{'' if self.reason.exact else ' (there may be a shorter reason)'}"

    def to_dict(self, **given: Any) -> dict[str, Any]:
        """Return plain values, with what the rule gives."""
        reason = self.reason
        return {
            "text": self.text,
            **given,
            "fired": self.fired,
            "reason": None if reason is None else [fact.text for fact in reason.facts],
            "reason_is_exact": None if reason is None else reason.exact,
        }


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
    listed = _weightiest(rules)
    for rule in listed:
        lines.append(f"  {given(rule.votes)}  {rule.text}")
        if rule.fired and str(rule.reason) != rule.text:
            lines.append(f"      because {rule.because}")
    if len(listed) < len(rules):
        lines.append(f"  and {len(rules) - len(listed):,} rules {rest}")
    return lines


def _weightiest(rules: Sequence[Outcome]) -> Sequence[Outcome]:
    """Return the rules to list in a text: all, or those that move the votes most, in order."""
    if len(rules) <= MAX_LISTED:
        return rules
    by_weight = sorted(range(len(rules)), key=lambda place: -max(map(abs, rules[place].votes)))
    return [rules[place] for place in sorted(by_weight[:MAX_LISTED])]
