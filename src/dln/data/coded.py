"""Categories as numbers of distinct values, which is how large tables store them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln.core.literals import Category
from dln.data.table import RawColumn, Rows


class CodedColumn(RawColumn):
    """A column of categories: the distinct ones, and the number of each row's; -1 if missing.

    Rows may be selected, so not every category need occur.
    """

    codes: NDArray[np.int32]
    distinct: tuple[Category, ...]

    def __init__(self, codes: NDArray[np.int32], distinct: tuple[Category, ...]) -> None:
        for name, value in (("kind", "category"), ("codes", codes), ("distinct", distinct)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def values(self) -> NDArray[Any]:
        """The category of each row; None if it is missing."""
        cells = np.empty(len(self.distinct) + 1, dtype=object)
        cells[: len(self.distinct)] = self.distinct
        return np.asarray(cells[self.codes])

    def take(self, rows: Rows) -> CodedColumn:
        """Select some rows."""
        return CodedColumn(self.codes[rows], self.distinct)

    def counts(self) -> dict[Category, int]:
        """Count the rows of each category that occurs."""
        total = np.zeros(len(self.distinct) + 1, dtype=np.int64)
        for rows in row_blocks(len(self.codes)):
            total += np.bincount(self.codes[rows] + 1, minlength=len(total))
        pairs = zip(self.distinct, total[1:].tolist(), strict=True)
        return {category: count for category, count in pairs if count}


def coded(raw: RawColumn) -> CodedColumn:
    """Return a column of categories as numbers of its distinct values, in order of appearance.

    >>> coded(RawColumn("category", np.array(["b", None, "a", "b"], dtype=object))).codes.tolist()
    [0, -1, 1, 0]
    """
    if isinstance(raw, CodedColumn):
        return raw
    numbers: dict[Any, int] = {}
    found = (-1 if cell is None else numbers.setdefault(cell, len(numbers)) for cell in raw.values)
    codes = np.fromiter(found, dtype=np.int32, count=len(raw.values))
    return CodedColumn(codes, tuple(numbers))


def is_missing_in(raw: RawColumn, rows: Rows = slice(None)) -> NDArray[np.bool_]:
    """Return which of some rows have no value."""
    part = raw.take(rows)
    if isinstance(part, CodedColumn):
        return np.asarray(part.codes < 0)
    if part.kind == "category":
        return np.array([cell is None for cell in part.values], dtype=bool)
    return np.isnan(part.values) if part.values.dtype.kind == "f" else np.zeros(len(part), bool)


def count_missing(raw: RawColumn) -> int:
    """Count the rows without a value."""
    return sum(int(is_missing_in(raw, rows).sum()) for rows in row_blocks(len(raw)))
