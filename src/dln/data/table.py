"""Read a user's table: pandas, polars and other frames, NumPy arrays, sparse matrices, rows.

Every column becomes a `RawColumn`: numbers with NaN for missing values, or Python values with None
for missing values. Nothing is converted silently between the two.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import BLOCK_ROWS, row_blocks
from dln._util.messages import type_name
from dln.core.literals import ColumnKind
from dln.data.sparse import SparseColumns, is_sparse
from dln.errors import ColumnTypeError, TableError

_MISSING_TYPES = ("NAType", "NaTType")  # pandas' markers, recognised without importing pandas
_CATEGORY_TYPES = (nw.String, nw.Categorical, nw.Enum)
_WIDE_TYPES = (nw.Int128, nw.UInt128)  # NumPy has none
_DATE_TYPES = (datetime.date, np.datetime64)
MIN_SPARSE, MAX_SPARSE, MAX_CELLS = 200, 2000, 10**8
"""Limits of the part of a sparse matrix that is trained on: columns, and cells."""
_NUMBER_TYPES = (numbers.Real, decimal.Decimal, np.bool_)

Rows = NDArray[np.intp] | slice
"""Row numbers, or a part of consecutive rows."""

MakeArray = Callable[
    [Callable[[], str], tuple[int, ...], Callable[[NDArray[np.float32]], None]], NDArray[np.float32]
]
"""Makes an array of a shape and fills it. A text that differs for other content names it, so that
an array that an earlier process has filled can be used again."""


def array_in_memory(
    name: Callable[[], str], shape: tuple[int, ...], fill: Callable[[NDArray[np.float32]], None]
) -> NDArray[np.float32]:
    """Make an array in memory; a `MakeArray`."""
    array = np.empty(shape, dtype=np.float32)
    fill(array)
    return array


@dataclass(frozen=True)
class RawColumn:
    """One column as read: its kind and its values.

    `values` is a numeric array (missing: NaN; dates: seconds since 1970, UTC) for numeric kinds
    and an object array (missing: None) for categories.
    """

    kind: ColumnKind
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> RawColumn:
        """Select some rows."""
        return RawColumn(self.kind, self.values[rows])


@dataclass(frozen=True)
class Table:
    """A table whose columns are read on demand.

    Attributes
    ----------
    names
        Column names as text; None if columns are identified by position only.
    matrix
        The whole table as one numeric array, if it was given as one.
    sparse
        The stored columns, if the table is a sparse matrix.
    places
        Positions of the columns in the table that they were chosen from; None for all columns.
    make_array
        Makes an array about as large as the table: in memory, or in a file if the table is in
        files.
    """

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None
    read: Callable[[int], RawColumn]
    matrix: NDArray[Any] | None = None
    sparse: SparseColumns | None = None
    places: tuple[int, ...] | None = None
    make_array: MakeArray = array_in_memory

    @property
    def is_in_files(self) -> bool:
        """Whether the columns are in files, which may be larger than the memory."""
        return self.make_array is not array_in_memory

    def without_names(self) -> Table:
        """Drop the names, so that columns are matched by position."""
        return replace(self, names=None)

    def take(self, rows: Rows) -> Table:
        """Select some rows."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        if isinstance(rows, slice):
            start = rows.indices(self.n_rows)[0]
            rows = slice(start, start + n_rows)
        read, taken = self.read, self.read
        if isinstance(taken, _Taken):  # so that rows of chosen rows are read without the others
            read, rows = taken.read, _rows_of(taken.rows, rows)
        return replace(self, n_rows=n_rows, read=_Taken(read, rows), matrix=None)

    def chosen_rows(self) -> Rows:
        """Return the rows of this table in the one that it was taken from."""
        return self.read.rows if isinstance(self.read, _Taken) else slice(0, self.n_rows)

    def blocks(self) -> Iterator[slice]:
        """Divide the rows into parts that fit into memory: all rows, unless they are in files."""
        step = BLOCK_ROWS if self.is_in_files else max(1, self.n_rows)
        return row_blocks(self.n_rows, step)

    def narrow(self) -> Table:
        """Choose the densest columns of a sparse matrix that is too wide to be trained on.

        Training holds the chosen columns in memory, with their zeros. The target is not used, so
        that validation stays honest.
        """
        most = max(MIN_SPARSE, min(MAX_SPARSE, MAX_CELLS // max(1, self.n_rows)))
        if self.sparse is None or self.n_columns <= most:
            return self
        places = tuple(self.sparse.densest(most).tolist())
        names = self.column_names()
        return replace(
            self,
            n_columns=most,
            names=tuple(names[place] for place in places),
            read=lambda index: self.read(places[index]),
            places=places,
        )

    def kept(self) -> Table:
        """Read every column once and keep it, for repeated use; a sparse table stays sparse."""
        if self.sparse is not None:
            return self
        columns = [self.read(index) for index in range(self.n_columns)]
        return replace(self, read=columns.__getitem__)

    def column_names(self) -> tuple[str, ...]:
        """Return the names to show: the table's own, or x0, x1, and so on."""
        return self.names or tuple(f"x{index}" for index in range(self.n_columns))


@dataclass(frozen=True)
class _Taken:
    """Reads some rows of columns."""

    read: Callable[[int], RawColumn]
    rows: Rows

    def __call__(self, index: int) -> RawColumn:
        return self.read(index).take(self.rows)


def _rows_of(chosen: Rows, rows: Rows) -> Rows:
    """Choose again from chosen rows."""
    if not isinstance(chosen, slice):
        return chosen[rows]
    if not isinstance(rows, slice):
        return np.asarray(rows + chosen.start)
    return slice(chosen.start + rows.start, chosen.start + rows.stop)


def read_table(X: Any) -> Table:
    """Read any supported table; raises `TableError` for anything else.

    >>> read_table([[1.5, "red"], [None, "blue"]]).read(0).values.tolist()
    [1.5, nan]
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ma.MaskedArray):
        return _from_array(_without_masked(X))
    if isinstance(X, np.ndarray):
        return _from_array(np.asarray(X))
    if isinstance(X, (list, tuple)):
        return _from_array(_rows_to_array(X))
    if is_sparse(X):
        return _from_sparse(X)
    if type(X).__name__ == "RecordBatch" and hasattr(X, "to_struct_array"):  # of pyarrow
        import pyarrow as pa  # type: ignore[import-untyped]

        X = pa.Table.from_batches([X])
    try:
        frame = nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        # The columns of a pyarrow table are its values, not its names.
        names = getattr(X, "column_names", None) or X.columns
        raise _named_twice([str(name) for name in names]) from None
    except TypeError:
        # A frame of another library would lose its column names if it were read as an array.
        if hasattr(X, "__array__") and not hasattr(X, "__dataframe__"):
            return _from_array(np.asarray(X))
        raise ColumnTypeError(
            f"the table is {type_name(X)}; expected a pandas or polars frame, "
            "a NumPy array, a sparse matrix or a list of rows"
        ) from None
    return _from_frame(frame)


# -- arrays and lists -------------------------------------------------------------------------


def _without_masked(X: Any) -> NDArray[Any]:
    """Replace masked values by None."""
    cells: NDArray[Any] = np.ma.getdata(X)
    if cells.dtype.kind == "M":  # as objects, nanoseconds would become integers
        cells = cells.astype("datetime64[us]")
    objects = cells.astype(object)
    objects[np.ma.getmaskarray(X)] = None
    return objects


def _rows_to_array(rows: Sequence[Any]) -> NDArray[Any]:
    """Keep every value as given: NumPy would turn [1, "a"] into text and [True, 1] into numbers."""
    if len(rows) == 0:
        raise TableError("the table has 0 rows (0 sample(s)); a minimum of 1 is required")
    if any(isinstance(row, Mapping) for row in rows):
        raise ColumnTypeError(
            "the rows are dicts, expected lists of values; "
            "make a data frame of them: pandas.DataFrame(rows)"
        )
    try:
        array = np.array(rows, dtype=object)
    except ValueError:
        array = None
    if array is None or (array.ndim == 1 and any(is_row(row) for row in rows)):
        raise TableError("the rows differ in length; every row needs one value for each column")
    return array


def is_row(value: Any) -> bool:
    """Check whether a value is a row of a table, not a single value."""
    return isinstance(value, (list, tuple, np.ndarray))


def _from_array(array: NDArray[Any]) -> Table:
    if array.dtype.names is not None:
        raise ColumnTypeError(
            f"the table is a structured array of {list(array.dtype.names)}; "
            "convert it to a data frame, pandas.DataFrame(X)"
        )
    if array.ndim != 2:
        raise TableError(
            f"the table has {array.ndim} dimension(s), expected 2 (rows and columns). "
            "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        )
    if array.dtype.kind == "c":
        raise TableError("Complex data not supported: split it into real and imaginary columns")
    n_rows, n_columns = array.shape
    matrix = array if array.dtype.kind in "fiub" and array.dtype.isnative else None
    return Table(
        n_rows, n_columns, None, lambda index: _read_array(array[:, index], f"x{index}"), matrix
    )


def _from_sparse(X: Any) -> Table:
    if len(X.shape) != 2:
        raise TableError(f"the sparse table has {len(X.shape)} dimension(s), expected 2")
    if X.dtype.kind not in "fiub":
        raise TableError(f"the sparse table holds {X.dtype}, expected numbers or booleans")
    columns = SparseColumns(X)

    def read(index: int) -> RawColumn:
        return _read_array(columns.column(index), f"x{index}")

    return Table(*columns.shape, None, read, sparse=columns)


def _read_array(values: NDArray[Any], name: str) -> RawColumn:
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind == "b":
        return RawColumn("boolean", values)
    if kind in "iu":
        return RawColumn("integer", values)
    if kind == "f":
        return RawColumn("number", values)
    if kind == "M":
        return RawColumn("date", _seconds(values))
    if kind == "m":
        raise _unsupported(name, _first_known(values, values.dtype))
    return _read_objects(values.astype(object), name, text=kind in "UT")


def _seconds(moments: NDArray[Any]) -> NDArray[np.float64]:
    """Convert datetime64 of any unit to seconds since 1970."""
    whole = np.datetime_data(moments.dtype)[0] in ("Y", "M", "W", "D", "h", "m", "s")
    ticks = moments.astype("datetime64[s]" if whole else "datetime64[us]").astype(np.int64)
    # Division, unlike a product with 1e-6, gives the nearest float: it prints as the same moment.
    seconds = ticks / (1.0 if whole else 1e6)
    seconds[np.isnat(moments)] = np.nan
    return seconds


def _read_objects(values: NDArray[Any], name: str, *, text: bool = False) -> RawColumn:
    """Infer the kind of a column of Python objects; mixed numbers and text are categories.

    With `text` the column was declared as text or categories, so its numbers are categories too.
    """
    cells = [None if is_missing(value) else value for value in values.tolist()]
    types = {type(cell) for cell in cells if cell is not None}

    def all_are(*kinds: type) -> bool:
        return all(issubclass(kind, kinds) for kind in types)

    if not types:  # all values are missing; no literal will read the column
        return RawColumn("number", np.full(len(cells), np.nan))
    if all_are(*_DATE_TYPES):
        moments = np.array([_moment(cell) for cell in cells], dtype="datetime64[us]")
        return RawColumn("date", _seconds(moments))
    if not text and all_are(*_NUMBER_TYPES):
        kind: ColumnKind = "integer" if all_are(numbers.Integral, np.bool_) else "number"
        if all_are(bool, np.bool_):
            kind = "boolean"
        return RawColumn(kind, _numbers(cells, name))
    if any(issubclass(kind, _DATE_TYPES) for kind in types):
        other = next(c for c in cells if c is not None and not isinstance(c, _DATE_TYPES))
        raise ColumnTypeError(
            f"column {name!r} holds dates, but also {other!r}; "
            "convert the column, and replace other values by missing values"
        )
    plain = np.empty(len(cells), dtype=object)
    for index, cell in enumerate(cells):
        plain[index] = None if cell is None else _plain_category(cell, name)
    return RawColumn("category", plain)


def is_missing(value: Any) -> bool:
    """Recognise every marker of a missing value: None, NaN, NaT, NA."""
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return value is None or type(value).__name__ in _MISSING_TYPES


def read_numbers(raw: RawColumn, name: str) -> RawColumn:
    """Read categories that are all numbers as numbers."""
    return RawColumn("number", _numbers(raw.values.tolist(), name))


def _numbers(cells: list[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except OverflowError:
        raise TableError(
            f"column {name!r} holds an integer too large for a 64-bit float; "
            "convert the column to text or to smaller numbers"
        ) from None


def _moment(cell: Any) -> Any:
    """Remove the time zone of a moment, converting it to UTC."""
    offset = cell.utcoffset() if isinstance(cell, datetime.datetime) else None
    if offset is None:
        return cell
    # `astimezone` may overflow on the last day of year 9999, a common marker of an open end.
    return np.datetime64(cell.replace(tzinfo=None), "us") - np.timedelta64(offset, "us")


def _plain_category(cell: Any, name: str) -> Any:
    plain = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(plain, (str, int, float, bool)):
        return plain
    raise _unsupported(name, cell)


def _unsupported(name: str, cell: Any) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {name!r} holds {cell!r}, {type_name(cell)}; values must be text, "
        "numbers, booleans or dates: convert the column (durations: to seconds or days)"
    )


def _first_known(cells: Iterable[Any], otherwise: Any) -> Any:
    """Find a value to show: the first that is not missing."""
    return next((cell for cell in cells if not is_missing(cell)), otherwise)


# -- frames -----------------------------------------------------------------------------------


def _from_frame(frame: nw.DataFrame[Any]) -> Table:
    labels = frame.columns  # listed once, because it takes time in proportion to their number
    names = tuple(str(label) for label in labels)
    if len(set(names)) != len(names):
        raise _named_twice(names)

    def read(index: int) -> RawColumn:
        return _read_series(frame.get_column(labels[index]), names[index])

    # Names that are numbers or tuples do not count as names: as in scikit-learn, such columns are
    # identified by position.
    named = any(isinstance(label, str) for label in labels)
    return Table(frame.shape[0], frame.shape[1], names if named else None, read)


def _named_twice(names: Sequence[str]) -> TableError:
    twice, _ = Counter(names).most_common(1)[0]
    return TableError(f"two columns are named {twice!r}; rename one of them")


def _read_series(series: nw.Series[Any], name: str) -> RawColumn:
    dtype = series.dtype
    if dtype == nw.Boolean:
        if series.null_count():
            return RawColumn("boolean", series.cast(nw.Float64).to_numpy().astype(np.float64))
        return RawColumn("boolean", series.to_numpy().astype(bool))
    if dtype.is_numeric():
        return _read_numeric_series(series, name)
    if dtype in (nw.Datetime, nw.Date):
        if getattr(dtype, "time_zone", None):
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        moments = series.to_numpy()
        if moments.dtype == object:  # pyarrow dates in pandas, some of them missing
            return _read_objects(moments, name)
        return RawColumn("date", _seconds(moments.astype("datetime64[us]")))
    if dtype == nw.Duration:
        raise _unsupported(name, _first_known(series.to_list(), dtype))
    cells = np.fromiter(series.to_list(), dtype=object, count=len(series))
    return _read_objects(cells, name, text=dtype in _CATEGORY_TYPES)


def _read_numeric_series(series: nw.Series[Any], name: str) -> RawColumn:
    wide = series.dtype in _WIDE_TYPES
    values = (series.cast(nw.Float64) if wide else series).to_numpy()
    if values.dtype == object:  # nullable integers, decimals
        values = _numbers([None if is_missing(value) else value for value in values], name)
    return RawColumn("integer" if series.dtype.is_integer() else "number", values)
