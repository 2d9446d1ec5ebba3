"""Estimate the time of the remaining cells from the finished ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from reproduction.models.registry import find_model, search_of
from reproduction.published import size_of
from reproduction.run.cells import Cell
from reproduction.run.results import Result

_FIRST_GUESS = 2e-5
"""First estimate of a decision tree's seconds per value of the table, from all tables of
reproduction/results."""

_POWERS = (0.3, 1.2)


class TimeLeft:
    """Estimates times from the results so far."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._known: defaultdict[str, defaultdict[str, list[float]]]
        self._known = defaultdict(lambda: defaultdict(list))
        for result in results:
            self.add(result)

    def add(self, result: Result) -> None:
        """Add a result."""
        self._known[search_of(result.model)][result.dataset].append(max(result.seconds, 1e-3))

    def seconds(self, cell: Cell) -> float:
        """Estimate a cell from other seeds of it, otherwise from the size of the table."""
        known = self._known.get(search_of(cell.model))
        if not known:
            return _FIRST_GUESS * find_model(cell.model).weight * size_of(cell.dataset)
        if cell.dataset in known:
            return float(np.mean(known[cell.dataset]))
        sizes = np.log([size_of(name) for name in known])
        times = np.log([np.mean(seconds) for seconds in known.values()])
        # Time grows with a power of the size; two tables of different size determine it.
        power = np.polyfit(sizes, times, 1)[0] if np.ptp(sizes) > 1 else 1.0
        ratio = np.log(size_of(cell.dataset)) - sizes.mean()
        return float(np.exp(times.mean() + np.clip(power, *_POWERS) * ratio))

    def show(self, cells: Sequence[Cell], jobs: int) -> str:
        """Describe how many cells are left and how long they will take."""
        if not cells:
            return "none left"
        searches = dict.fromkeys(replace(cell, model=search_of(cell.model)) for cell in cells)
        minutes = sum(self.seconds(search) for search in searches) / jobs / 60
        return f"{len(cells)} left, {_minutes_text(minutes)}"


def _minutes_text(minutes: float) -> str:
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes / 60:.1f} h" if minutes >= 90 else f"about {round(minutes)} min"
