"""A number circuit before and after edits -> what changed: rows, by how much, errors, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dln._util.messages import plain_text
from dln.core.circuit import Circuit
from dln.data.number_target import read_numbers
from dln.data.table import read_table
from dln.edits.effect_text import EffectText
from dln.evaluate.number_scores import tally_numbers
from dln.explain.differences import Differences, find_differences

_DIGITS = 4


@dataclass(frozen=True)
class NumberEditEffect(EffectText):
    """What edits changed in a model that predicts a number; returned by `Editing.effect`.

    Attributes
    ----------
    n_rows, n_changed
        The number of rows given, and of rows whose prediction changed; None without rows.
    changes
        The smallest, the mean and the largest change (after minus before) of the rows whose
        prediction changed; None if there are none.
    r2, mae
        R² and the mean absolute error before and after the edits; None without the numbers of the
        rows. R² is None too if these are all the same.
    differences
        The conditions under which the prediction changed, proven: exactly these, if it is
        `complete`.
    """

    n_rows: int | None
    n_changed: int | None
    changes: tuple[float, float, float] | None
    r2: tuple[float, float] | None
    mae: tuple[float, float] | None
    differences: Differences

    def _figures(self) -> list[str]:
        lines = self._changed("prediction")
        if self.changes is not None:
            low, mean, high = (_signed(change) for change in self.changes)
            lines.append(f"Change of these rows: {low} to {high}, mean {mean}.")
        for name, pair in (("R²", self.r2), ("Mean absolute error", self.mae)):
            if pair is not None:
                before, after = (plain_text(each, _DIGITS) for each in pair)
                lines.append(f"{name}: {before} before, {after} after.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "format": "dln-number-edit-effect",
            "version": 1,
            "n_rows": self.n_rows,
            "n_changed": self.n_changed,
            "changes": None if self.changes is None else list(self.changes),
            "r2": None if self.r2 is None else list(self.r2),
            "mae": None if self.mae is None else list(self.mae),
            "differences": self.differences.to_dict(),
        }


def _signed(change: float) -> str:
    return f"{'+' if change >= 0 else ''}{plain_text(change, _DIGITS)}"


def compare_numbers(
    before: Circuit,
    after: Circuit,
    X: Any = None,
    y: Any = None,
    *,
    n: int = 10,
    time_limit: float | None = 60.0,
) -> NumberEditEffect:
    """Compare two circuits of the same number on rows and on every possible row."""
    found = find_differences(before, after, X, n=n, time_limit=time_limit)
    if X is None:
        return NumberEditEffect(None, None, None, None, None, found)
    table = read_table(X).kept()
    old, new = before.predict(table), after.predict(table)
    # Infinite predictions (link log) may change by no number that can be written.
    with np.errstate(invalid="ignore"):
        change = (new - old)[new != old]
    changes = None
    if len(change) and np.isfinite(change).all():
        changes = float(change.min()), float(change.mean()), float(change.max())
    r2 = mae = None
    if y is not None and table.n_rows:
        target = read_numbers(y, table.n_rows)
        tallies = tally_numbers(target, old), tally_numbers(target, new)
        mae = tallies[0].mae.value, tallies[1].mae.value
        if tallies[0].r2 and tallies[1].r2:
            r2 = tallies[0].r2.value, tallies[1].r2.value
    return NumberEditEffect(table.n_rows, int(np.sum(new != old)), changes, r2, mae, found)
