"""Table -> scaled columns and the literals that training starts from.

An encoder is fitted on training rows only. A numeric column becomes one scaled column with a few
thresholds on it; a column of categories becomes one column of group numbers with a literal for each
group; a column with missing values gets an additional literal for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks, spread_rows
from dln.core.literals import Category, Column, LiteralKind
from dln.data.coded import coded, is_missing_in
from dln.data.codes import MISSING_CODE, encode_cells
from dln.data.table import RawColumn, Table
from dln.encode.bits import LiteralSet
from dln.encode.cutoffs import MAX_ROWS, Target, nested_cutoffs
from dln.encode.scale import Scale, fit_scale
from dln.encode.screen import choose_columns, is_wide, screened_rows

MAX_GROUPS = 64
"""Maximum number of category literals of a column; the rarest categories are pooled into one."""

_FEW_ROWS = 1000
"""Number of rows to check before all rows are checked."""

_MAX_RANGE = 1 << 16
"""Distance of the least and the largest integer up to which each value between is scaled once."""

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
            return _scale(values, self.scale)
        # The codes of missing and unseen categories are negative and index from the end.
        numbers = np.full(len(self.column.categories) + 2, -1.0, dtype=np.float32)
        for number, group in enumerate(self.groups):
            numbers[list(group)] = number
        numbers[MISSING_CODE] = np.nan
        encoded: NDArray[np.float32] = numbers[values]
        return encoded


def _scale(values: NDArray[Any], scale: Scale) -> NDArray[np.float32]:
    """Scale numbers; integers of a small range by a table, which is faster."""
    if values.dtype.kind in "bui" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < min(len(values), _MAX_RANGE):
            every = scale.apply(np.arange(low, high + 1, dtype=np.float64))
            return every[values.astype(np.int64) - low]
    return scale.apply(np.asarray(values, dtype=np.float64))


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
        return _encode(table, self.codes)


def _encode(
    table: Table, codes: Sequence[ColumnCode], chosen: Sequence[int] | None = None
) -> NDArray[np.float32]:
    """Encode a table; the cells of columns that are not chosen stay undefined."""
    columns = range(len(codes)) if chosen is None else chosen
    return table.make_array(
        lambda: f"encoded-{_digest(table, codes, columns)}",
        (table.n_rows, len(codes)),
        lambda cells: _encode_into(cells, table, codes, columns),
    )


def _digest(table: Table, codes: Sequence[ColumnCode], columns: Iterable[int]) -> str:
    """Return a text that differs for other rows of the same table, and for other codes."""
    digest = hashlib.blake2b(digest_size=12)
    rows = table.chosen_rows()
    digest.update(repr(rows).encode() if isinstance(rows, slice) else rows.tobytes())
    digest.update(repr(list(columns)).encode())
    for code in codes:
        digest.update(repr((code.column, code.groups)).encode())
        if code.scale is not None:
            digest.update(code.scale.knots.tobytes() + code.scale.levels.tobytes())
    return digest.hexdigest()


def _encode_into(
    cells: NDArray[np.float32], table: Table, codes: Sequence[ColumnCode], columns: Iterable[int]
) -> None:
    """Encode some columns; if they are in files, part by part, so that memory stays bounded."""
    for rows in table.blocks():
        part = table if rows == slice(0, table.n_rows) else table.take(rows)
        for index in columns:
            cells[rows, index] = codes[index].encode(part.read(index))


class _Known(NamedTuple):
    """Rows of a column that cutoffs are found on, which are not missing, and how many there are."""

    rows: NDArray[np.int64]
    n_known: int


def _find_known(raw: RawColumn) -> _Known:
    return _Known(*spread_rows(len(raw), lambda rows: ~is_missing_in(raw, rows), MAX_ROWS))


def columns_of(table: Table) -> tuple[Column, ...]:
    """Return the columns of a table with their kinds and categories, as an encoder has them."""
    columns = []
    for index, name in enumerate(table.column_names()):
        raw = table.read(index)
        is_category = raw.kind == "category"
        columns.append(
            Column(name, "category", _categories(coded(raw).counts()))
            if is_category
            else _number_column(name, raw)
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

    `n_cutoffs` has the number for each encoder; that of the options is not used. If the table is in
    files, the cells of columns that get no literals are undefined, unless all values are missing.
    """
    # Columns in memory are encoded as they are read, those in files part by part.
    cells = np.empty((0 if table.is_in_files else table.n_rows, table.n_columns), dtype=np.float32)
    codes: list[ColumnCode] = []
    known: list[_Known] = []
    for index, name in enumerate(table.column_names()):
        raw = table.read(index)
        fit = _fit_categories if raw.kind == "category" else _fit_numbers
        codes.append(fit(name, raw, options))
        known.append(_find_known(raw))
        if not table.is_in_files:
            cells[:, index] = codes[-1].encode(raw)
    worth = list(range(table.n_columns))
    if options.screening and is_wide(table.n_columns):
        some = screened_rows(table.n_rows)
        part = _encode(table.take(some), codes) if table.is_in_files else cells[some]
        worth = choose_columns(part, target[some], weight[some]).tolist()
    if table.is_in_files:
        empty = [index for index, own in enumerate(known) if own.n_known == 0]
        cells = _encode(table, codes, sorted({*worth, *empty}))
    literals: list[list[LiteralSet]] = [[] for _ in n_cutoffs]
    for index in worth:
        if options.unused >> index & 1:
            continue
        code, (rows, n_known) = codes[index], known[index]
        any_missing = n_known < table.n_rows
        if code.scale is not None:
            found = nested_cutoffs(cells[rows, index], target[rows], weight[rows], tuple(n_cutoffs))
            for own, cutoffs in zip(literals, found, strict=True):
                own.append(LiteralSet.on_column(index, LiteralKind.ABOVE, cutoffs))
        else:
            groups = _group_literals(len(code.groups), any_missing=any_missing)
            for own in literals:
                own.append(LiteralSet.on_column(index, LiteralKind.AMONG, groups))
        if any_missing and n_known:
            for own in literals:
                own.append(LiteralSet.on_column(index, LiteralKind.MISSING, _NO_VALUE))
    for own in literals:
        if not any(map(len, own)):
            # No column varies; add a constant literal so that a network can be built.
            first = next(i for i in range(table.n_columns) if not options.unused >> i & 1)
            own.append(LiteralSet.on_column(first, LiteralKind.MISSING, _NO_VALUE))
    return [Encoder(tuple(codes), LiteralSet.join(own)) for own in literals], cells


