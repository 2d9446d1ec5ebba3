"""An evaluation and the numbers of its rows -> how often each rule fires, and on which targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import percent, plain_text
from dln.evaluate.evaluation import Evaluation
from dln.explain.evidence import measure_rules

_DIGITS = 4
"""Means are written with this many digits."""


@dataclass(frozen=True)
class NumberEvidence:
    """Statistics of a rule on a table.

    Attributes
    ----------
    n_rows
        Number of rows of the table.
    support
        Number of rows where the rule fires.
    mean_prediction
        Mean prediction where it fires; None if it never fires.
    mean_target, mean_elsewhere
        Mean target where it fires and where it does not; None without such rows or targets.
    """

    n_rows: int
    support: int
    mean_prediction: float | None
    mean_target: float | None = None
    mean_elsewhere: float | None = None

    @property
    def share(self) -> float:
        """Fraction of the rows where the rule fires."""
        return self.support / self.n_rows

    def to_text(self, name: str) -> str:
        """Write the statistics as one line."""
        if not self.support:
            return f"fires in none of {self.n_rows} rows"
        fires = f"{self.support} of {self.n_rows} rows ({percent(self.share)})"
        if self.mean_target is None:
            return fires
        mean = f"{fires}, mean {name} {mean_text(self.mean_target)}"
        if self.mean_elsewhere is None:
            return mean
        return f"{mean}, elsewhere {mean_text(self.mean_elsewhere)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "support": self.support,
            "share": self.share,
            "mean_prediction": self.mean_prediction,
            "mean_target": self.mean_target,
            "mean_elsewhere": self.mean_elsewhere,
        }


def measure_number_rules(
    evaluation: Evaluation, target: NDArray[np.float64] | None = None
) -> tuple[NumberEvidence, ...]:
    """Measure each rule on the rows; its mean target too if there are targets."""
    _, counts = measure_rules(evaluation)
    found = []
    for evidence, fired in zip(counts, evaluation.fired.T, strict=True):
        found.append(
            NumberEvidence(
                evaluation.n_rows,
                evidence.support,
                _mean(evaluation.answers, fired),
                _mean(target, fired),
                _mean(target, ~fired),
            )
        )
    return tuple(found)


def mean_text(mean: float | None) -> str:
    """Write a mean; "-" if there is none."""
    return "-" if mean is None else plain_text(mean, _DIGITS)


def _mean(values: NDArray[np.float64] | None, where: NDArray[np.bool_]) -> float | None:
    if values is None or not where.any():
        return None
    return float(values[where].mean())
