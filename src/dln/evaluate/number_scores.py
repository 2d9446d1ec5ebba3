"""How near predicted numbers are to the true ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class NumberScores:
    """True and predicted numbers of some rows, and scores of them.

    Scores of parts of a table add up to those of the whole.
    """

    target: NDArray[np.float64]
    predicted: NDArray[np.float64]

    def __add__(self, other: NumberScores) -> NumberScores:
        return NumberScores(
            np.concatenate([self.target, other.target]),
            np.concatenate([self.predicted, other.predicted]),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.target)

    @property
    def r2(self) -> float:
        """Share of the variance that is explained; NaN if all true numbers are the same."""
        spread = float(((self.target - self.target.mean()) ** 2).sum()) if self.n_rows else 0.0
        error = float((self._errors**2).sum())
        return 1.0 - error / spread if spread > 0 else math.nan

    @property
    def mean_absolute_error(self) -> float:
        """Mean distance from the true number."""
        return float(np.abs(self._errors).mean())

    @property
    def median_absolute_error(self) -> float:
        """Half of the rows are not further from their true number."""
        return float(np.median(np.abs(self._errors)))

    @property
    def root_mean_squared_error(self) -> float:
        """Root of the mean squared distance from the true number."""
        return float(np.sqrt((self._errors**2).mean()))

    @property
    def bias(self) -> float:
        """Mean of the predicted numbers minus that of the true ones."""
        return float(self._errors.mean())

    @property
    def _errors(self) -> NDArray[np.float64]:
        return self.predicted - self.target

    def by_size(self, n_parts: int = 10) -> list[dict[str, Any]]:
        """Return the rows in parts of equal size, ordered by prediction, with their means."""
        order = np.argsort(self.predicted, kind="stable")
        return [
            {
                "rows": len(rows),
                "mean_predicted": float(self.predicted[rows].mean()),
                "mean_target": float(self.target[rows].mean()),
                "mean_absolute_error": float(np.abs(self._errors[rows]).mean()),
            }
            for rows in np.array_split(order, n_parts)
            if len(rows)
        ]
