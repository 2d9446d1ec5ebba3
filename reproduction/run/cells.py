"""The cells of the experiment: one model on one split of one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dln import OptionError
from reproduction.datasets import check_name
from reproduction.models.registry import find_model
from reproduction.published import size_of

_SEEDS_END = 2**32
"""NumPy's limit for seeds."""


@dataclass(frozen=True)
class Cell:
    """One model on one split of one dataset."""

    dataset: str
    model: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} {self.model} {self.seed}"


def choose_cells(
    datasets: Sequence[str], models: Sequence[str], seeds: Sequence[int]
) -> list[Cell]:
    """List the cells model by model, small tables first, so that results appear early.

    >>> [str(cell) for cell in choose_cells(["Letter", "Heart"], ["dt", "nb"], [0])]
    ['Heart dt 0', 'Letter dt 0', 'Heart nb 0', 'Letter nb 0']
    >>> choose_cells(["Heart"], ["dt"], [-1])
    Traceback (most recent call last):
    dln.errors.OptionError: a seed is -1, expected whole numbers from 0 to 4294967295
    """
    for name in datasets:
        check_name(name)
    for model in models:
        find_model(model)
    for seed in seeds:
        if not 0 <= seed < _SEEDS_END:
            raise OptionError(
                f"a seed is {seed}, expected whole numbers from 0 to {_SEEDS_END - 1}"
            )
    ordered = sorted(datasets, key=size_of)
    return [Cell(name, model, seed) for model in models for name in ordered for seed in seeds]
