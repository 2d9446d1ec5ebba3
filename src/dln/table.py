"""Read a user's table: pandas, polars and other frames, NumPy arrays, lists of rows.

Every column becomes a `RawColumn`: numbers with NaN where a cell is missing, or Python values with
None where a cell is missing. Nothing is converted silently between the two.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dln.errors import ColumnTypeError, TableError
from dln.literals import ColumnKind

_TEXT_MISSING = ("NAType", "NaTType")  # pandas' marks, recognised without importing pandas


@dataclass(frozen=True)
class RawColumn:
    """One column as read: what it holds, and its cells.

    `values` is a numeric array (missing: NaN; dates: seconds since 1970, UTC) for numeric kinds
    and an object array (missing: None) for categories.
    """

    kind: ColumnKind
    values: NDArray[Any]


@dataclass(frozen=True)
class Table:
    """A table with columns that are read when asked for.

    Attributes
    ----------
    names
        Column names as text; None when the columns are known by their position only.
    matrix
        The whole table as one numeric array, where it came as one.
    """

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None
    read: Callable[[int], RawColumn]
    matrix: NDArray[Any] | None = None

    def without_names(self) -> Table:
        """Forget the names, so that columns are matched by position."""
        return replace(self, names=None)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Select some rows."""

        def read(index: int) -> RawColumn:
            raw = self.read(index)
            return RawColumn(raw.kind, raw.values[rows])

        return Table(len(rows), self.n_columns, self.names, read)

    def kept(self) -> Table:
        """Read every column once, for those who look at them often."""
        columns = [self.read(index) for index in range(self.n_columns)]
        return replace(self, read=columns.__getitem__)

    def column_names(self) -> tuple[str, ...]:
        """Names to show: the table's own, or x0, x1, …"""
        return self.names or tuple(f"x{index}" for index in range(self.n_columns))


def read_table(X: Any) -> Table:
    """Read any supported table; raises `TableError` for anything else.

    >>> read_table([[1.5, "red"], [None, "blue"]]).read(0).values.tolist()
    [1.5, nan]
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ndarray):
        return _from_array(X)
    if isinstance(X, (list, tuple)):
        return _from_array(_rows_to_array(X))
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ColumnTypeError(
            "the table is sparse; a dense table is required, use X.toarray() to convert it"
        )
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        if hasattr(X, "__array__"):
            return _from_array(np.asarray(X))
        raise ColumnTypeError(
            f"the table is a {type(X).__name__}; expected a pandas or polars frame, "
            "a NumPy array or a list of rows"
        ) from None
    return _from_frame(frame)


# -- arrays and lists -------------------------------------------------------------------------


def _rows_to_array(rows: Any) -> NDArray[Any]:
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise TableError("the rows differ in length; every row needs one cell a column") from error
    if array.dtype.kind in "US" or array.dtype == object:
        # NumPy would turn [1, "a"] into two texts: keep every cell as it came.
        array = np.array(rows, dtype=object)
    return array


def _from_array(array: NDArray[Any]) -> Table:
    if array.ndim != 2:
        raise TableError(
            f"the table has {array.ndim} dimension(s), expected 2 (rows and columns). "
            "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        )
    if array.dtype.kind == "c":
        raise TableError("Complex data not supported: split it into real and imaginary columns")
    n_rows, n_columns = array.shape
    matrix = array if array.dtype.kind in "fiub" and array.dtype.isnative else None
    return Table(n_rows, n_columns, None, lambda index: _read_array(array[:, index]), matrix)


def _read_array(values: NDArray[Any]) -> RawColumn:
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
        raise _unsupported(values[0] if len(values) else values.dtype)
    return _read_objects(values.astype(object))


def _seconds(moments: NDArray[Any]) -> NDArray[np.float64]:
    """Convert datetime64 of any unit to seconds since 1970."""
    unit = np.datetime_data(moments.dtype)[0]
    exact = moments.astype(
        "datetime64[s]" if unit in ("Y", "M", "W", "D", "h", "m", "s") else "datetime64[us]"
    )
    scale = 1.0 if exact.dtype == np.dtype("datetime64[s]") else 1e-6
    seconds = exact.astype(np.int64).astype(np.float64) * scale
    seconds[np.isnat(moments)] = np.nan
    return seconds


def _read_objects(values: NDArray[Any]) -> RawColumn:
    """Find out what a column of Python objects holds; mixed numbers and text are categories."""
    cells = [None if _is_missing(value) else value for value in values.tolist()]
    known = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, (bool, np.bool_)) for cell in known):
        return RawColumn("boolean" if known else "number", _numbers(cells))
    if all(isinstance(cell, (numbers.Real, decimal.Decimal)) for cell in known):
        whole = all(isinstance(cell, numbers.Integral) for cell in known)
        return RawColumn("integer" if whole else "number", _numbers(cells))
    if all(isinstance(cell, datetime.date) for cell in known):
        moments = [None if cell is None else _utc(cell) for cell in cells]
        return RawColumn("date", _seconds(np.array(moments, dtype="datetime64[us]")))
    plain = np.empty(len(cells), dtype=object)
    for index, cell in enumerate(cells):
        plain[index] = None if cell is None else _plain_category(cell)
    return RawColumn("category", plain)


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float) and value != value)
        or type(value).__name__ in _TEXT_MISSING
    )


def _numbers(cells: list[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)


def _utc(moment: Any) -> Any:
    if isinstance(moment, datetime.datetime) and moment.tzinfo is not None:
        return moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return moment


def _plain_category(cell: Any) -> Any:
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, (str, int, float, bool)):
        return cell
    raise _unsupported(cell)


def _unsupported(cell: Any) -> ColumnTypeError:
    return ColumnTypeError(
        f"a cell holds {cell!r}, a {type(cell).__name__}; argument must be a string, a number, "
        "a boolean or a date: convert the column (durations: to a number of seconds or days)"
    )


# -- frames -----------------------------------------------------------------------------------


def _from_frame(frame: nw.DataFrame[Any]) -> Table:
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"two columns are named {twice!r}; rename one of them")

    def read(index: int) -> RawColumn:
        return _read_series(frame[:, index])

    return Table(frame.shape[0], frame.shape[1], tuple(names), read)


def _read_series(series: nw.Series[Any]) -> RawColumn:
    dtype = series.dtype
    if dtype == nw.Boolean:
        if series.null_count():
            return RawColumn("boolean", series.cast(nw.Float64).to_numpy().astype(np.float64))
        return RawColumn("boolean", series.to_numpy().astype(bool))
    if dtype.is_numeric():
        return _read_numeric_series(series, integer=dtype.is_integer())
    if dtype in (nw.Datetime, nw.Date):
        if dtype == nw.Datetime and getattr(dtype, "time_zone", None):
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return RawColumn("date", _seconds(series.to_numpy().astype("datetime64[us]")))
    if dtype == nw.Duration:
        raise _unsupported(series[0] if len(series) else dtype)
    return _read_objects(np.array(series.to_list(), dtype=object))


def _read_numeric_series(series: nw.Series[Any], *, integer: bool) -> RawColumn:
    values = series.to_numpy()
    if values.dtype == object:  # nullable integers, decimals
        values = _numbers([None if _is_missing(value) else value for value in values.tolist()])
    return RawColumn("integer" if integer else "number", values)
