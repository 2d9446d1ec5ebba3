"""Measure: how good a circuit is on rows whose classes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.ranking import Ranking, rank
from dln.scores import Tally, tally


@dataclass(frozen=True, eq=False)
class Measure:
    """Right and wrong predictions, and how well the votes order the rows.

    Measures of parts of a table add up to the measure of the whole.
    """

    tally: Tally
    ranking: Ranking

    def __add__(self, other: Measure) -> Measure:
        return Measure(self.tally + other.tally, self.ranking + other.ranking)

    @property
    def n_rows(self) -> int:
        """How many rows were measured on."""
        return int(self.tally.rows.sum())


def measure(circuit: Circuit, X: Any, classes: NDArray[np.int64]) -> Measure:
    """Compare what a circuit gives for a table with the number of each row's class."""
    votes = circuit.votes(X)
    counted = tally(classes, votes.argmax(axis=1), circuit.predict_proba(X))
    return Measure(counted, rank(classes, votes))
