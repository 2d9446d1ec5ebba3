"""Write a circuit's rules in the user's words.

Promise: the text says exactly what the circuit computes; nothing is rounded or left out. A gate
that several rules share, or that would make a line too long, gets a name and a line of its own, and
so does a long list of categories. `x <= t` is the negation of `x > t`, so it holds for a missing
cell too, as `x != c` and `x not in {c, d}` do.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from dln.gates import Gate
from dln.labels import Label
from dln.literals import Among, Missing, format_text

if TYPE_CHECKING:
    from dln.circuit import Circuit

_INLINE_SIZE = 12  # literals in one line at most
_SHARED_SIZE = 3  # a shared gate of more literals gets a name
_INLINE_CATEGORIES = 6  # a literal of more categories gets a name


def render_rules(circuit: Circuit) -> str:
    """Write every rule under the classes that it votes for, and the named gates below."""
    writer = _Writer(circuit)
    labels = [_label_text(label) for label in circuit.classes]
    lines = [f"Most votes win; a tie goes to {labels[0]}."]
    if any(isinstance(literal, Missing) for literal in circuit.literals):
        lines.append("A missing cell is above no cutoff and in no set: <=, != and not in hold.")
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
        lines += [f"  {weight:+d}  {writer.text(wire)}" for weight, wire in ranked]
    named = [f"  {name}: {text}" for name, text in writer.definitions()]
    return "\n".join([*lines, *(["where"] if named else []), *named])


def _label_text(label: Label) -> str:
    return format_text(label) if isinstance(label, str) else str(label)


@dataclass(frozen=True)
class _Form:
    """How a gate reads: its inputs, possibly negated, joined by one word."""

    word: str
    negate_a: bool
    negate_b: bool


def _form(gate: Gate) -> _Form:
    """Read a gate that depends on both inputs as and, or, or xor of possibly negated inputs."""
    ones = [index for index, bit in enumerate(gate.table) if bit]
    if len(ones) == 1:
        return _Form("and", negate_a=ones[0] < 2, negate_b=ones[0] % 2 == 0)
    if len(ones) == 3:
        zero = ({0, 1, 2, 3} - set(ones)).pop()
        return _Form("or", negate_a=zero >= 2, negate_b=zero % 2 == 1)
    return _Form("xor", negate_a=gate.table[0] == 1, negate_b=False)


class _Writer:
    """Writes wires as text and remembers which gates it named."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._named = _wires_to_name(circuit)
        self._names: dict[int, str] = {}
        self._free_names = _free_names(circuit)
        self._pending: deque[int] = deque()

    def text(self, wire: int) -> str:
        """Write one wire; its gates are written out, except named ones."""
        word, terms = self._terms(wire, negated=False)
        return f" {word} ".join(terms)

    def definitions(self) -> list[tuple[str, str]]:
        """Write what was named so far, and what that needs in turn."""
        lines = []
        while self._pending:
            wire = self._pending.popleft()
            word, terms = self._written_out(wire, negated=False)
            lines.append((self._names[wire], f" {word} ".join(terms)))
        return lines

    def _name(self, wire: int) -> str:
        if wire not in self._names:
            self._names[wire] = next(self._free_names)
            self._pending.append(wire)
        return self._names[wire]

    def _terms(self, wire: int, *, negated: bool) -> tuple[str, list[str]]:
        """Give the terms of a wire and the word that joins them, "" for a single term."""
        if wire in self._named:
            return "", [("not " if negated else "") + self._name(wire)]
        return self._written_out(wire, negated=negated)

    def _written_out(self, wire: int, *, negated: bool) -> tuple[str, list[str]]:
        if wire < self._circuit.n_literals:
            literal = self._circuit.literals[wire]
            return "", [literal.describe(self._circuit.columns, negated=negated)]
        gate, a, b = self._circuit.nodes[wire - self._circuit.n_literals]
        gate = gate.negate() if negated else gate
        if not gate.reads_a and not gate.reads_b:
            return "", ["always" if gate.table[0] else "never"]
        if not (gate.reads_a and gate.reads_b):
            return self._terms(a if gate.reads_a else b, negated=gate.table[0] == 1)
        form = _form(gate)
        terms = []
        for source, negate in ((a, form.negate_a), (b, form.negate_b)):
            word, inner = self._terms(source, negated=negate)
            if word == "" or word == form.word != "xor":
                terms += inner
            else:
                terms.append(f"({f' {word} '.join(inner)})")
        if form.word != "xor":
            terms = list(dict.fromkeys(terms))  # x and y and x: a term says no more the second time
        return (form.word if len(terms) > 1 else ""), terms


def _free_names(circuit: Circuit) -> Iterator[str]:
    """Give part1, part2, … except those that are columns of the user."""
    taken = {column.name for column in circuit.columns}
    return (name for number in count(1) if (name := f"part{number}") not in taken)


def _wires_to_name(circuit: Circuit) -> set[int]:
    """Choose the wires that get a name: shared gates, and what is too long for a line."""
    readers: Counter[int] = Counter(rule.wire for rule in circuit.rules)
    for _, a, b in circuit.nodes:
        readers.update((a, b))
    named = {
        wire
        for wire, literal in enumerate(circuit.literals)
        if isinstance(literal, Among) and len(literal.categories) > _INLINE_CATEGORIES
    }
    size = [1] * circuit.n_literals
    for wire, (_, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        own = size[a] + size[b]
        if own > _INLINE_SIZE or (readers[wire] > 1 and own > _SHARED_SIZE):
            named.add(wire)
            own = 1
        size.append(own)
    return named
