"""Compare models that were not run on every table with the DLN on the same splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets import NAMES
from reproduction.models.registry import COMPARED_COLUMNS, MODELS
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT
from reproduction.tables.sheet import Section

_TITLE = "The same on just the splits that a model has: means over tables of their means, percent"
_SLACK = 0.05
"""Two means that differ by less than this many points print alike."""

Split = tuple[str, int]
"""A dataset and a seed."""


def same_splits_section(results: Sequence[Result], others: Sequence[str]) -> Section:
    """Compare each of the other models with every DLN column on the paper's tables."""
    accuracies: defaultdict[str, dict[Split, float]] = defaultdict(dict)
    for result in results:
        if result.dataset in NAMES:
            accuracies[result.model][result.dataset, result.seed] = result.accuracy
    headings = [MODELS[name].heading for name in COMPARED_COLUMNS]
    header = ("model", "tables", "splits", "its mean", *headings, "dln ahead, level, behind")
    rows = []
    for name in others:
        columns = [accuracies[model] for model in (name, *COMPARED_COLUMNS)]
        rows.append((MODELS[name].heading, *_compare(columns)))
    return Section(_TITLE, header, tuple(rows))


def _compare(columns: Sequence[Mapping[Split, float]]) -> tuple[str, ...]:
    """Return the table row of a model: its own figures, then those of every DLN column."""
    splits = set.intersection(*map(set, columns))
    means = [_means_by_table(column, splits) for column in columns]
    lead = means[1 + COMPARED_COLUMNS.index("dln")] - means[0]
    ahead, behind = int((lead >= _SLACK).sum()), int((lead <= -_SLACK).sum())
    return (
        str(len(lead)),
        str(len(splits)),
        *(f"{mean.mean():.1f}" if splits else ABSENT for mean in means),
        f"{ahead}, {len(lead) - ahead - behind}, {behind}",
    )


def _means_by_table(
    accuracies: Mapping[Split, float], splits: Collection[Split]
) -> NDArray[np.float64]:
    by_table: defaultdict[str, list[float]] = defaultdict(list)
    for split in sorted(splits):
        by_table[split[0]].append(accuracies[split])
    return np.array([np.mean(values) for values in by_table.values()])
