"""The chunks of a table -> which columns hold mostly what a circuit has no category for.

Such a cell is no mistake: it is none of the categories, and rules say what that means. Where most
cells of a column are so, the table writes its categories otherwise than that of the training.
"""

from __future__ import annotations

from collections import Counter

from dln.circuit import Circuit
from dln.cli.arrow import Frame, pa, pc
from dln.cli.kinds import clear, reading_kind, used_features
from dln.cli.talk import say
from dln.wording import some


class StrangeCells:
    """Counts the cells of a circuit's columns that are none of its categories, chunk by chunk."""

    def __init__(self, circuit: Circuit) -> None:
        # Categories that are not text come from tables with types, where they are not misspelled.
        self._categories = {
            feature.name: [str(category) for category in feature.categories]
            for feature in used_features(circuit)
            if feature.categories and reading_kind(feature) == "category"
        }
        self._n_cells: Counter[str] = Counter()
        self._n_strange: Counter[str] = Counter()

    def count(self, frame: Frame) -> None:
        """Count those of some rows, in columns read as the circuit reads them."""
        for name, categories in self._categories.items():
            cells = frame.column(name).drop_null()
            known = pc.is_in(cells, value_set=pa.array(categories, cells.type))
            self._n_cells[name] += len(cells)
            self._n_strange[name] += pc.sum(pc.invert(known)).as_py() or 0

    def tell(self) -> None:
        """Say which columns hold mostly such cells."""
        for name, categories in self._categories.items():
            n_cells, n_strange = self._n_cells[name], self._n_strange[name]
            if 2 * n_strange > n_cells:
                say(
                    f"note: {clear(name)}: {n_strange:,} of {n_cells:,} cells are none of the "
                    f"categories {some([clear(category) for category in categories])}"
                )
