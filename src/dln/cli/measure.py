"""Measure how good a circuit is on rows whose classes or numbers are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.cli.labels import Targets, strata_of
from dln.core.circuit import Circuit
from dln.evaluate.number_scores import NumberTally, tally_numbers
from dln.evaluate.ranking import Ranking, rank
from dln.evaluate.scores import Tally, tally


@dataclass(frozen=True, eq=False)
class Measure:
    """Counts of correct and wrong predictions, and the ranking of rows by votes.

    Measures of parts of a table add up to the measure of the whole.
    """

    tally: Tally
    ranking: Ranking

    def __add__(self, other: Measure) -> Measure:
        return Measure(self.tally + other.tally, self.ranking + other.ranking)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.tally.rows.sum())


@dataclass(frozen=True, eq=False)
class NumberMeasure:
    """True and predicted numbers. Measures of parts of a table add up to that of the whole."""

    target: NDArray[np.float64]
    predicted: NDArray[np.float64]

    def __add__(self, other: NumberMeasure) -> NumberMeasure:
        return NumberMeasure(
            np.concatenate([self.target, other.target]),
            np.concatenate([self.predicted, other.predicted]),
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.target)

    @cached_property
    def tally(self) -> NumberTally:
        """The errors; there must be rows."""
        return tally_numbers(self.target, self.predicted)


AnyMeasure = Measure | NumberMeasure


def measure(circuit: Circuit, X: Any, targets: Targets) -> AnyMeasure:
    """Compare a circuit's predictions with the class or number of each row."""
    return measure_groups(circuit, X, targets, np.zeros(len(targets), dtype=np.int64), 1)[0]


def measure_groups(
    circuit: Circuit, X: Any, targets: Targets, groups: NDArray[np.int64], n_groups: int
) -> list[AnyMeasure]:
    """Measure each group of rows; `groups` has the number of each row's group."""
    evaluation = circuit.evaluate(X, wires=())
    masks = [groups == number for number in range(n_groups)]
    if circuit.task == "number":
        numbers = targets.astype(np.float64)
        return [NumberMeasure(numbers[rows], evaluation.answers[rows]) for rows in masks]
    classes = strata_of(targets)
    found: list[AnyMeasure] = []
    for rows in masks:
        counted = tally(classes[rows], evaluation.winners[rows], evaluation.probabilities[rows])
        found.append(Measure(counted, rank(classes[rows], evaluation.votes[rows])))
    return found
