"""Table -> scaled columns and the literals that training starts from.

An encoder is fitted on training rows only. A numeric column becomes one scaled column with a few
thresholds on it; a column of categories becomes one column of group numbers with a literal for each
group; a column with missing values gets an additional literal for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import Category, Column, LiteralKind
from dln.data.codes import MISSING_CODE, encode_cells
from dln.data.table import RawColumn, Table
from dln.encode.bits import LiteralSet
from dln.encode.cutoffs import Target, nested_cutoffs
from dln.encode.scale import Scale, fit_scale
from dln.encode.screen import choose_columns

MAX_GROUPS = 64
"""Maximum number of category literals of a column; the rarest categories are pooled into one."""

_FEW_ROWS = 1000
"""Number of rows to check before all rows are checked."""

_NO_VALUE = np.zeros(1, dtype=np.float32)
"""Placeholder value of literals for missing values."""


@dataclass(frozen=True)
class EncodeOptions:
    """How an encoder treats each column.

    Attributes
    ----------
    n_cutoffs
        Maximum number of thresholds on a numeric column (the paper uses 4 or 6).
    n_knots
        Number of knots of the scaling: 2 is the paper's min-max scaling, more follow the quantiles.
    rare
        A category in less than this fraction of the training rows is pooled with other rare ones.
    screening
        Whether columns of a wide table that say nothing about the target get no literals.
    unused
        Columns that get no literals, as bits.
    """

    n_cutoffs: int = 6
    n_knots: int = 33
    rare: float = 0.005
    screening: bool = True
    unused: int = 0


@dataclass(frozen=True)
class ColumnCode:
    """How one column is encoded: by a scale (numbers) or by groups of categories."""

    column: Column
    scale: Scale | None
    groups: tuple[tuple[int, ...], ...] = ()

    def encode(self, raw: RawColumn) -> NDArray[np.float32]:
        """Encode values; missing ones become NaN, unknown categories match no group."""
        values = encode_cells(raw, self.column)
        if self.scale is not None:
            return self.scale.apply(np.asarray(values, dtype=np.float64))
        # The codes of missing and unseen categories are negative and index from the end.
        numbers = np.full(len(self.column.categories) + 2, -1.0, dtype=np.float32)
        for number, group in enumerate(self.groups):
            numbers[list(group)] = number
        numbers[MISSING_CODE] = np.nan
        encoded: NDArray[np.float32] = numbers[values]
        return encoded


@dataclass(frozen=True)
class Encoder:
    """The fitted encoding of a table."""

    codes: tuple[ColumnCode, ...]
    literals: LiteralSet

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table."""
        return tuple(code.column for code in self.codes)

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Encode a table of the same columns: (n_rows, n_columns), row after row."""
        cells = np.empty((table.n_rows, len(self.codes)), dtype=np.float32)
        for index, code in enumerate(self.codes):
            cells[:, index] = code.encode(table.read(index))
        return cells


def columns_of(table: Table) -> tuple[Column, ...]:
    """Return the columns of a table with their kinds and categories, as an encoder has them."""
    columns = []
    for index, name in enumerate(table.column_names()):
        raw = table.read(index)
        is_category = raw.kind == "category"
        columns.append(
            Column(name, "category", _categories(raw)) if is_category else _number_column(name, raw)
        )
    return tuple(columns)


def fit_encoder(
    table: Table,
    target: Target,
    weight: NDArray[np.float32],
    options: EncodeOptions,
) -> tuple[Encoder, NDArray[np.float32]]:
    """Fit an encoder on training rows; return it and the encoded rows."""
    (encoder,), cells = fit_encoders(table, target, weight, options, [options.n_cutoffs])
    return encoder, cells


def fit_encoders(
    table: Table,
    target: Target,
    weight: NDArray[np.float32],
    options: EncodeOptions,
    n_cutoffs: Sequence[int],
) -> tuple[list[Encoder], NDArray[np.float32]]:
    """Fit encoders that differ only in their number of cutoffs; return them and the encoded rows.

    `n_cutoffs` has the number for each encoder; that of the options is not used.
    """
    cells = np.empty((table.n_rows, table.n_columns), dtype=np.float32)
    codes: list[ColumnCode] = []
    for index, name in enumerate(table.column_names()):
        raw = table.read(index)
        fit = _fit_categories if raw.kind == "category" else _fit_numbers
        codes.append(fit(name, raw, options))
        cells[:, index] = codes[-1].encode(raw)
    literals: list[list[LiteralSet]] = [[] for _ in n_cutoffs]
    every = np.arange(table.n_columns)
    worth = choose_columns(cells, target, weight) if options.screening else every
    for index in worth.tolist():
        if options.unused >> index & 1:
            continue
        code, encoded = codes[index], cells[:, index]
        missing = np.isnan(encoded)
        if code.scale is not None:
            found = nested_cutoffs(encoded, target, weight, tuple(n_cutoffs))
            for own, cutoffs in zip(literals, found, strict=True):
                own.append(LiteralSet.on_column(index, LiteralKind.ABOVE, cutoffs))
        else:
            groups = _group_literals(len(code.groups), any_missing=bool(missing.any()))
            for own in literals:
                own.append(LiteralSet.on_column(index, LiteralKind.AMONG, groups))
        if missing.any() and not missing.all():
            for own in literals:
                own.append(LiteralSet.on_column(index, LiteralKind.MISSING, _NO_VALUE))
    for own in literals:
        if not any(map(len, own)):
            # No column varies; add a constant literal so that a network can be built.
            first = next(i for i in range(table.n_columns) if not options.unused >> i & 1)
            own.append(LiteralSet.on_column(first, LiteralKind.MISSING, _NO_VALUE))
    return [Encoder(tuple(codes), LiteralSet.join(own)) for own in literals], cells


def _fit_numbers(name: str, raw: RawColumn, options: EncodeOptions) -> ColumnCode:
    values = np.asarray(raw.values, dtype=np.float64)
    return ColumnCode(_number_column(name, raw), fit_scale(values, options.n_knots))


def _number_column(name: str, raw: RawColumn) -> Column:
    return Column(name, raw.kind, binary=_is_binary(raw))


def _is_binary(raw: RawColumn) -> bool:
    """Check whether a column of numbers holds 0 and 1, perhaps missing values, and nothing else."""
    if raw.kind not in ("number", "integer"):
        return False
    for values in (raw.values[:_FEW_ROWS], raw.values):
        zeros, ones = values == 0, values == 1
        if not (zeros | ones | np.isnan(values)).all():
            return False
    return bool(zeros.any() and ones.any())


def _fit_categories(name: str, raw: RawColumn, options: EncodeOptions) -> ColumnCode:
    counts = Counter(cell for cell in raw.values if cell is not None)
    categories = _categories(raw)
    enough = max(2.0, options.rare * len(raw.values))
    common = sorted(
        (index for index, category in enumerate(categories) if counts[category] >= enough),
        key=lambda index: -counts[categories[index]],
    )[: MAX_GROUPS - 1]
    alone = set(common)
    pooled = tuple(index for index in range(len(categories)) if index not in alone)
    groups = tuple((index,) for index in sorted(common)) + ((pooled,) if pooled else ())
    return ColumnCode(Column(name, "category", categories), None, groups)


def _categories(raw: RawColumn) -> tuple[Category, ...]:
    """Return the categories that the rows hold, in order."""
    return tuple(sorted({cell for cell in raw.values if cell is not None}, key=_category_order))


def _category_order(category: Category) -> tuple[str, Category]:
    return ("text" if isinstance(category, str) else "number", category)


def _group_literals(n_groups: int, *, any_missing: bool) -> NDArray[np.float32]:
    """Choose the groups that get a literal: of two complementary groups only the second.

    A single group needs none: it is the complement of the missing values, which have a literal.
    """
    first = 1 if n_groups == 1 or (n_groups == 2 and not any_missing) else 0
    return np.arange(first, n_groups, dtype=np.float32)
