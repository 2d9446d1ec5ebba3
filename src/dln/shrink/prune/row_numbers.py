"""The predictions of a circuit of numbers on the rows during pruning.

*Lost* is bounded by the budget: the share of the variance of the targets that is not explained,
1 - R², or the number of rows that get another prediction. *Strain* decides the order of moves: the
squared errors, or the squared changes of the score.

If R² counts, the offset follows every move: the mean prediction stays the mean target. So a rule
that is removed leaves its mean behind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dln.core.parts import MAX_VOTES
from dln.core.score import Score
from dln.evaluate.packed import unpack
from dln.shrink.prune.row_votes import Harm, Shift
from dln.shrink.prune.rows import NumberRows

_LARGEST = 1e300
"""A strain that is not finite counts as this."""

Points = NDArray[np.int64]


class RowNumbers:
    """The points of all rows; they change by shifts.

    `centre` is what has been added to the offset to keep the mean prediction.
    """

    def __init__(self, rows: NumberRows, shifts: Sequence[Shift], score: Score) -> None:
        self._rows, self._score = rows, score
        # The offset and the points of all rules together stay within the limit of a circuit.
        given = sum(abs(votes[0]) for _, _, votes in shifts)
        self._room = MAX_VOTES - abs(score.offset) - given
        self.centre = 0
        self._points = self._shifted(np.full(rows.n_rows, score.offset, dtype=np.int64), shifts)
        self.harm = self._harm(self._points)

    def harm_after(self, shifts: Sequence[Shift], budget: float) -> Harm | None:
        """Return the harm after some shifts; None if more than the budget would be lost."""
        points = self._shifted(self._points, shifts)
        harm = self._harm(points + self._step(points))
        return None if harm.lost > budget else harm

    def shift(self, shifts: Sequence[Shift]) -> None:
        """Change the points, and the offset if R² counts."""
        points = self._shifted(self._points, shifts)
        step = self._step(points)
        self.centre += step
        self._points = points + step
        self.harm = self._harm(self._points)

    def _shifted(self, points: Points, shifts: Sequence[Shift]) -> Points:
        n_rows = self._rows.n_rows
        points = points.copy()
        for old, new, (given,) in shifts:
            if old != new:
                more = unpack(new, n_rows).astype(np.int64)
                if old:
                    more -= unpack(old, n_rows)
                points += given * more
        return points

    def _step(self, points: Points) -> int:
        """Return what to add to the offset so that the mean prediction is the mean target."""
        target, weight, link = self._rows.target, self._rows.weight, self._score.link
        if target is None or link == "logit":
            return 0
        mean = float(weight @ target)
        factor, divisor = self._score.scale
        with np.errstate(all="ignore"):
            predicted = np.float64(weight @ self._score.answers(points[:, None]))
            ahead = np.log(mean / predicted) if link == "log" else mean - predicted
            missing = float(ahead) * divisor / factor
        if not np.isfinite(missing):
            return 0
        wanted = self.centre + round(float(missing))
        return min(max(wanted, -self._room), self._room) - self.centre

    def _harm(self, points: Points) -> Harm:
        rows = self._rows
        with np.errstate(all="ignore"):
            if rows.target is None:
                change = (points - rows.points) / rows.scale
                lost = float((points != rows.points).sum())
                return Harm(lost, min(float(rows.weight @ change**2), _LARGEST))
            error = self._score.answers(points[:, None]) - rows.target
            lost = float(rows.weight @ error**2) / rows.scale
        lost = lost if lost <= _LARGEST else _LARGEST  # also if it is not a number
        return Harm(lost, lost)
