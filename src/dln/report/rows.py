"""Test rows -> the rows that the page can load: all of them, or a sample that fits.

If not all fit, errors come first and the rest is a random sample. Figures always come from all
rows; the page says how many it holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.data.codes import MISSING_CODE, UNSEEN_CODE, encode_cells, places_of
from dln.data.table import RawColumn, Table
from dln.evaluate.evaluation import Evaluation

PageCell = float | int | str | None
"""A number ("inf" and "-inf" if infinite), the code or text of a category, or missing."""

_SEED = 0
_ERROR_SHARE = 0.6
"""The largest part of the space that errors may take if not all rows fit."""


@dataclass(frozen=True)
class LabelledRows:
    """All test rows as a circuit reads them, with their true and predicted classes.

    Attributes
    ----------
    columns
        Numbers of the columns that the circuit reads, ascending.
    raw, cells
        By column: values as in the table, and as numbers or category codes. None if not read.
    target, winners
        True and predicted class numbers, one per row.
    votes
        (n_rows, n_classes).
    """

    columns: Sequence[int]
    raw: Sequence[RawColumn | None]
    cells: Sequence[NDArray[Any] | None]
    target: NDArray[Any]
    winners: NDArray[np.int64]
    votes: NDArray[np.int64]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which rows are predicted wrongly."""
        return np.asarray(self.target != self.winners)

    def to_json(self, max_bytes: int, numbers: Sequence[int] | None = None) -> dict[str, Any]:
        """Return rows for the page, in the order of the table.

        Parameters
        ----------
        max_bytes
            How long the rows may be as JSON.
        numbers
            Row numbers that the reader knows; counted from 1 by default.
        """
        kept = sorted(self._sample(max_bytes).items())
        rows = [row for row, _ in kept]
        return {
            "rows": [
                [numbers[row] if numbers else row + 1, self.target_cell(row), *cells]
                for row, cells in kept
            ],
            "weights": self._weights(rows),
            "start": rows.index(self.typical_row(rows)) if rows else None,
        }

    def _weights(self, kept: Sequence[int]) -> list[float] | None:
        """Return how many rows each kept row stands for; None if all rows are kept.

        Errors are more frequent in a sample than in the table. The weights undo that.
        """
        if len(kept) == len(self.target):
            return None
        wrong = self.wrong
        all_counts = np.bincount(wrong, minlength=2)
        kept_counts = np.bincount(wrong[list(kept)], minlength=2)
        weights = all_counts / np.maximum(kept_counts, 1)
        return [float(f"{weights[int(wrong[row])]:.6g}") for row in kept]

    def target_cell(self, row: int) -> float | int:
        """Return the number of the true class of a row."""
        return int(self.target[row])

    def typical_row(self, among: Sequence[int]) -> int:
        """Return a correctly predicted row with the median vote margin.

        If every prediction is wrong, return the first row; -1 if there are no rows.
        """
        if not among:
            return -1
        rows = np.asarray(among)
        right = rows[~self.wrong[rows]]
        if not len(right):
            return int(rows[0])
        margins = self.margins()[right]
        middle = np.sort(margins)[(len(margins) - 1) // 2]
        return int(right[np.argmax(margins == middle)])

    def margins(self) -> NDArray[np.int64]:
        """Return the vote margin of each row's predicted class over the next class."""
        if self.votes.shape[1] < 2:
            return np.zeros(len(self.votes), dtype=np.int64)
        ranked = np.sort(self.votes, axis=1)
        return np.asarray(ranked[:, -1] - ranked[:, -2])

    def _sample(self, max_bytes: int) -> dict[int, list[PageCell]]:
        """Choose the rows that fit: errors up to their share, then others at random."""
        n_rows = len(self.target)
        shuffled = np.random.default_rng(_SEED).permutation(n_rows)
        wrong, right = shuffled[self.wrong[shuffled]], shuffled[~self.wrong[shuffled]]
        chosen, used = self._fill(wrong, 0, round(max_bytes * _ERROR_SHARE))
        others, used = self._fill(right, used, max_bytes)
        more, _ = self._fill(wrong[len(chosen) :], used, max_bytes)
        return chosen | others | more

    def _fill(
        self, rows: NDArray[np.int64], used: int, most: int
    ) -> tuple[dict[int, list[PageCell]], int]:
        """Take rows until the length reaches `most`; return them and the length so far."""
        chosen: dict[int, list[PageCell]] = {}
        for row in rows.tolist():
            cells = self._cells(row)
            length = len(json.dumps(cells)) + 24
            if used + length > most:
                break
            used += length
            chosen[row] = cells
        return chosen, used

    def _cells(self, row: int) -> list[PageCell]:
        return [self._cell(column, row) for column in self.columns]

    def _cell(self, column: int, row: int) -> PageCell:
        cells, raw = self.cells[column], self.raw[column]
        assert cells is not None
        assert raw is not None
        if cells.dtype == np.int32:  # codes of categories
            code = int(cells[row])
            known = {MISSING_CODE: None, UNSEEN_CODE: str(raw.values[row])}
            return known.get(code, code)
        return to_cell(float(cells[row]))


def read_rows(table: Table, target: NDArray[np.int64], evaluation: Evaluation) -> LabelledRows:
    """Read every column that the circuit reads."""
    circuit = evaluation.circuit
    used = circuit.logic.used_columns
    places = places_of(table, circuit.columns, used)
    raw: list[RawColumn | None] = [None] * len(circuit.columns)
    cells: list[NDArray[Any] | None] = [None] * len(circuit.columns)
    for column in used:
        found = table.read(places[column])
        raw[column] = found
        encoded = encode_cells(found, circuit.columns[column])
        is_numeric = circuit.columns[column].is_numeric
        cells[column] = encoded.astype(np.float64) if is_numeric else encoded
    is_classifier = circuit.task == "classes"
    winners = evaluation.winners if is_classifier else np.zeros_like(target)
    return LabelledRows(used, raw, cells, target, winners, evaluation.votes)


def short(value: float, digits: int) -> float | int:
    """Round a finite number to some digits; whole numbers have no decimal point.

    >>> short(1234.5678, 5), short(3.0, 5)
    (1234.6, 3)
    """
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def to_cell(number: float) -> float | int | str | None:
    """Return a number as JSON can hold it; whole numbers without a decimal point."""
    if math.isnan(number):
        return None
    if not math.isfinite(number):
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
