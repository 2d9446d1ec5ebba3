"""ValueRange: which values a column had in training, in a few rounded numbers.

It is part of the model file. Predictions do not use it. Examples of rows, such as counterexamples
and proposed changes, take values from it, so that they need no table to be plausible.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dln.errors import CircuitError

LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The levels of the quantiles: the first is the minimum, the last the maximum."""


@dataclass(frozen=True)
class ValueRange:
    """The values of one column in the training rows.

    Attributes
    ----------
    quantiles
        For a column of numbers: minimum, 5 %, 25 %, 50 %, 75 % and 95 % quantile, maximum. Dates
        are seconds since 1970. Empty for categories, and if every value was missing.
    missing
        Whether values were missing.

    Examples
    --------
    >>> ValueRange((28.0, 38.0, 48.0, 56.0, 62.0, 68.0, 78.0)).intervals
    ((48.0, 62.0), (38.0, 68.0), (28.0, 78.0))
    """

    quantiles: tuple[float, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantiles", tuple(self.quantiles))
        if self.quantiles and len(self.quantiles) != len(LEVELS):
            raise CircuitError(
                f"a range has {len(self.quantiles)} quantiles, expected {len(LEVELS)} or none"
            )
        if not all(map(math.isfinite, self.quantiles)):
            raise CircuitError("a quantile of a range is not finite")
        if list(self.quantiles) != sorted(self.quantiles):
            raise CircuitError("the quantiles of a range descend")

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Intervals of likely numbers, each inside the next: half of them, nine in ten, all."""
        n = len(self.quantiles)
        return tuple(
            (self.quantiles[place], self.quantiles[n - 1 - place])
            for place in reversed(range(n // 2))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the model file."""
        return {"quantiles": list(self.quantiles), "missing": self.missing}

    @classmethod
    def from_dict(cls, document: Any) -> ValueRange:
        """Read what `to_dict` returned; raises ValueError for anything else.

        >>> ValueRange.from_dict({"quantiles": [], "missing": True})
        ValueRange(quantiles=(), missing=True)
        """
        if not isinstance(document, Mapping) or set(document) != {"quantiles", "missing"}:
            raise ValueError(f'a range must have "quantiles" and "missing": {_show(document)}')
        numbers, missing = document["quantiles"], document["missing"]
        if not isinstance(numbers, list) or any(type(x) not in (int, float) for x in numbers):
            raise ValueError(f"the quantiles of a range are {_show(numbers)}, expected numbers")
        if type(missing) is not bool:
            raise ValueError(f'"missing" of a range is {_show(missing)}, expected true or false')
        try:
            return cls(tuple(map(float, numbers)), missing)
        except OverflowError:
            raise ValueError("a quantile of a range is too large for float64") from None


def _show(value: object) -> str:
    return reprlib.repr(value)
