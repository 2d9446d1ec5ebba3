"""Tables of votes in a box of rows -> a lower bound of the votes that are lacking.

The lack is a sum over rules that is at most 0 on every row that fulfils the demands of a goal. It
is a constant plus the sum of its tables, so the sum of their least values in a box is a bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dln.prove.search import Box, Demand, Search

Atoms = tuple[int, ...]
"""Some atoms of a column, ascending."""
Patterns = NDArray[np.intp]
Values = NDArray[np.int64]

_MOST_MULTIPLIER = 2**24
"""So that no sum overflows."""
_MOST_CELLS = 4096
"""Of a sum of tables."""
_MOST_TRIED = 4
"""Different multipliers that are taken from the native proof."""


@dataclass(frozen=True, eq=False)
class Table:
    """The sum of rules that read the same columns.

    Attributes
    ----------
    scope
        The columns.
    patterns
        For each column the pattern of each atom. The rules do not distinguish atoms of a pattern.
    rules
        The rules and their coefficients.
    members
        Other tables, in a region, of which this one is the sum; none if it is of rules.
    """

    scope: tuple[int, ...]
    patterns: tuple[Patterns, ...]
    rules: dict[int, int]
    members: tuple[View, ...] = ()
    _views: dict[tuple[bytes, ...], View] = field(default_factory=dict, repr=False)

    def view(self, patterns: tuple[Patterns, ...], values: Values) -> View:
        """Return the cells of some patterns; the same object for the same patterns."""
        key = tuple(own.tobytes() for own in patterns)
        if key not in self._views:
            self._views[key] = View(self, patterns, values)
        return self._views[key]


@dataclass(frozen=True, eq=False)
class View:
    """The cells of a table that are in a box: the patterns of each column, and the values."""

    table: Table
    patterns: tuple[Patterns, ...]
    values: Values

    @cached_property
    def least(self) -> int:
        """The least value."""
        return int(self.values.min())

    @cached_property
    def leasts(self) -> list[Values]:
        """For each column, the least value of each pattern."""
        places = range(len(self.patterns))
        return [self.values.min(axis=tuple(p for p in places if p != place)) for place in places]

    @cached_property
    def atoms(self) -> list[Atoms]:
        """For each column, all atoms of the patterns."""
        found = []
        for own, kept in zip(self.table.patterns, self.patterns, strict=True):
            known = np.zeros(own.max() + 1, dtype=bool)
            known[kept] = True
            found.append(tuple(np.flatnonzero(known[own]).tolist()))
        return found

    def within(self, column: int, atoms: Atoms) -> View:
        """Return the cells with some atoms of a column."""
        if column not in self.table.scope:
            return self
        place = self.table.scope.index(column)
        return self.choose(place, np.unique(self.table.patterns[place][list(atoms)]))

    def choose(self, place: int, patterns: Patterns) -> View:
        """Return the cells with some patterns of a column of the scope."""
        if len(patterns) == len(self.patterns[place]):
            return self
        kept = np.searchsorted(self.patterns[place], patterns)
        changed = (*self.patterns[:place], patterns, *self.patterns[place + 1 :])
        return self.table.view(changed, self.values.take(kept, axis=place))


@dataclass(frozen=True, eq=False)
class Lack:
    """The lack of votes in a box: multipliers of the demands, a constant, and tables."""

    multipliers: tuple[int, ...]
    constant: int
    views: tuple[View, ...]

    @cached_property
    def bound(self) -> float:
        """The lower bound, divided by the sum of the multipliers."""
        return (self.constant + sum(view.least for view in self.views)) / sum(self.multipliers)

    def within(self, column: int, atoms: Atoms) -> Lack:
        """Return the lack in a smaller box."""
        views = tuple(view.within(column, atoms) for view in self.views)
        return Lack(self.multipliers, self.constant, views)

    def split(self, box: Sequence[Atoms]) -> tuple[int, list[Atoms]]:
        """Choose the column that changes the bound most, and halve its atoms by their bounds."""
        spread = [0.0] * len(box)
        for view in self.views:
            for column, leasts in zip(view.table.scope, view.leasts, strict=True):
                spread[column] += float(leasts.max() - leasts.min())
        column = max(range(len(box)), key=lambda at: (len(box[at]) > 1, spread[at], len(box[at])))
        assert len(box[column]) > 1, "the claim is false"
        atoms = np.array(box[column])
        bounds = np.zeros(len(atoms))
        for view in self.views:
            if column in view.table.scope:
                place = view.table.scope.index(column)
                patterns = view.table.patterns[place][atoms]
                bounds += view.leasts[place][np.searchsorted(view.patterns[place], patterns)]
        order = atoms[np.argsort(bounds, kind="stable")].tolist()
        half = len(order) // 2
        return column, [tuple(sorted(order[:half])), tuple(sorted(order[half:]))]


class Lacks:
    """Makes lacks of votes: the tables of a circuit, with their votes for each class."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._votes: list[Values] = []
        self._parts: list[tuple[tuple[int, ...], tuple[Patterns, ...], tuple[int, ...]]] = []
        self._tables: dict[tuple[int, ...], list[tuple[Table, Values]]] = {}
        given, n_classes = search.tables.arguments, search.circuit.n_classes
        sizes, starts = given["n_atoms"].tolist(), given["factor_start"].tolist()
        votes = given["table"].astype(np.int64).reshape(-1, n_classes)
        at = cell = 0
        for number, rules in enumerate(search.tables.rules):
            scope = tuple(given["scope"][starts[number] : starts[number + 1]].tolist())
            patterns = []
            for column in scope:
                patterns.append(given["pattern"][at : at + sizes[column]].astype(np.intp))
                at += sizes[column]
            shape = [int(own.max()) + 1 for own in patterns]
            n_cells = math.prod(shape)
            self._votes.append(votes[cell : cell + n_cells].reshape(*shape, n_classes))
            self._parts.append((scope, tuple(patterns), rules))
            cell += n_cells

    def of(
        self, region: Sequence[Atoms], goal: Sequence[Demand], multipliers: Sequence[int]
    ) -> Lack:
        """Return the lack for a goal in a region."""
        circuit = self._search.circuit
        weights, constant = np.zeros(circuit.n_classes, dtype=np.int64), 0
        for (more, less, by), times in zip(goal, multipliers, strict=True):
            weights[more] -= times
            weights[less] += times
            constant += times * by
        constant += int(weights @ np.array(circuit.base_votes, dtype=np.int64))
        views = []
        for table, values in self._weighted(weights):
            kept = tuple(
                np.unique(own[list(region[column])])
                for column, own in zip(table.scope, table.patterns, strict=True)
            )
            views.append(table.view(kept, values[np.ix_(*kept)] if kept else values))
        return Lack(tuple(multipliers), constant, tuple(views))

    def _weighted(self, weights: Values) -> list[tuple[Table, Values]]:
        """Return the tables whose sum is not 0, and their values in all cells."""
        key = tuple(weights.tolist())
        if key not in self._tables:
            self._tables[key] = []
            for (scope, patterns, rules), votes in zip(self._parts, self._votes, strict=True):
                given = self._search.circuit.rules
                points = {rule: int(weights @ np.array(given[rule].votes)) for rule in rules}
                points = {rule: own for rule, own in points.items() if own}
                if points:
                    self._tables[key].append((Table(scope, patterns, points), votes @ weights))
        return self._tables[key]