def _fit_numbers(name: str, raw: RawColumn, options: EncodeOptions) -> ColumnCode:
    return ColumnCode(_number_column(name, raw), fit_scale(raw.values, options.n_knots))


def _number_column(name: str, raw: RawColumn) -> Column:
    return Column(name, raw.kind, binary=_is_binary(raw))


def _is_binary(raw: RawColumn) -> bool:
    """Check whether a column of numbers holds 0 and 1, perhaps missing values, and nothing else."""
    if raw.kind not in ("number", "integer"):
        return False
    has_zeros = has_ones = False
    for rows in (slice(0, _FEW_ROWS), *row_blocks(len(raw))):
        values = raw.values[rows]
        zeros, ones = values == 0, values == 1
        if not (zeros | ones | np.isnan(values)).all():
            return False
        has_zeros |= bool(zeros.any())
        has_ones |= bool(ones.any())
    return has_zeros and has_ones


def _fit_categories(name: str, raw: RawColumn, options: EncodeOptions) -> ColumnCode:
    counts = coded(raw).counts()
    categories = _categories(counts)
    enough = max(2.0, options.rare * len(raw))
    common = sorted(
        (index for index, category in enumerate(categories) if counts[category] >= enough),
        key=lambda index: -counts[categories[index]],
    )[: MAX_GROUPS - 1]
    alone = set(common)
    pooled = tuple(index for index in range(len(categories)) if index not in alone)
    groups = tuple((index,) for index in sorted(common)) + ((pooled,) if pooled else ())
    return ColumnCode(Column(name, "category", categories), None, groups)


def _categories(found: Iterable[Category]) -> tuple[Category, ...]:
    """Return categories in order."""
    return tuple(sorted(found, key=_category_order))


def _category_order(category: Category) -> tuple[str, Category]:
    return ("text" if isinstance(category, str) else "number", category)


def _group_literals(n_groups: int, *, any_missing: bool) -> NDArray[np.float32]:
    """Choose the groups that get a literal: of two complementary groups only the second.

    A single group needs none: it is the complement of the missing values, which have a literal.
    """
    first = 1 if n_groups == 1 or (n_groups == 2 and not any_missing) else 0
    return np.arange(first, n_groups, dtype=np.float32)
