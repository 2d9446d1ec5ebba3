"""The chunks of a table -> which columns hold mostly values that a circuit has no category for.

Such a value is not an error: rules treat it as none of their categories. Where most values of a
column are unknown, the table probably spells its categories otherwise than the training table.
"""

from __future__ import annotations

from collections import Counter

from dln.circuit import Circuit
from dln.cli.arrow import Frame, pa, pc
from dln.cli.kinds import clear, quoted, reading_kind, used_features
from dln.cli.talk import say
from dln.wording import some


class StrangeCells:
    """Counts values that are none of a circuit's categories, chunk by chunk."""

    def __init__(self, circuit: Circuit) -> None:
        # Categories that are not text come from tables with types, which do not misspell them.
        self._categories = {
            feature.name: [str(category) for category in feature.categories]
            for feature in used_features(circuit)
            if feature.categories and reading_kind(feature) == "category"
        }
        self._n_cells: Counter[str] = Counter()
        self._n_strange: Counter[str] = Counter()

    def count(self, frame: Frame) -> None:
        """Count the unknown values of some rows, in columns read as the circuit reads them."""
        for name, categories in self._categories.items():
            cells = frame.column(name).drop_null()
            known = pc.is_in(cells, value_set=pa.array(categories, cells.type))
            self._n_cells[name] += len(cells)
            self._n_strange[name] += pc.sum(pc.invert(known)).as_py() or 0

    def tell(self) -> None:
        """Print which columns hold mostly unknown values."""
        for name, categories in self._categories.items():
            n_cells, n_strange = self._n_cells[name], self._n_strange[name]
            if 2 * n_strange > n_cells:
                say(
                    f"note: Column {quoted(name)}: {n_strange:,} of {n_cells:,} values are none of "
                    f"the categories {some([clear(category) for category in categories])}."
                )
