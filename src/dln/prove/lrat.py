"""Facts and steps -> a formula in DIMACS and its refutation in LRAT.

A clause is a list of literals: the number of a variable, negative if negated. The clauses of the
formula are facts. A step is a clause that follows by unit propagation from the clauses that it
names, in this order. Facts may be added between steps: numbers are given at the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

Literals = tuple[int, ...]
Meaning = tuple[Hashable, ...]
"""What a variable says: a word and what it is about."""
Reference = int
"""A clause: n for fact n, -1 - n for step n."""


class Refutation:
    """A formula and its refutation, while they are made."""

    def __init__(self) -> None:
        self._variables: dict[Meaning, int] = {}
        self._facts: dict[Literals, Reference] = {}
        self._steps: dict[Literals, Reference] = {}
        self._hints: list[Sequence[Reference]] = []

    def variable(self, meaning: Meaning) -> int:
        """Return the variable with a meaning."""
        return self._variables.setdefault(meaning, len(self._variables) + 1)

    @property
    def meanings(self) -> Iterator[Meaning]:
        """The meanings of variables 1, 2 and so on."""
        return iter(self._variables)

    def fact(self, literals: Iterable[int]) -> Reference:
        """Add a clause to the formula, unless it is there."""
        return self._facts.setdefault(_clause(literals), len(self._facts))

    def step(self, literals: Iterable[int], hints: Sequence[Reference]) -> Reference:
        """Add a clause that follows from others."""
        clause = _clause(literals)
        if clause not in self._steps:
            self._steps[clause] = -1 - len(self._hints)
            self._hints.append(hints)
        return self._steps[clause]

    def dimacs(self) -> str:
        """Return the formula."""
        lines = [f"p cnf {len(self._variables)} {len(self._facts)}"]
        lines += [" ".join(map(str, (*clause, 0))) for clause in self._facts]
        return "\n".join([*lines, ""])

    def lrat(self) -> str:
        """Return the refutation."""
        n = len(self._facts)
        lines = []
        for number, (clause, hints) in enumerate(zip(self._steps, self._hints, strict=True)):
            named = (hint + 1 if hint >= 0 else n - hint for hint in hints)
            lines.append(" ".join(map(str, (n + 1 + number, *clause, 0, *named, 0))))
        return "\n".join([*lines, ""])


def _clause(literals: Iterable[int]) -> Literals:
    return tuple(sorted(set(literals), key=abs))
