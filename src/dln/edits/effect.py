"""A circuit before and after edits -> what changed: rows, accuracy, and the exact condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dln._util.messages import percent
from dln.core.circuit import Circuit
from dln.data.table import read_table
from dln.data.target import class_numbers
from dln.edits.effect_text import EffectText
from dln.evaluate.scores import balanced_accuracy, count_pairs
from dln.explain.differences import Differences, find_differences


@dataclass(frozen=True)
class EditEffect(EffectText):
    """What edits changed; returned by `Editing.effect`.

    Attributes
    ----------
    n_rows, n_changed
        The number of rows given, and of rows that changed their class; None without rows.
    accuracy, balanced_accuracy
        Before and after the edits; None without the classes of the rows.
    differences
        The conditions under which the class changed, proven: exactly these, if it is `complete`.
    """

    n_rows: int | None
    n_changed: int | None
    accuracy: tuple[float, float] | None
    balanced_accuracy: tuple[float, float] | None
    differences: Differences

    def _figures(self) -> list[str]:
        lines = self._changed("class")
        for name, pair in (
            ("Accuracy", self.accuracy),
            ("Balanced accuracy", self.balanced_accuracy),
        ):
            if pair is not None:
                lines.append(f"{name}: {percent(pair[0])} before, {percent(pair[1])} after.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "format": "dln-edit-effect",
            "version": 1,
            "n_rows": self.n_rows,
            "n_changed": self.n_changed,
            "accuracy": None if self.accuracy is None else list(self.accuracy),
            "balanced_accuracy": (
                None if self.balanced_accuracy is None else list(self.balanced_accuracy)
            ),
            "differences": self.differences.to_dict(),
        }


def compare_circuits(
    before: Circuit,
    after: Circuit,
    X: Any = None,
    y: Any = None,
    *,
    n: int = 10,
    time_limit: float | None = 60.0,
) -> EditEffect:
    """Compare two circuits of the same columns and classes on rows and on every possible row."""
    found = find_differences(before, after, X, n=n, time_limit=time_limit)
    if X is None:
        return EditEffect(None, None, None, None, found)
    table = read_table(X).kept()
    winners = [circuit.winners(table) for circuit in (before, after)]
    n_changed = int(np.count_nonzero(winners[0] != winners[1]))
    accuracy, balanced = None, None
    if y is not None and table.n_rows:
        target = class_numbers(y, before.classes, table.n_rows)
        shape = (before.n_classes, before.n_classes)
        old, new = (count_pairs(target, each, shape) for each in winners)
        accuracy = float(old.trace() / old.sum()), float(new.trace() / new.sum())
        balanced = balanced_accuracy(old), balanced_accuracy(new)
    return EditEffect(table.n_rows, n_changed, accuracy, balanced, found)
