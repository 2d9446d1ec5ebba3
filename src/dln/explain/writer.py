"""Write wires as text in the user's words. What reads the wires does not matter here.

Promise: the text states exactly what the logic computes; nothing is rounded or left out. A gate
that several rules share, or that would make a line too long, gets a name and a separate line. So
does a long list of categories. `x <= t` is the negation of `x > t`, so it is true for missing
values, as are `x != c` and `x not in {c, d}`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count

from dln.core.logic import Logic
from dln.explain.expression import CategoryTest, Expression, Term, factored, merge_categories, write

MISSING_RULE = "Missing values fail `>`, `=` and `in`; they pass `<=`, `!=` and `not in`."
INLINE_SIZE = 12
"""Maximum number of literals in one line."""
_SHARED_SIZE = 3  # a shared gate of more literals gets a name
_INLINE_CATEGORIES = 6  # a literal of more categories gets a name


def missing_note(logic: Logic) -> tuple[str, ...]:
    """Describe how missing values are treated, if a rule tests for them."""
    if any(literal.true_if_missing for literal in logic.literals):
        return (MISSING_RULE,)
    return ()


def factored_writer(logic: Logic, outputs: Iterable[int]) -> Writer:
    """Make a writer of wires as they are built; shared and long parts get names."""
    named = wires_to_name(logic, outputs)
    return Writer(logic, named, lambda wire: factored(logic, wire, named))


class Writer:
    """Writes wires as text and keeps track of the names that it used.

    `express` returns the expression of a wire, down to literals and `named` wires.
    """

    def __init__(
        self, logic: Logic, named: Collection[int], express: Callable[[int], Expression]
    ) -> None:
        self._logic = logic
        self._named = named
        self._express = express
        self._names: dict[int, str] = {}
        self._free_names = _free_names(logic)
        self._pending: deque[int] = deque()

    def name_or_text(self, wire: int) -> str:
        """Write one wire, by its name if it has one."""
        return self._term(Term(wire)) if wire in self._named else self.text(wire)

    def text(self, wire: int) -> str:
        """Write one wire; its gates are written out, except named ones."""
        if wire < self._logic.n_literals:
            return self._term(Term(wire))
        return self._written(wire)

    def definitions(self) -> list[tuple[str, str]]:
        """Write the definitions of the names used so far, including names used in definitions."""
        lines = []
        while self._pending:
            wire = self._pending.popleft()
            if wire < self._logic.n_literals:
                text = self._logic.literals[wire].describe(self._logic.columns)
            else:
                text = self._written(wire)
            lines.append((self._names[wire], text))
        return lines

    def _written(self, wire: int) -> str:
        expression = merge_categories(self._logic, self._express(wire), self._named)
        return write(expression, self._term)

    def _term(self, term: Term | CategoryTest) -> str:
        if isinstance(term, CategoryTest):
            return term.literal.describe(self._logic.columns, negated=term.negated)
        if term.wire in self._named:
            return ("not " if term.negated else "") + self._name(term.wire)
        literal = self._logic.literals[term.wire]
        return literal.describe(self._logic.columns, negated=term.negated)

    def _name(self, wire: int) -> str:
        if wire not in self._names:
            self._names[wire] = next(self._free_names)
            self._pending.append(wire)
        return self._names[wire]


def long_lists(logic: Logic) -> set[int]:
    """Find the literals with too many categories for a line."""
    return {
        wire
        for wire, literal in enumerate(logic.literals)
        if len(literal.categories) > _INLINE_CATEGORIES
    }


def _free_names(logic: Logic) -> Iterator[str]:
    """Yield part1, part2, … except names of columns."""
    taken = {column.name for column in logic.columns}
    return (name for number in count(1) if (name := f"part{number}") not in taken)


def wires_to_name(logic: Logic, outputs: Iterable[int]) -> set[int]:
    """Choose the wires that get a name: shared gates, and those too long for a line."""
    readers: Counter[int] = Counter(outputs)
    for _, a, b in logic.nodes:
        readers.update((a, b))
    named = long_lists(logic)
    size = [1] * logic.n_literals
    for wire, (_, a, b) in enumerate(logic.nodes, start=logic.n_literals):
        own = size[a] + size[b]
        if own > INLINE_SIZE or (readers[wire] > 1 and own > _SHARED_SIZE):
            named.add(wire)
            own = 1
        size.append(own)
    return named
