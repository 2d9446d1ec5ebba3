"""Test rows -> cells for the page: those predicted wrongly first, as many as fit."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.codes import MISSING_CODE, UNSEEN_CODE, encode_cells, places_of
from dln.table import RawColumn, Table

PageCell = float | int | str | None
"""A number ("inf" and "-inf" where it is infinite), the code or text of a category, or missing."""


@dataclass(frozen=True)
class LabelledRows:
    """All rows of a table as a circuit reads them, with their true and predicted classes.

    Attributes
    ----------
    raw, cells
        By column, None where it is not read: as in the table, and as numbers or category codes.
    target, winners
        Numbers of classes, one a row.
    votes
        (n_rows, n_classes).
    """

    raw: Sequence[RawColumn | None]
    cells: Sequence[NDArray[Any] | None]
    target: NDArray[np.int64]
    winners: NDArray[np.int64]
    votes: NDArray[np.int64]

    def to_json(self, max_bytes: int, numbers: Sequence[int] | None = None) -> dict[str, Any]:
        """Give as many rows as fit: wrong ones first, the most clearly wrong at the top.

        The reader knows the rows by these numbers; they are counted from 1 unless given.
        """
        chosen: list[dict[str, Any]] = []
        used = 0
        for row in self._order().tolist():
            part = {"number": numbers[row] if numbers else row + 1, **self._row(row)}
            used += len(json.dumps(part)) + 1
            if used > max_bytes:
                break
            chosen.append(part)
        return {
            "rows": chosen,
            "total": len(self.target),
            "wrong": int((self.target != self.winners).sum()),
        }

    def _order(self) -> NDArray[np.int64]:
        rows = np.arange(len(self.target))
        lead = self.votes.max(axis=1) - self.votes[rows, self.target]
        wrong = self.target != self.winners
        # A tie that another class wins is wrong too; right ones keep the table's order.
        return np.lexsort((rows, np.where(wrong, -lead, 0), ~wrong))

    def _row(self, row: int) -> dict[str, Any]:
        return {
            "target": int(self.target[row]),
            "cells": [self._cell(column, row) for column in range(len(self.cells))],
        }

    def _cell(self, column: int, row: int) -> PageCell:
        cells, raw = self.cells[column], self.raw[column]
        if cells is None or raw is None:
            return None
        if cells.dtype == np.int32:  # codes of categories
            code = int(cells[row])
            known = {MISSING_CODE: None, UNSEEN_CODE: str(raw.values[row])}
            return known.get(code, code)
        return to_cell(float(cells[row]))


def read_rows(circuit: Circuit, table: Table, target: NDArray[np.int64]) -> LabelledRows:
    """Read every column that the circuit does, and predict."""
    used = sorted({literal.column for literal in circuit.literals})
    places = places_of(table, circuit.columns, used)
    raw: list[RawColumn | None] = [None] * len(circuit.columns)
    cells: list[NDArray[Any] | None] = [None] * len(circuit.columns)
    for column in used:
        found = table.read(places[column])
        raw[column] = found
        encoded = encode_cells(found, circuit.columns[column])
        is_numeric = circuit.columns[column].is_numeric
        cells[column] = encoded.astype(np.float64) if is_numeric else encoded
    return LabelledRows(raw, cells, target, circuit.winners(table), circuit.votes(table))


def to_cell(number: float) -> float | str | None:
    """Give a number as JSON can hold it."""
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(number)
