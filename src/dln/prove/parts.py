"""A leaf of a box proof -> the votes that are lacking, as a sum of parts with known least values.

The lack is a sum over rules that is at most 0 on every row that fulfils the demands of a goal. A
proof divides the rules into groups and has messages: numbers for the values of each column that a
group reads. A part is the lack of the rules of a group, less the messages of its columns. The lack
is a constant plus all parts plus the messages of all columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dln.prove.search import Demand, Search

Atoms = tuple[int, ...]
"""Some atoms of a column, ascending."""
Boxes = Sequence[Atoms]
"""A box: the atoms of each column."""
Values = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """The values of a variable that a table distinguishes.

    Attributes
    ----------
    variable
        The number of a column, or of an inner wire.
    patterns
        The number of the pattern of each value. Values outside a box have any.
    examples
        A value of each pattern.
    """

    variable: int
    patterns: tuple[int, ...]
    examples: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Tables of votes that are added up.

    Attributes
    ----------
    tables
        The numbers of the tables.
    rules
        The rules of all of them.
    axes
        The variables on which their votes depend.
    """

    tables: tuple[int, ...]
    rules: tuple[int, ...]
    axes: tuple[Axis, ...]
    values: dict[tuple[int, ...], Values] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a lack: messages for the patterns of each axis of a group, and its least value."""

    group: Group
    messages: tuple[tuple[int, ...], ...]
    least: int


NOTHING = Part(Group((), (), ()), (), 0)
"""The only part of a lack that no rule changes."""


class Tables:
    """The tables that the native search reads, as arrays."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._circuit = search.circuit
        self._rules = search.tables.rules
        given = search.tables.arguments
        self.sizes: list[int] = given["n_atoms"].tolist()
        self.outputs: list[int] = given["output"].tolist()
        votes = given["table"].astype(np.int64).reshape(-1, self._circuit.n_classes)
        scope = given["scope"].tolist()
        self.patterns: list[dict[int, NDArray[np.intp]]] = []
        self._votes: list[Values] = []
        self._groups: dict[tuple[tuple[tuple[int, ...], ...], Boxes], list[Group]] = {}
        at = cell = 0
        for first, last in pairwise(given["factor_start"].tolist()):
            patterns = {}
            for variable in scope[first:last]:
                own = given["pattern"][at : at + self.sizes[variable]]
                patterns[variable] = own.astype(np.intp)
                at += self.sizes[variable]
            shape = [int(own.max()) + 1 for own in patterns.values()]
            n_cells = math.prod(shape)
            self.patterns.append(patterns)
            self._votes.append(votes[cell : cell + n_cells].reshape(*shape, -1))
            cell += n_cells

    def groups(self, members: Sequence[Sequence[int]], box: Boxes) -> list[Group]:
        """Return groups of tables in a box, with the same patterns as in the native search."""
        key = tuple(map(tuple, members)), tuple(box)
        if key not in self._groups:  # proofs about the same box often begin with the same groups
            self._groups[key] = [self._group(tables, box) for tables in key[0]]
        return self._groups[key]

    def _group(self, tables: tuple[int, ...], box: Boxes) -> Group:
        readers: dict[int, list[NDArray[np.intp]]] = {}
        for table in tables:
            for variable, patterns in self.patterns[table].items():
                readers.setdefault(variable, []).append(patterns)
        axes = [_axis(variable, readers[variable], box[variable]) for variable in sorted(readers)]
        rules = tuple(rule for table in tables for rule in self._rules[table])
        return Group(tables, rules, tuple(axis for axis in axes if len(axis.examples) > 1))

    def constant(self, goal: Sequence[Demand], multipliers: Sequence[int]) -> int:
        """Return the lack of a row for which no rule is true."""
        base = self._circuit.base_votes
        pairs = zip(goal, multipliers, strict=True)
        return sum(times * (by - base[more] + base[less]) for (more, less, by), times in pairs)

    def weights(self, goal: Sequence[Demand], multipliers: Sequence[int]) -> tuple[int, ...]:
        """Return by how much a vote for each class changes the lack."""
        weights = [0] * self._circuit.n_classes
        for (more, less, _), times in zip(goal, multipliers, strict=True):
            weights[more] -= times
            weights[less] += times
        return tuple(weights)

    def parts(
        self,
        groups: Sequence[Group],
        weights: tuple[int, ...],
        messages: Sequence[int],
        box: Boxes,
    ) -> Iterator[Part]:
        """Yield the parts of a lack in a box, except those without votes and messages."""
        first = 0
        for group in groups:
            own = []
            for axis in group.axes:
                own.append(tuple(messages[first : first + len(axis.examples)]))
                first += len(axis.examples)
            if any(map(any, own)) or self._has_votes(group, weights):
                values = self._values(group, weights, box)
                yield Part(group, tuple(own), _least(group, values, own, box))

    def _has_votes(self, group: Group, weights: tuple[int, ...]) -> bool:
        used = [(number, weight) for number, weight in enumerate(weights) if weight]
        rules = (self._circuit.rules[rule].votes for rule in group.rules)
        return any(sum(votes[number] * weight for number, weight in used) for votes in rules)

    def _values(self, group: Group, weights: tuple[int, ...], box: Boxes) -> Values:
        """Return the lack of the rules of a group, for each combination of patterns."""
        if weights not in group.values:
            sizes = [len(axis.examples) for axis in group.axes]
            total = np.zeros(sizes, dtype=np.int64)
            used = np.flatnonzero(weights)
            for table in group.tables:
                votes = self._votes[table][..., used] @ np.array(weights)[used]
                if votes.any():
                    total += self._on_axes(table, votes, group.axes, box)
            group.values[weights] = total
        return group.values[weights]

    def _on_axes(self, table: int, votes: Values, axes: Sequence[Axis], box: Boxes) -> Values:
        """Return the cells of a table for the patterns of some axes; other values are fixed."""
        patterns = self.patterns[table]
        places = {axis.variable: place for place, axis in enumerate(axes)}
        cells, shape = [], [1] * len(axes)
        for variable, own in patterns.items():
            place = places.get(variable)
            if place is None:
                cells.append(own[[box[variable][0]]])
            else:
                cells.append(own[list(axes[place].examples)])
                shape[place] = len(axes[place].examples)
        part: Values = votes[np.ix_(*cells)] if cells else votes
        order = np.argsort(list(patterns), kind="stable")
        return part.transpose(order).reshape(shape)


def _axis(variable: int, readers: Sequence[NDArray[np.intp]], atoms: Atoms) -> Axis:
    """Give each combination of patterns a number, in the order of the atoms of a box."""
    known: dict[tuple[int, ...], int] = {}
    patterns, examples = [0] * len(readers[0]), list[int]()
    combinations = np.array([own[list(atoms)] for own in readers]).T.tolist()
    for atom, combination in zip(atoms, combinations, strict=True):
        number = known.setdefault(tuple(combination), len(known))
        patterns[atom] = number
        if number == len(examples):
            examples.append(atom)
    return Axis(variable, tuple(patterns), tuple(examples))


def _least(group: Group, values: Values, messages: Sequence[Sequence[int]], box: Boxes) -> int:
    """Return the least value of a part in a box."""
    kept = []
    for place, (axis, own) in enumerate(zip(group.axes, messages, strict=True)):
        shape = [-1 if at == place else 1 for at in range(len(messages))]
        values = values - np.array(own, dtype=np.int64).reshape(shape)
        kept.append(sorted({axis.patterns[atom] for atom in box[axis.variable]}))
    return int((values[np.ix_(*kept)] if kept else values).min())
