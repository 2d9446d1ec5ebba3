"""Points: votes and classes of rows that a circuit was not trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.core.calibration import Calibration

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Points:
    """Votes on rows that were not trained on.

    Attributes
    ----------
    votes
        (n, n_classes): in the units of the circuit's votes. They need not be whole numbers.
    target
        (n,): class numbers.
    weight
        (n,): weights of the decision, those of rows times those of classes.
    rows
        (n,): how many rows a point stands for, below 1 if a row has several points.
    """

    votes: Floats
    target: NDArray[np.int64]
    weight: Floats
    rows: Floats

    @property
    def masses(self) -> Floats:
        """The weight of each class in the decision, relative to all (n_classes,)."""
        mass = np.bincount(self.target, self.weight, minlength=self.votes.shape[1])
        found: Floats = mass / mass.sum()
        return found

    def counts(self, shares: Floats) -> Floats:
        """Return the rows that each point stands for if classes had these frequencies.

        The weights of the rows of a class stay in proportion. Their sum is the number of rows.
        """
        mass = np.bincount(self.target, self.weight, minlength=len(shares))
        present = mass > 0
        scale = np.divide(shares, mass, out=np.zeros(len(shares)), where=present)
        found: Floats = self.weight * scale[self.target]
        counts: Floats = found * (self.rows.sum() / found.sum())
        return counts


@dataclass(frozen=True)
class Decision:
    """How to change the votes of a circuit, and the probabilities that follow.

    Attributes
    ----------
    factor
        Multiplies all votes.
    added
        Votes that each class then gets in addition.
    calibration
        The table for the new leads.
    missed
        Classes whose sensitivity cannot be reached: number, asked and reached sensitivity.
    """

    factor: int
    added: tuple[int, ...]
    calibration: Calibration
    missed: tuple[tuple[int, float, float], ...] = ()
