"""A circuit -> tables of votes over the atoms of its columns, which the native search reads.

Rules that read the same columns are one table: its cells are combinations of atoms that these rules
distinguish, and a cell holds their votes. So the votes of a row are the base votes plus one cell of
each table. A rule of many literals would need a large table. Inner wires of it then become
variables with the values 0 and 1, and each has a table that defines it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.conditions import ColumnAtoms, Gap, column_atoms
from dln.core.gates import Operators

Bits = NDArray[np.bool_]
Support = Mapping[int, frozenset[int]]
"""The variables that a wire depends on: for a column the literals, for an inner wire none."""

_MOST_CELLS = 16384
"""Cells of the table of one rule; more are split by inner variables."""
_MOST_JOINT_CELLS = 4096
"""Cells of a table of several rules."""

_NOTHING = np.zeros((), dtype=bool)
_NUMPY = Operators(np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.bool_)


@dataclass(frozen=True)
class Variables:
    """The columns that a circuit reads, with their atoms.

    Attributes
    ----------
    read
        The indices of the columns, ascending. Variable i is column `read[i]`.
    atoms
        The atoms of each.
    literals
        The literals of each, by wire, in the order of `ColumnAtoms.where`.
    truths
        For each column, which literals are true in which atoms: (n_literals, n_atoms).
    """

    read: tuple[int, ...]
    atoms: tuple[ColumnAtoms, ...]
    literals: tuple[tuple[int, ...], ...]
    truths: tuple[Bits, ...]

    @property
    def sizes(self) -> list[int]:
        """The number of atoms of each column."""
        return [len(found.atoms) for found in self.atoms]

    @property
    def starts(self) -> list[int]:
        """The first atom of each column when all are numbered, and the number of all atoms."""
        return [0, *np.cumsum(self.sizes, dtype=np.int64).tolist()]


def variables_of(circuit: Circuit) -> Variables:
    """Find the atoms of every column that a circuit reads."""
    logic = circuit.logic
    read = tuple(logic.used_columns)
    wires: dict[int, list[int]] = {column: [] for column in read}
    for wire, literal in enumerate(logic.literals):
        wires[literal.column].append(wire)
    atoms, truths = [], []
    for column in read:
        found = column_atoms(logic.columns[column], [logic.literals[w] for w in wires[column]])
        bits = np.zeros((len(found.where), len(found.atoms)), dtype=bool)
        for number, where in enumerate(found.where):
            bits[number, list(where)] = True
        atoms.append(found)
        truths.append(bits)
    members = tuple(tuple(wires[column]) for column in read)
    return Variables(read, tuple(atoms), members, tuple(truths))


@dataclass(frozen=True)
class VoteTables:
    """The tables of a circuit.

    Attributes
    ----------
    arguments
        Arrays, by the names of the arguments of `VoteSearch`.
    rules
        The rules of each table; empty for the definition of an inner wire.
    """

    arguments: Mapping[str, NDArray[Any]]
    rules: tuple[tuple[int, ...], ...]

    @property
    def has_definitions(self) -> bool:
        """Whether inner wires are variables."""
        return bool((self.arguments["output"] >= 0).any())


def vote_tables(circuit: Circuit, variables: Variables) -> VoteTables:
    """Compute the tables of a circuit."""
    builder = _Builder(circuit, variables)
    builder.build()
    return VoteTables(builder.arguments(), tuple(factor.rules for factor in builder.factors))


@dataclass
class _Factor:
    scope: list[int]
    patterns: list[NDArray[np.int32]]
    table: NDArray[np.int64]
    output: int = -1
    rules: tuple[int, ...] = ()


class _Builder:
    def __init__(self, circuit: Circuit, variables: Variables) -> None:
        self._circuit = circuit
        self._logic = circuit.logic
        self._variables = variables
        self._place = {
            wire: (number, at)
            for number, wires in enumerate(variables.literals)
            for at, wire in enumerate(wires)
        }
        self._supports: dict[int, Support] = {}
        self._inner: dict[int, int] = {}  # wire -> its variable
        self._wire_of: dict[int, int] = {}  # variable -> its wire
        self.factors: list[_Factor] = []

    def build(self) -> None:
        for wire in self._logic.cone(self._circuit.readout.wires):
            self._supports[wire] = self._support(wire)
        groups: dict[tuple[int, ...], list[tuple[Support, list[int]]]] = {}
        for number, rule in enumerate(self._circuit.rules):
            support = self._supports[rule.wire]
            joined = groups.setdefault(tuple(sorted(support)), [])
            both = _union(joined[-1][0], support) if joined else support
            if joined and self._n_cells(both) <= _MOST_JOINT_CELLS:
                joined[-1] = (both, [*joined[-1][1], number])
            else:
                joined.append((support, [number]))
        for group in groups.values():
            for support, rules in group:
                self._add_votes(support, rules)

    def _support(self, wire: int) -> Support:
        if wire < self._logic.n_literals:
            return {self._place[wire][0]: frozenset([wire])}
        gate, a, b = self._logic.nodes[wire - self._logic.n_literals]
        sources = [w for w, reads in ((a, gate.reads_a), (b, gate.reads_b)) if reads]
        # The larger input first becomes a variable, then the other one.
        for source in sorted(sources, key=lambda w: -self._n_cells(self._supports[w])):
            joint = self._join(sources)
            if self._n_cells(joint) <= _MOST_CELLS:
                return joint
            self._define(source)
        return self._join(sources)

    def _join(self, wires: Iterable[int]) -> Support:
        joint: Support = {}
        for wire in wires:
            joint = _union(joint, self._supports[wire])
        return joint

    def _n_cells(self, support: Support) -> int:
        return math.prod(
            min(len(literals) + 1, len(self._variables.atoms[v].atoms)) if literals else 2
            for v, literals in support.items()
        )

    def _define(self, wire: int) -> None:
        """Make a variable of a wire."""
        if wire < self._logic.n_literals or wire in self._inner:
            return
        support = self._supports[wire]
        scope, patterns, leaves = self._axes(support, 1)
        values = np.broadcast_to(
            self._evaluate(wire, leaves, support), (*(n for n in self._shape(patterns)), 1)
        )
        self._inner[wire] = variable = len(self._variables.read) + len(self._inner)
        self._wire_of[variable] = wire
        violated = values != np.array([False, True])
        table = np.zeros((violated.size, self._circuit.n_classes), dtype=np.int64)
        table[:, 0] = violated.ravel()
        bit = np.arange(2, dtype=np.int32)
        self.factors.append(_Factor([*scope, variable], [*patterns, bit], table, variable))
        self._supports[wire] = {variable: frozenset()}

    def _add_votes(self, support: Support, rules: Sequence[int]) -> None:
        scope, patterns, leaves = self._axes(support, 0)
        shape = self._shape(patterns)
        table = np.zeros((*shape, self._circuit.n_classes), dtype=np.int64)
        for number in rules:
            rule = self._circuit.rules[number]
            true = self._evaluate(rule.wire, leaves, support)
            table += true[..., np.newaxis] * np.array(rule.votes, dtype=np.int64)
        flat = table.reshape(-1, self._circuit.n_classes)
        self.factors.append(_Factor(scope, patterns, flat, rules=tuple(rules)))

    def _axes(
        self, support: Support, n_more: int
    ) -> tuple[list[int], list[NDArray[np.int32]], dict[int, Bits]]:
        """Return the variables, the pattern of each atom, and the literals as arrays of patterns.

        `n_more` axes are added at the end.
        """
        scope = sorted(support)
        patterns: list[NDArray[np.int32]] = []
        leaves: dict[int, Bits] = {}
        for axis, variable in enumerate(scope):
            shape = [1] * (len(scope) + n_more)
            if not support[variable]:
                patterns.append(np.arange(2, dtype=np.int32))
                shape[axis] = 2
                leaves[~variable] = np.array([False, True]).reshape(shape)
                continue
            wires = sorted(support[variable])
            truths = self._variables.truths[variable][[self._place[wire][1] for wire in wires]]
            found, of_atom = np.unique(truths, axis=1, return_inverse=True)
            patterns.append(of_atom.astype(np.int32).ravel())
            shape[axis] = found.shape[1]
            for wire, bits in zip(wires, found, strict=True):
                leaves[wire] = bits.reshape(shape)
        return scope, patterns, leaves

    @staticmethod
    def _shape(patterns: Sequence[NDArray[np.int32]]) -> tuple[int, ...]:
        return tuple(int(pattern.max()) + 1 for pattern in patterns)

    def _evaluate(self, wire: int, leaves: dict[int, Bits], support: Support) -> Bits:
        """Evaluate a wire for all combinations of patterns; `leaves` keeps what was computed."""
        for variable, wire_of in ((v, self._wire_of[v]) for v in support if not support[v]):
            leaves[wire_of] = leaves[~variable]
        stack = [wire]
        while stack:
            number = stack[-1]
            if number in leaves:
                stack.pop()
                continue
            gate, a, b = self._logic.nodes[number - self._logic.n_literals]
            needed = [w for w, reads in ((a, gate.reads_a), (b, gate.reads_b)) if reads]
            unknown = [w for w in needed if w not in leaves]
            if unknown:
                stack += unknown
                continue
            # An input that the gate does not depend on may be outside the support.
            leaves[number] = np.asarray(
                gate.compute(_NUMPY, leaves.get(a, _NOTHING), leaves.get(b, _NOTHING))
            )
            stack.pop()
        return leaves[wire]

    def arguments(self) -> dict[str, NDArray[Any]]:
        factors = self.factors
        scopes = [len(factor.scope) for factor in factors]
        first_ordered = [
            next(
                (n for n, atom in enumerate(found.atoms) if isinstance(atom, Gap)), len(found.atoms)
            )
            if self._circuit.columns[column].is_numeric
            else -1
            for column, found in zip(self._variables.read, self._variables.atoms, strict=True)
        ]
        n_inner = len(self._inner)
        return {
            "n_atoms": np.array([*self._variables.sizes, *[2] * n_inner], dtype=np.int32),
            "first_ordered": np.array(first_ordered, dtype=np.int32),
            "factor_start": np.cumsum([0, *scopes], dtype=np.int64),
            "scope": np.array([v for f in factors for v in f.scope], dtype=np.int32),
            "pattern": _concatenated([p for f in factors for p in f.patterns]),
            "output": np.array([factor.output for factor in factors], dtype=np.int32),
            "table": _concatenated([factor.table.ravel() for factor in factors]),
            "base": np.array(self._circuit.base_votes, dtype=np.int32),
        }


def _union(a: Support, b: Support) -> Support:
    return {v: a.get(v, frozenset()) | b.get(v, frozenset()) for v in {**a, **b}}


def _concatenated(parts: Sequence[NDArray[Any]]) -> NDArray[np.int32]:
    return np.concatenate([*parts, np.zeros(0)]).astype(np.int32)
