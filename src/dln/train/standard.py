"""Standardise targets: the mean 0 and the standard deviation 1, or the mean 1 with a log link.

For absolute errors and quantiles, the median and the distance of the quartiles are used instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dln.core.score import Link
from dln.train.number_loss import Floats, NumberLoss, weighted_quantile
from dln.train.problem import NumberProblem


@dataclass(frozen=True)
class Standard:
    """How targets are standardised: (target - shift) / scale, with scores to match."""

    shift: float
    scale: float
    link: Link

    @classmethod
    def of(cls, problem: NumberProblem, loss: NumberLoss) -> Standard:
        """Find the standard of training rows, whose targets are not all the same."""
        mean = float(np.average(problem.target, weights=problem.weight))
        if loss.link == "log":
            return cls(0.0, mean, loss.link)
        spread = float(np.sqrt(np.average((problem.target - mean) ** 2, weights=problem.weight)))
        if loss.name in ("absolute", "quantile"):
            low, middle, high = (
                weighted_quantile(problem.target, problem.weight, level)
                for level in (0.25, 0.5, 0.75)
            )
            # Outliers should not matter. 1.349 is the distance of the quartiles of a normal.
            return cls(middle, (high - low) / 1.349 or spread, loss.link)
        return cls(mean, spread, loss.link)

    def targets(self, target: Floats) -> Floats:
        """Return standardised targets."""
        return np.asarray((target - self.shift) / self.scale)

    @property
    def unit(self) -> float:
        """What a score of 1 is worth on the scale of the circuit's score."""
        return 1.0 if self.link == "log" else self.scale

    def offset(self, score: float) -> float:
        """Return a score on the scale of the circuit."""
        return score + float(np.log(self.scale)) if self.link == "log" else self.original(score)

    def standardised(self, scores: Floats) -> Floats:
        """Return scores on the scale of the circuit as those of standardised targets."""
        if self.link == "log":
            return np.asarray(scores - np.log(self.scale))
        return self.targets(scores)

    def original(self, score: float) -> float:
        """Return a standardised number in the units of the target."""
        return score * self.scale + self.shift
