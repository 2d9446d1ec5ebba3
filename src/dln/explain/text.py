"""Write a circuit's rules, each under the classes that it votes for or with what it adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from dln.core.labels import Label, label_text
from dln.core.readout import Readout, Votes, target_name
from dln.core.score import Score
from dln.explain.amounts import amount_text, sum_note
from dln.explain.probabilities import probability_lines
from dln.explain.writer import factored_writer, missing_note

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

_INLINE_CLASSES = 8  # more classes are not listed in the note on ties


def render_rules(circuit: Circuit) -> str:
    """Write every rule with its votes or points, then the named parts."""
    match circuit.readout:
        case Votes():
            return _render_votes(circuit)
        case Score():
            return _render_score(circuit, circuit.readout)
        case _:
            assert_never(circuit.readout)


def _render_score(circuit: Circuit, score: Score) -> str:
    """Write the start, every rule with what it adds, largest first, then the named parts."""
    writer = factored_writer(circuit.logic, score.wires)
    lines = [sum_note(score), *rule_notes(circuit)]
    ranked = sorted(score.rules, key=lambda rule: -abs(rule.votes[0]))
    lines += [
        f"  {amount_text(score, rule.votes[0])}  {writer.name_or_text(rule.wire)}"
        for rule in ranked
    ]
    where = [f"  {name}: {text}" for name, text in writer.definitions()]
    return "\n".join([*lines, *(["where"] if where else []), *where])


def rule_notes(circuit: Circuit) -> tuple[str, ...]:
    """Describe how missing values are treated, and the constraints that every rule satisfies."""
    notes = missing_note(circuit.logic)
    if circuit.constraints is None:
        return notes
    claims = circuit.constraints.lines(target_name(circuit.readout))
    return (*notes, f"Satisfied by every rule: {'; '.join(claims)}.")


def _render_votes(circuit: Circuit) -> str:
    """Write every rule under the classes that it votes for, then the named parts."""
    writer = factored_writer(circuit.logic, circuit.readout.wires)
    labels = [label_text(label) for label in circuit.classes]
    lines = [decision_note(circuit.classes), *rule_notes(circuit)]
    for index, label in enumerate(labels):
        base = circuit.base_votes[index]
        votes = [(rule.votes[index], rule.wire) for rule in circuit.rules if rule.votes[index]]
        if not votes and not base:
            lines.append(f"{label}: no votes")
            continue
        lines.append(f"{label}:")
        if base:
            lines.append(f"  {base:+d}  always")
        ranked = sorted(votes, key=lambda vote: -abs(vote[0]))
        lines += [f"  {weight:+d}  {writer.name_or_text(wire)}" for weight, wire in ranked]
    where = [f"  {name}: {text}" for name, text in writer.definitions()]
    table = probability_lines(circuit.calibration, circuit.classes)
    return "\n".join([*lines, *(["where"] if where else []), *where, *table])


def readout_note(readout: Readout) -> str:
    """Describe how votes decide, or how points add up."""
    match readout:
        case Votes():
            return decision_note(readout.classes)
        case Score():
            return sum_note(readout)
        case _:
            assert_never(readout)


def decision_note(classes: Sequence[Label]) -> str:
    """Describe how votes and ties decide.

    >>> print(decision_note(("no", "yes")))
    Most votes win; a tie goes to no.
    >>> print(decision_note(("low", "middle", "high")))
    Most votes win; a tie goes to the first of low, middle, high.
    """
    labels = [label_text(label) for label in classes]
    winner = labels[0]  # with two classes, the first is one of the tied ones
    if len(labels) > 2:
        winner = f"the first of {', '.join(labels)}"
    if len(labels) > _INLINE_CLASSES:
        winner = "the class that is listed first"
    return f"Most votes win; a tie goes to {winner}."
