"""The queue of cells that have not started."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from reproduction.models.registry import search_of
from reproduction.run.cells import Cell
from reproduction.run.results import missing


class Queue:
    """Cells in the order in which they start.

    Models that share a search, such as dln and dln-small, do not run at the same time: the first
    one also writes the result of the other.
    """

    def __init__(self, cells: Sequence[Cell], folder: Path) -> None:
        self._waiting = list(cells)
        self._folder = folder

    def take(self, running: Collection[Cell]) -> Cell | None:
        """Return the first cell that may start next to the running ones, or None."""
        self._waiting = missing(self._waiting, self._folder)
        searches = {_search_of(cell) for cell in running}
        for place, cell in enumerate(self._waiting):
            if _search_of(cell) not in searches:
                return self._waiting.pop(place)
        return None


def _search_of(cell: Cell) -> tuple[str, str, int]:
    return cell.dataset, search_of(cell.model), cell.seed
