"""Constraints in numbers: sets of columns as bits, and the direction that a vote requires.

A vote for an output satisfies the constraints if the rule moves in the direction of `signs` with
every constrained column that it reads. A vote against an output requires the opposite direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.core.constraints import Constraints
from dln.core.labels import Label

Signs = NDArray[np.int8]


def bits_of(numbers: Iterable[int]) -> int:
    """Write a set of numbers as bits.

    >>> bits_of([0, 3])
    9
    """
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


@dataclass(frozen=True, eq=False)
class Limits:
    """What rules may read and vote for.

    Attributes
    ----------
    signs : (n_outputs, n_columns)
        How a rule that votes for an output must move as a column grows: 1 rises, -1 falls, 0 as it
        likes.
    barred : (n_outputs, n_columns)
        Columns that a rule with a vote for an output cannot read, as other outputs require both
        directions of it. The rule may still test whether the value is missing.
    unused
        Columns that no rule reads, as bits: also those that are barred for every output.
    groups
        Sets of columns that may occur together, as bits; None: all may.
    pairs
        Pairs of columns that may not occur together, as bits.
    most
        Maximum number of columns in a rule; None: no limit.
    """

    signs: Signs
    barred: NDArray[np.bool_]
    unused: int
    groups: tuple[int, ...] | None
    pairs: tuple[int, ...]
    most: int | None

    @property
    def directed(self) -> NDArray[np.bool_]:
        """Columns with a direction (n_columns,)."""
        return np.asarray((self.signs != 0).any(axis=0) | self.barred.any(axis=0))

    @property
    def limits_columns(self) -> bool:
        """Whether the columns of a rule are limited, besides columns that are not used at all."""
        return self.groups is not None or bool(self.pairs) or self.most is not None

    def may_meet(self, columns: int) -> bool:
        """Check whether a rule may read exactly these columns."""
        if columns & self.unused:
            return False
        if self.most is not None and columns.bit_count() > self.most:
            return False
        if any(columns & pair == pair for pair in self.pairs):
            return False
        if self.groups is None or columns.bit_count() < 2:
            return True
        return any(not columns & ~group for group in self.groups)

    def draw_columns(
        self, usable: Sequence[int], rng: np.random.Generator, first: Sequence[int] = ()
    ) -> frozenset[int]:
        """Draw a largest set of usable columns that may occur together, with one of `first`."""
        order = rng.permutation(np.array(usable, dtype=np.int64)).tolist()
        if first:
            start = int(rng.choice(np.array(first, dtype=np.int64)))
            order = [start, *(column for column in order if column != start)]
        taken = 0
        for column in order:
            if self.may_meet(taken | 1 << column):
                taken |= 1 << column
        return frozenset(column for column in order if taken >> column & 1)

    def votes_of(self, signs: Mapping[int, int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the outputs that a rule may vote for, and those that it may vote against.

        `signs` has the direction, 1 or -1, of each column with a direction that the rule reads.
        """
        columns = np.array(list(signs), dtype=np.intp)
        own = np.array(list(signs.values()), dtype=np.int8)
        wanted, barred = self.signs[:, columns], self.barred[:, columns].any(axis=1)
        agree = ((wanted == own) | (wanted == 0)).all(axis=1) & ~barred
        oppose = ((wanted == -own) | (wanted == 0)).all(axis=1) & ~barred
        return agree, oppose


def make_limits(
    constraints: Constraints, names: Sequence[str], outputs: Sequence[Label | None]
) -> Limits:
    """Convert constraints, which must fit (`Constraints.check`), to numbers of columns."""
    place = {name: number for number, name in enumerate(names)}
    signs = np.zeros((len(outputs), len(names)), dtype=np.int8)
    barred = np.zeros(signs.shape, dtype=bool)
    for column, sign, label in constraints.monotone:
        direction, output = 1 if sign == "+" else -1, outputs.index(label)
        for other in range(len(outputs)):
            # If a class gains from a vote, all others lose.
            wanted = direction if other == output else -direction
            before = signs[other, place[column]]
            barred[other, place[column]] |= before == -wanted
            signs[other, place[column]] = wanted
    signs[barred] = 0
    groups = constraints.interactions
    useless = np.flatnonzero(barred.all(axis=0)).tolist()
    return Limits(
        signs,
        barred,
        bits_of([*(place[name] for name in constraints.unused_columns), *useless]),
        None if groups is None else tuple(bits_of(map(place.__getitem__, g)) for g in groups),
        tuple(bits_of(map(place.__getitem__, pair)) for pair in constraints.forbidden_pairs),
        constraints.max_columns_per_rule,
    )
