"""The votes of a circuit on the rows during pruning: which rows are lost, and which are close.

A change does two kinds of harm. *Lost* is the weight of the rows that get another class than the
one to keep; it is bounded by the budget. *Strain* is a smooth measure that grows as vote margins
shrink. It decides the order of moves, since it predicts losses on new rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.evaluate.packed import unpack
from dln.shrink.prune.moves import Votes
from dln.shrink.prune.rows import ClassRows

_SHARPNESS = 1.0
"""The mean absolute vote margin, in units of the exponential."""

_Votes = NDArray[Any]
"""One small integer for each row."""


class Shift(NamedTuple):
    """Bits that change from `old` to `new`, and the votes given where they are 1."""

    old: int
    new: int
    votes: Votes


class Harm(NamedTuple):
    """Loss and strain, summed over all rows."""

    lost: float
    strain: float


class RowVotes:
    """The votes of all rows; they change by shifts.

    Small integers for all rows are five times faster than selecting the rows that change. `centre`
    is added to all base votes: nothing, since only their differences count.
    """

    centre = 0

    def __init__(self, rows: ClassRows, shifts: Sequence[Shift], base_votes: Votes) -> None:
        self._rows = rows
        self._n_classes = len(base_votes)
        order = np.arange(self._n_classes)
        largest = np.abs([base_votes, *(votes for _, _, votes in shifts)]).sum(axis=0).max()
        bound = int(largest + 1) * self._n_classes
        dtype = np.min_scalar_type(-8 * bound)
        # Votes are multiplied by the number of classes, minus the index of the class. This breaks
        # ties in favour of the first class.
        start = (np.array(base_votes, dtype=np.int64) * self._n_classes - order).astype(dtype)
        self._is_keep = (order[:, None] == rows.keep).astype(dtype)
        self._own = start[rows.keep]
        # A row's own class is not a rival: its votes are so low that it never wins.
        self._rivals = np.where(self._is_keep, dtype.type(-3 * bound), start[:, None])
        margins = self._take(shifts)
        self._sharpness = np.float32(_SHARPNESS / max(float(np.abs(margins).mean()), 1.0))
        self._weight = rows.weight.astype(np.float32)
        self.harm = self._harm(margins)

    def harm_after(self, shifts: Sequence[Shift], budget: float) -> Harm | None:
        """Return the harm after some shifts; None if more than the budget would be lost."""
        margins = self._margins(*self._shifted(shifts))
        return None if self._lost(margins) > budget else self._harm(margins)

    def shift(self, shifts: Sequence[Shift]) -> None:
        """Change the votes."""
        self.harm = self._harm(self._take(shifts))

    def _take(self, shifts: Iterable[Shift]) -> _Votes:
        """Change the votes; return the margins."""
        self._own, rivals = self._shifted(shifts)
        for number, votes in rivals.items():
            self._rivals[number] = votes
        return self._margins(self._own, {})

    def _shifted(self, shifts: Iterable[Shift]) -> tuple[_Votes, dict[int, _Votes]]:
        """Return the votes of each row's own class after some shifts, and of changed rivals."""
        n_rows = self._rows.n_rows
        own = self._own.copy()
        rivals: dict[int, _Votes] = {}
        for old, new, votes in shifts:
            if old == new:
                continue
            more = unpack(new, n_rows).astype(own.dtype)
            if old:
                more -= unpack(old, n_rows)
            for number, count in enumerate(votes):
                if count:
                    given = more * own.dtype.type(count * self._n_classes)
                    own += given * self._is_keep[number]
                    given += rivals.get(number, self._rivals[number])
                    rivals[number] = given
        return own, rivals

    def _margins(self, own: _Votes, rivals: Mapping[int, _Votes]) -> _Votes:
        """Return the margin of each row's class over the best other one; positive if it wins."""
        best = rivals.get(0, self._rivals[0])
        for number in range(1, self._n_classes):
            best = np.maximum(best, rivals.get(number, self._rivals[number]))
        margins: _Votes = own - best
        return margins

    def _harm(self, margins: _Votes) -> Harm:
        units = margins * -self._sharpness
        # Like the logistic loss, exponential on one side and linear on the other, but faster.
        strain = np.exp(np.minimum(units, 0.0)) + np.maximum(units, 0.0)
        return Harm(self._lost(margins), float(self._weight @ strain))

    def _lost(self, margins: _Votes) -> float:
        return float(self._rows.weight @ (margins <= 0))
