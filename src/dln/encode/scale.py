"""Scale a numeric column to [0, 1] by a monotone map.

The map is piecewise linear between knots. It never reorders two values, so a threshold on the
scaled column separates the same rows as some threshold on the column itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks, spread_rows

_SAMPLE = 200_000
_INFINITE_SHARE = 0.1


@dataclass(frozen=True)
class Scale:
    """A monotone map: `knots` of the column map to `levels` in [0, 1], linearly in between."""

    knots: NDArray[np.float64]
    levels: NDArray[np.float64]

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Scale values; missing values (NaN) stay missing, values out of range are clipped."""
        scaled = np.interp(values, self.knots, self.levels)
        # Rounding may move a value past its knot's level; keep the map monotone.
        right = np.searchsorted(self.knots, values, side="right")
        top = self.levels[np.minimum(right, len(self.levels) - 1)]
        rounded = np.minimum(scaled, top).astype(np.float32)
        rounded[np.isnan(values)] = np.nan  # np.interp loses them if there is only one knot
        return rounded

    def first_above(self, cutoffs: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the smallest number whose scaled value is above each cutoff; NaN if none is.

        The map is monotone, so a bisection finds it: of the numbers that a float64 can hold, in
        the order of their bits.
        """
        low = np.full(len(cutoffs), _place(np.array(-np.inf)))
        high = np.full(len(cutoffs), _place(np.array(np.inf)))
        while np.any(low < high):
            middle = (low & high) + ((low ^ high) >> 1)  # without overflow, rounded down
            above = self.apply(_number(middle)) > cutoffs
            high = np.where(above, middle, high)
            low = np.where(above | (low == high), low, middle + 1)
        found = _number(high)
        return np.where(self.apply(found) > cutoffs, found, np.nan)


def _place(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return integers in the order of the numbers."""
    bits = numbers.view(np.int64)
    return np.asarray(np.where(bits < 0, np.iinfo(np.int64).min - bits, bits))


def _number(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers of integers from `_place`."""
    bits = np.where(places < 0, np.iinfo(np.int64).min - places, places)
    return np.asarray(bits.view(np.float64))


def fit_scale(values: NDArray[Any], n_knots: int) -> Scale:
    """Place knots at quantiles of the finite numbers; two knots give a clipped min-max scaling.

    More knots make the scaled column more uniform, so that one slope suits skewed columns too.
    Infinite values get a separate level at each end.
    """
    some, n_finite = spread_rows(len(values), lambda rows: np.isfinite(values[rows]), _SAMPLE)
    knots, levels = _finite_knots(values[some].astype(np.float64), n_knots)
    below = above = False
    if n_finite < len(values):
        for rows in row_blocks(len(values)):
            below |= bool((values[rows] == -np.inf).any())
            above |= bool((values[rows] == np.inf).any())
    share = _INFINITE_SHARE * (below + above)
    levels = below * _INFINITE_SHARE + (1.0 - share) * levels
    if below:
        knots, levels = np.append(-np.inf, knots), np.append(0.0, levels)
    if above:
        knots, levels = np.append(knots, np.inf), np.append(levels, 1.0)
    return Scale(knots, levels)


def _finite_knots(
    finite: NDArray[np.float64], n_knots: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Place knots, strictly rising, and their levels from 0 to 1."""
    if len(finite) == 0:
        return np.array([0.0, 1.0]), np.array([0.0, 1.0])
    # Knots are values of the column, since the mean of two huge values would overflow.
    places = np.rint(np.linspace(0.005, 0.995, n_knots) * (len(finite) - 1)).astype(np.intp)
    knots = np.partition(finite, np.unique(places))[places]
    levels = np.linspace(0.0, 1.0, n_knots)
    distinct, first = np.unique(knots, return_index=True)
    if len(distinct) == 1:
        ends = np.unique([finite.min(), finite.max()])
        return ends, np.linspace(0.0, 1.0, len(ends))
    counts = np.diff(np.append(first, n_knots))
    middle = levels[first] + (counts - 1) / 2 * (levels[1] - levels[0])
    return distinct, (middle - middle[0]) / (middle[-1] - middle[0])
