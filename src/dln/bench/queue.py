"""The cells of a run that wait for their turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from dln.bench.cells import Cell
from dln.bench.models import search_of


class Queue:
    """Cells in the order in which they are begun.

    Two that come out of one search, such as dln and dln-small, are not run side by side: the one
    that is run first brings the other's result.
    """

    def __init__(self, cells: Sequence[Cell], folder: Path) -> None:
        self._waiting = list(cells)
        self._folder = folder

    def take(self, running: Collection[Cell]) -> Cell | None:
        """Take the first cell that may begin beside those that run; None where there is none."""
        self._waiting = [cell for cell in self._waiting if not cell.path(self._folder).exists()]
        searches = {_search_of(cell) for cell in running}
        for place, cell in enumerate(self._waiting):
            if _search_of(cell) not in searches:
                return self._waiting.pop(place)
        return None


def _search_of(cell: Cell) -> tuple[str, str, int]:
    return cell.dataset, search_of(cell.model), cell.seed
