"""Write a circuit's rules in the user's words.

Promise: the text states exactly what the circuit computes; nothing is rounded or left out. A gate
that several rules share, or that would make a line too long, gets a name and a separate line. So
does a long list of categories. `x <= t` is the negation of `x > t`, so it is true for missing
values, as are `x != c` and `x not in {c, d}`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from dln.core.labels import Label, label_text
from dln.core.literals import Among, Missing
from dln.explain.expression import (
    CategoryTest,
    Expression,
    Term,
    factored,
    merge_categories,
    write,
)

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

MISSING_RULE = "Missing values fail `>`, `=` and `in`; they pass `<=`, `!=` and `not in`."
INLINE_SIZE = 12
"""Maximum number of literals in one line."""
_SHARED_SIZE = 3  # a shared gate of more literals gets a name
_INLINE_CATEGORIES = 6  # a literal of more categories gets a name
_INLINE_CLASSES = 8  # more classes are not listed in the note on ties


def render_rules(circuit: Circuit) -> str:
    """Write every rule under the classes that it votes for, then the named parts."""
    named = wires_to_name(circuit)
    writer = Writer(circuit, named, lambda wire: factored(circuit, wire, named))
    labels = [label_text(label) for label in circuit.classes]
    lines = [decision_note(circuit.classes), *missing_note(circuit)]
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
    return "\n".join([*lines, *(["where"] if where else []), *where])


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


def missing_note(circuit: Circuit) -> tuple[str, ...]:
    """Describe how missing values are treated, if a rule tests for them."""
    if any(isinstance(literal, Missing) for literal in circuit.literals):
        return (MISSING_RULE,)
    return ()


class Writer:
    """Writes wires as text and keeps track of the names that it used.

    `express` returns the expression of a wire, down to literals and `named` wires.
    """

    def __init__(
        self, circuit: Circuit, named: Collection[int], express: Callable[[int], Expression]
    ) -> None:
        self._circuit = circuit
        self._named = named
        self._express = express
        self._names: dict[int, str] = {}
        self._free_names = _free_names(circuit)
        self._pending: deque[int] = deque()

    def name_or_text(self, wire: int) -> str:
        """Write one wire, by its name if it has one."""
        return self._term(Term(wire)) if wire in self._named else self.text(wire)

    def text(self, wire: int) -> str:
        """Write one wire; its gates are written out, except named ones."""
        if wire < self._circuit.n_literals:
            return self._term(Term(wire))
        return self._written(wire)

    def definitions(self) -> list[tuple[str, str]]:
        """Write the definitions of the names used so far, including names used in definitions."""
        lines = []
        while self._pending:
            wire = self._pending.popleft()
            if wire < self._circuit.n_literals:
                text = self._circuit.literals[wire].describe(self._circuit.columns)
            else:
                text = self._written(wire)
            lines.append((self._names[wire], text))
        return lines

    def _written(self, wire: int) -> str:
        expression = merge_categories(self._circuit, self._express(wire), self._named)
        return write(expression, self._term)

    def _term(self, term: Term | CategoryTest) -> str:
        if isinstance(term, CategoryTest):
            return term.literal.describe(self._circuit.columns, negated=term.negated)
        if term.wire in self._named:
            return ("not " if term.negated else "") + self._name(term.wire)
        literal = self._circuit.literals[term.wire]
        return literal.describe(self._circuit.columns, negated=term.negated)

    def _name(self, wire: int) -> str:
        if wire not in self._names:
            self._names[wire] = next(self._free_names)
            self._pending.append(wire)
        return self._names[wire]


def long_lists(circuit: Circuit) -> set[int]:
    """Find the literals with too many categories for a line."""
    return {
        wire
        for wire, literal in enumerate(circuit.literals)
        if isinstance(literal, Among) and len(literal.categories) > _INLINE_CATEGORIES
    }


def _free_names(circuit: Circuit) -> Iterator[str]:
    """Yield part1, part2, … except names of columns."""
    taken = {column.name for column in circuit.columns}
    return (name for number in count(1) if (name := f"part{number}") not in taken)


def wires_to_name(circuit: Circuit) -> set[int]:
    """Choose the wires that get a name: shared gates, and those too long for a line."""
    readers: Counter[int] = Counter(rule.wire for rule in circuit.rules)
    for _, a, b in circuit.nodes:
        readers.update((a, b))
    named = long_lists(circuit)
    size = [1] * circuit.n_literals
    for wire, (_, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        own = size[a] + size[b]
        if own > INLINE_SIZE or (readers[wire] > 1 and own > _SHARED_SIZE):
            named.add(wire)
            own = 1
        size.append(own)
    return named
