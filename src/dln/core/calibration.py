"""Calibration: a table from vote leads to probabilities.

Promise: probabilities are finite, above 0, sum to 1, and a class with a larger lead is never less
probable. The table has few lines and short decimals, so people and exported code look up the same
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dln.errors import CircuitError

MAX_LEAD = 2**33
"""No lead is larger: the votes of a class are below 2**31."""


@dataclass(frozen=True)
class Calibration:
    """Probabilities at some vote leads.

    Between two leads of the table, a value is interpolated linearly. Below the first lead the first
    value counts, above the last lead the last value.

    With two classes there is one table: the probability of the second class, by its votes minus
    those of the first. With more classes the lead of a class is its votes minus the most votes of
    another class. The table gives a weight for each class, and the weights of a row are divided by
    their sum.

    Attributes
    ----------
    leads
        Vote leads, ascending.
    values
        Tables of a value between 0 and 1 for each lead, not descending: one table that all classes
        share, or with more than two classes one for each class.

    Examples
    --------
    >>> calibration = Calibration((-2, 0, 4), ((0.1, 0.5, 0.9),))
    >>> calibration.probabilities(np.array([[0, 0], [1, 3], [0, 9]])).tolist()
    [[0.5, 0.5], [0.30000000000000004, 0.7], [0.09999999999999998, 0.9]]
    """

    leads: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        # A list could be changed later, from outside.
        object.__setattr__(self, "leads", tuple(self.leads))
        object.__setattr__(self, "values", tuple(tuple(table) for table in self.values))
        if not self.leads or not all(
            type(lead) is int and abs(lead) <= MAX_LEAD for lead in self.leads
        ):
            raise CircuitError("the calibration needs at least one lead; leads are plain integers")
        if any(low >= high for low, high in pairwise(self.leads)):
            raise CircuitError("the leads of the calibration do not ascend")
        if not self.values:
            raise CircuitError("the calibration has no table of values")
        for table in self.values:
            _check_table(table, len(self.leads))

    def check_classes(self, n_classes: int) -> None:
        """Raise `CircuitError` if there is not one table, or one for each of several classes."""
        allowed = (1,) if n_classes == 2 else (1, n_classes)
        if len(self.values) not in allowed:
            expected = " or ".join(map(str, allowed))
            raise CircuitError(
                f"the calibration has {len(self.values)} tables for {n_classes} classes, "
                f"expected {expected}"
            )

    def table_of(self, number: int) -> tuple[float, ...]:
        """Return the values of a class: those of the shared table if there is only one."""
        return self.values[number if len(self.values) > 1 else 0]

    def probabilities(self, votes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return class probabilities (n_rows, n_classes) of votes (n_rows, n_classes)."""
        if votes.shape[1] == 2:
            second = self.look_up(votes[:, 1] - votes[:, 0], 0)
            return np.stack([1.0 - second, second], axis=1)
        leads = leads_of(votes)
        weights = np.stack(
            [self.look_up(leads[:, number], number) for number in range(votes.shape[1])], axis=1
        )
        # Sums run from the first class to the last, as in exported code.
        total = np.zeros(len(votes))
        for column in weights.T:
            total += column
        shares: NDArray[np.float64] = weights / total[:, None]
        return shares

    def look_up(self, leads: NDArray[np.int64], number: int) -> NDArray[np.float64]:
        """Return the value of a class at each lead (n,), interpolated."""
        known = np.array(self.leads, dtype=np.int64)
        values = np.array(self.table_of(number))
        lead = np.clip(leads, known[0], known[-1])
        low = np.maximum(np.searchsorted(known, lead, side="right") - 1, 0)
        high = np.minimum(low + 1, len(known) - 1)
        width = np.maximum(known[high] - known[low], 1)
        # Exported code computes the same expression in the same order.
        found: NDArray[np.float64] = (
            values[low] + (values[high] - values[low]) * (lead - known[low]) / width
        )
        return found

    def shifted(self, lead: int) -> Calibration:
        """Return the table for leads that are larger by a number."""
        return Calibration(tuple(known + lead for known in self.leads), self.values)


def leads_of(votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the votes of each class minus the most votes of another class.

    >>> leads_of(np.array([[3, 1, 0], [2, 2, 0]])).tolist()
    [[2, -2, -3], [0, 0, -2]]
    """
    ordered = np.sort(votes, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    is_best = np.zeros(votes.shape, dtype=bool)
    is_best[np.arange(len(votes)), votes.argmax(axis=1)] = True
    leads: NDArray[np.int64] = votes - np.where(is_best, second, best)
    return leads


def _check_table(table: tuple[float, ...], n_leads: int) -> None:
    if len(table) != n_leads:
        raise CircuitError(f"the calibration has {len(table)} values for {n_leads} leads")
    for value in table:
        if not (isinstance(value, float) and 0 < value < 1):
            raise CircuitError(
                f"the calibration holds the value {value!r}, expected a float between 0 and 1"
            )
    if any(low > high for low, high in pairwise(table)):
        raise CircuitError("the values of the calibration descend, expected ascending values")