def multipliers_to_try(
    search: Search, box: Box, goal: Sequence[Demand], seconds: float
) -> list[tuple[int, ...]]:
    """List multipliers of demands: of a single one, of all, and those of the native proof."""
    n = len(goal)
    found = [tuple(int(d == at) for d in range(n)) for at in range(n)]
    if n == 1:
        return found
    proof = search.prove(box, goal, seconds=seconds)
    if proof is not None:
        native: Counter[tuple[int, ...]] = Counter()
        for given in proof[3].tolist():
            shift = max(0, max(given).bit_length() - _MOST_MULTIPLIER.bit_length())
            shifted = [own >> shift for own in given]
            divisor = math.gcd(*shifted)
            native[tuple(own // divisor for own in shifted)] += 1
        found += [own for own, _ in native.most_common(_MOST_TRIED)]
    return list(dict.fromkeys([*found, (1,) * n]))


def grouped(lack: Lack, region: Sequence[Atoms]) -> Lack:
    """Return the same lack with fewer, larger tables, whose bound is tighter.

    Tables that distinguish atoms of the same columns of a region are added up, and so is a table
    whose columns another one has too, if the sum is not too large.
    """
    alike: dict[frozenset[int], list[View]] = {}
    for view in lack.views:
        pairs = zip(view.table.scope, view.patterns, strict=True)
        free = frozenset(column for column, patterns in pairs if len(patterns) > 1)
        alike.setdefault(free, []).append(view)
    constant = alike.pop(frozenset(), [])
    groups = {free: [_add_up(alike[free], region)] for free in sorted(alike, key=_by_size)}
    for free in list(groups):
        for larger, members in groups.items():
            joint = [*members, *groups[free]]
            if free < larger and _n_cells(joint, region, larger) <= _MOST_CELLS:
                groups[larger] = joint
                del groups[free]
                break
    views = [_add_up(members, region) for members in groups.values()]
    return Lack(lack.multipliers, lack.constant, (*constant, *views))


def _by_size(columns: frozenset[int]) -> tuple[int, list[int]]:
    return len(columns), sorted(columns)


def _n_cells(members: Sequence[View], region: Sequence[Atoms], columns: Iterable[int]) -> int:
    return math.prod(int(_joint(members, region, column).max()) + 1 for column in columns)


def _joint(members: Sequence[View], region: Sequence[Atoms], column: int) -> Patterns:
    """Return for each atom of a region the number of its combination of patterns."""
    atoms = list(region[column])
    rows = [
        view.table.patterns[view.table.scope.index(column)][atoms]
        for view in members
        if column in view.table.scope
    ]
    _, numbers = np.unique(np.array(rows), axis=1, return_inverse=True)
    return numbers.ravel().astype(np.intp)


def _add_up(members: Sequence[View], region: Sequence[Atoms]) -> View:
    """Return the sum of tables in a region."""
    if len(members) == 1:
        return members[0]
    scope = tuple(sorted({column for view in members for column in view.table.scope}))
    patterns, kept, examples = [], [], {}
    for column in scope:
        numbers = _joint(members, region, column)
        n = int(numbers.max()) + 1
        # Atoms outside the region are a pattern of their own, which is not used.
        own = np.full(max(region[column]) + 1, n, dtype=np.intp)
        own[list(region[column])] = numbers
        patterns.append(own)
        kept.append(np.arange(n))
        _, first = np.unique(numbers, return_index=True)
        examples[column] = np.array(region[column])[first]
    values = np.zeros([len(own) for own in kept], dtype=np.int64)
    rules: dict[int, int] = {}
    for view in members:
        table = view.table
        cells = [
            np.searchsorted(used, own[examples[column]])
            for column, own, used in zip(table.scope, table.patterns, view.patterns, strict=True)
        ]
        sizes = dict(zip(scope, map(len, kept), strict=True))
        shape = [sizes[column] if column in table.scope else 1 for column in scope]
        order = np.argsort(table.scope)
        part = view.values[np.ix_(*cells)].transpose(order) if cells else view.values
        values += part.reshape(shape)
        for rule, points in table.rules.items():
            rules[rule] = rules.get(rule, 0) + points
    return Table(scope, tuple(patterns), rules, tuple(members)).view(tuple(kept), values)
