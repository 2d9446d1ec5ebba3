"""Choose the cells to run: all, or those of some datasets, models and seeds."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.datasets.known import check_names, check_seeds
from reproduction.models.registry import find_model
from reproduction.run.results import Cell
from reproduction.tables.published import size_of


def choose_cells(
    datasets: Sequence[str], models: Sequence[str], seeds: Sequence[int]
) -> list[Cell]:
    """List the cells model by model, small tables first, so that results appear early.

    >>> [str(cell) for cell in choose_cells(["Letter", "Heart"], ["dt", "nb"], [0])]
    ['Heart dt 0', 'Letter dt 0', 'Heart nb 0', 'Letter nb 0']
    """
    check_names(datasets)
    check_seeds(seeds)
    for model in models:
        find_model(model)
    ordered = sorted(datasets, key=size_of)
    return [Cell(name, model, seed) for model in models for name in ordered for seed in seeds]
