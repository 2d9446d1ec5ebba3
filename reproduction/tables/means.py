"""Results -> means over seeds by dataset and model, and ranks; missing results stay missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from reproduction.datasets import NAMES
from reproduction.models.registry import MODELS
from reproduction.protocol import SEEDS
from reproduction.published import Measure, figures
from reproduction.run.results import Result

Figures = Mapping[str, Mapping[str, float]]
"""Figures by dataset and model."""

_HIGHER_IS_BETTER = ("accuracy",)


@dataclass(frozen=True)
class Mean:
    """The mean over seeds, its standard error (0 for one seed) and the number of seeds."""

    value: float
    error: float
    n_seeds: int

    @property
    def whole(self) -> bool:
        """Whether all seeds have a result."""
        return self.n_seeds >= len(SEEDS)


Grid = Mapping[str, Mapping[str, Mean]]
"""Means by dataset and model."""


def make_grid(results: Iterable[Result], measure: Measure) -> Grid:
    """Average a measure over the seeds."""
    found: defaultdict[str, defaultdict[str, list[float]]]
    found = defaultdict(lambda: defaultdict(list))
    for result in results:
        value = getattr(result, measure)
        if value is not None:
            found[result.dataset][result.model].append(float(value))
    return {
        dataset: {model: _mean(values) for model, values in models.items()}
        for dataset, models in found.items()
    }


def _mean(values: Sequence[float]) -> Mean:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Mean(float(np.mean(values)), spread / len(values) ** 0.5, len(values))


def whole_figures(grid: Grid) -> dict[str, dict[str, float]]:
    """Return the means of the paper's datasets for which all seeds have a result."""
    return {
        dataset: {model: mean.value for model, mean in grid[dataset].items() if mean.whole}
        for dataset in NAMES
        if dataset in grid
    }


def published_figures(measure: Measure) -> dict[str, dict[str, float]]:
    """Return the paper's figures by our model names; every DLN column gets the paper's DLN."""
    return {
        dataset: {
            name: row[entry.published] for name, entry in MODELS.items() if entry.published in row
        }
        for dataset, row in figures(measure).items()
    }


def complete(table: Figures, models: Sequence[str], datasets: Sequence[str] = NAMES) -> list[str]:
    """List the datasets for which all these models have a figure."""
    return [
        name for name in datasets if name in table and all(model in table[name] for model in models)
    ]


def average_ranks(
    table: Figures, models: Sequence[str], datasets: Sequence[str], measure: Measure
) -> dict[str, float]:
    """Rank models on each dataset (1 is best) and average; ties share their mean rank.

    >>> average_ranks({"Heart": {"dt": 70.0, "nb": 80.0}}, ["dt", "nb"], ["Heart"], "accuracy")
    {'dt': 2.0, 'nb': 1.0}
    """
    if not datasets:
        return {}
    sign = -1.0 if measure in _HIGHER_IS_BETTER else 1.0
    ranks = [rankdata([sign * table[name][model] for model in models]) for name in datasets]
    return dict(zip(models, np.mean(ranks, axis=0).tolist(), strict=True))


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean, so that ratios of 2 and 0.5 cancel.

    >>> geometric_mean([2.0, 0.5])
    1.0
    """
    return float(np.exp(np.mean(np.log(ratios))))
