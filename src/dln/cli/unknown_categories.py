"""The chunks of a table -> the columns in which most values are unknown categories.

An unknown category is not an error: it matches no rule's categories. But if most values of a column
are unknown, the table probably spells its categories differently from the training table.
"""

from __future__ import annotations

from collections import Counter

from dln._util.messages import list_names
from dln.cli.kinds import quoted, quoted_if_unclear, reading_kind, used_features
from dln.cli.output import print_message
from dln.core.circuit import Circuit
from dln.data.coded import CodedColumn
from dln.data.table import Table


class UnknownCategories:
    """Counts values that are none of a circuit's categories, chunk by chunk."""

    def __init__(self, circuit: Circuit) -> None:
        # Categories that are not text come from tables with types, which do not misspell them.
        self._categories = {
            feature.name: [str(category) for category in feature.categories]
            for feature in used_features(circuit)
            if feature.categories and reading_kind(feature) == "category"
        }
        self._n_values: Counter[str] = Counter()
        self._n_unknown: Counter[str] = Counter()

    def count(self, table: Table) -> None:
        """Count the unknown values of some rows, in columns read as the circuit reads them."""
        names = table.column_names()
        for name, categories in self._categories.items():
            cells = table.read(names.index(name))
            if isinstance(cells, CodedColumn):  # a column without any value is not
                counts = cells.counts()
                n_known = sum(counts.get(category, 0) for category in set(categories))
                self._n_values[name] += sum(counts.values())
                self._n_unknown[name] += sum(counts.values()) - n_known

    def print_notes(self) -> None:
        """Print a note on each column in which most values are unknown."""
        for name, categories in self._categories.items():
            n_values, n_unknown = self._n_values[name], self._n_unknown[name]
            if 2 * n_unknown > n_values:
                known = list_names(map(quoted_if_unclear, categories))
                print_message(
                    f"note: Column {quoted(name)}: {n_unknown:,} of {n_values:,} values are none "
                    f"of the categories {known}."
                )
