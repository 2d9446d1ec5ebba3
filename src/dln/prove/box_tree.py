"""A region and lacks of votes -> a tree of boxes, in each of whose leaves votes are lacking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dln.prove.bounds import Atoms, Lack, grouped
from dln.prove.clock import Clock

_MOST_ADDED = 300_000
"""Tables that all leaves add up, before larger tables are tried: a refutation of some megabytes."""


@dataclass(frozen=True)
class Leaf:
    """A box in which votes are lacking."""

    lack: Lack


@dataclass(frozen=True)
class Split:
    """A box that is split: some atoms of a column, and the others."""

    column: int
    parts: tuple[tuple[Atoms, Leaf | Split], ...]


def find_tree(region: Sequence[Atoms], lacks: Sequence[Lack], clock: Clock) -> Leaf | Split:
    """Return a tree; raises `TimeIsUpError` if the time is over.

    Small tables need little space in a refutation, and larger ones give tighter bounds. So larger
    ones are used only if the tree of the small ones is large.
    """
    try:
        return _Search(clock, _MOST_ADDED).find(region, lacks)
    except _TooLargeError:
        larger = [grouped(lack, region) for lack in lacks]
        return _Search(clock, math.inf).find(region, larger)


class _TooLargeError(Exception):
    pass


class _Search:
    def __init__(self, clock: Clock, most_added: float) -> None:
        self._clock, self._left = clock, most_added

    def find(self, box: Sequence[Atoms], lacks: Sequence[Lack]) -> Leaf | Split:
        self._clock.check()
        best = max(lacks, key=lambda lack: lack.bound)
        if best.bound > 0:
            self._left -= len(best.views)
            if self._left < 0:
                raise _TooLargeError
            return Leaf(best)
        column, halves = best.split(box)
        parts = []
        for atoms in halves:
            smaller = [atoms if at == column else own for at, own in enumerate(box)]
            found = self.find(smaller, [lack.within(column, atoms) for lack in lacks])
            parts.append((atoms, found))
        return Split(column, tuple(parts))
