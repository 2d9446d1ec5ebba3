"""A table is read alike from every container; anything else is refused in one line."""

import datetime as dt
import decimal
import fractions
import math
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dln.data.table import Table, read_table
from dln.errors import ColumnTypeError, TableError

DAY = 86400.0
NEW_YEAR = 1577836800.0  # 2020-01-01 UTC


def column(table: Table, index: int = 0) -> tuple[str, list[Any]]:
    raw = table.read(index)
    cells = [None if cell != cell else cell for cell in raw.values.tolist()]
    return raw.kind, cells


def read_column(X: Any) -> tuple[str, list[Any]]:
    return column(read_table(X))


# -- one table, many containers ----------------------------------------------------------------

CELLS: dict[str, list[Any]] = {
    "number": [1.5, None, -2.0],
    "integer": [1, None, 3],
    "boolean": [True, None, False],
    "category": ["red", None, ""],
    "date": [dt.datetime(2020, 1, 1), None, dt.datetime(1969, 12, 31)],
}
READ: dict[str, list[Any]] = {**CELLS, "date": [NEW_YEAR, None, -DAY]}
PANDAS_NULLABLE = {
    "number": "Float64",
    "integer": "Int64",
    "boolean": "boolean",
    "category": "string",
    "date": "datetime64[ns]",
}
HOLDERS: dict[str, Callable[[str], Any]] = {
    "list": lambda kind: [[cell] for cell in CELLS[kind]],
    "tuples": lambda kind: tuple((cell,) for cell in CELLS[kind]),
    "array": lambda kind: np.array(CELLS[kind], dtype=object)[:, None],
    "pandas object": lambda kind: pd.DataFrame({"c": pd.Series(CELLS[kind], dtype=object)}),
    "pandas": lambda kind: pd.DataFrame({"c": pd.array(CELLS[kind], dtype=PANDAS_NULLABLE[kind])}),
    "polars": lambda kind: pl.DataFrame({"c": CELLS[kind]}),
    "masked": lambda kind: np.ma.array(
        [[CELLS[kind][0]], [CELLS[kind][0]], [CELLS[kind][2]]], mask=[[False], [True], [False]]
    ),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kind", CELLS)
def test_every_container_gives_the_same_kind_and_values(kind: str, holder: str) -> None:
    assert read_column(HOLDERS[holder](kind)) == (kind, READ[kind])


@pytest.mark.parametrize("kind", CELLS)
def test_pyarrow_tables_are_read(kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert read_column(pyarrow.table({"c": CELLS[kind]})) == (kind, READ[kind])


@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.floats(allow_nan=False),
            st.none() | st.integers(-(2**40), 2**40),
            st.none() | st.text(max_size=3),
            st.none() | st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_lists_and_frames_agree(rows: list[tuple[Any, ...]]) -> None:
    names = ["n", "i", "t", "b"]
    tables = [
        read_table([list(row) for row in rows]),
        read_table(pd.DataFrame(rows, columns=names, dtype=object)),
        read_table(np.array([list(row) for row in rows], dtype=object)),
    ]
    for index in range(4):
        first, *others = [column(table, index) for table in tables]
        assert all(other == first for other in others)


# -- kinds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "g", ">f4", ">f8"])
def test_arrays_of_floats_are_numbers(code: str) -> None:
    array = np.array([[1.5], [np.nan], [np.inf]], dtype=code)
    raw = read_table(array).read(0)
    assert column(read_table(array)) == ("number", [1.5, None, math.inf])
    assert raw.values.dtype.isnative


@pytest.mark.parametrize("code", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
def test_arrays_of_integers_are_integers(code: str) -> None:
    assert read_column(np.array([[1], [100]], dtype=code)) == ("integer", [1, 100])


def test_arrays_of_booleans_are_booleans() -> None:
    assert read_column(np.array([[True], [False]])) == ("boolean", [True, False])


def test_arrays_of_text_are_categories() -> None:
    assert read_column(np.array([["a"], ["1"]])) == ("category", ["a", "1"])


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_a_moment_is_the_same_number_in_every_unit(unit: str) -> None:
    moments = np.array(["2020-01-01", "NaT", "1969-12-31"], dtype=f"datetime64[{unit}]")
    assert read_column(moments[:, None]) == ("date", [NEW_YEAR, None, -DAY])


@given(seconds=st.integers(-(10**10), 10**10))
def test_whole_seconds_are_exact_whatever_the_unit(seconds: int) -> None:
    moment = np.array([[seconds]], dtype="datetime64[s]")
    for unit in ("s", "ms", "us"):
        assert read_column(moment.astype(f"datetime64[{unit}]")) == ("date", [float(seconds)])


def test_parts_of_a_second_are_the_nearest_floats() -> None:
    moments = np.array([[1], [100_000], [123_456]], dtype="datetime64[us]")
    assert read_column(moments) == ("date", [0.000001, 0.1, 0.123456])


def test_time_zones_are_converted_to_utc() -> None:
    zoned = pd.Series([pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin"), pd.NaT])
    expected = ("date", [NEW_YEAR, None])
    assert read_column(zoned.to_frame()) == expected
    assert read_column(zoned.astype(object).to_frame()) == expected
    naive = pl.DataFrame({"c": [dt.datetime(2020, 1, 1, 1), None]})
    assert read_column(naive.select(pl.col("c").dt.replace_time_zone("Europe/Berlin"))) == expected
    assert read_column([[zoned[0].to_pydatetime()], [None]]) == expected


def test_dates_without_time_and_numpy_moments_are_dates() -> None:
    cells = [[dt.date(2020, 1, 1)], [np.datetime64("NaT")], [np.datetime64("2020-01-02")]]
    assert read_column(cells) == ("date", [NEW_YEAR, None, NEW_YEAR + DAY])
    assert read_column(pl.DataFrame({"c": [dt.date(2020, 1, 1), None]})) == (
        "date",
        [NEW_YEAR, None],
    )


@pytest.mark.parametrize("dtype", ["date32", "date64", "timestamp[us]", "timestamp[ns, tz=UTC]"])
def test_dates_of_pyarrow_in_pandas_may_be_missing(dtype: str) -> None:
    """What `pandas.read_parquet(dtype_backend="pyarrow")` returns."""
    cells = pd.Series([dt.date(2020, 1, 1), None], dtype=object)
    moments = pd.to_datetime(cells).dt.tz_localize("UTC" if "tz" in dtype else None)
    frame = (cells if "date" in dtype else moments).astype(f"{dtype}[pyarrow]").to_frame()
    assert read_column(frame) == ("date", [NEW_YEAR, None])


def test_the_first_and_the_last_day_are_dates_in_every_time_zone() -> None:
    west, east = (dt.timezone(dt.timedelta(hours=hours)) for hours in (-5, 5))
    ends = [dt.datetime(9999, 12, 31, 23, tzinfo=west), dt.datetime(1, 1, 1, tzinfo=east)]
    utc = [253402300800.0 + 4 * 3600, -62135596800.0 - 5 * 3600]
    assert read_column([[moment] for moment in ends]) == ("date", utc)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.Categorical(["b", None, "a"])),
        pl.Series(["b", None, "a"], dtype=pl.Categorical),
        pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "b", "never"])),
        pd.Series(["b", None, "a"]),
        pd.Series(["b", pd.NA, "a"], dtype=object),
        pd.Series(["b", float("nan"), "a"], dtype=object),
    ],
)
def test_text_columns_are_categories(series: Any) -> None:
    assert read_column(series.to_frame()) == ("category", ["b", None, "a"])


def test_numbers_declared_as_categories_are_categories() -> None:
    frame = pd.DataFrame({"zip": pd.Categorical([10115, None, 80331])})
    assert read_column(frame) == ("category", [10115, None, 80331])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"c": [None, None]}),
        pd.DataFrame({"c": pd.Categorical([None, None])}),
        pl.DataFrame({"c": [None]}),
        pl.DataFrame({"c": [None]}, schema={"c": pl.String}),
    ],
)
def test_a_column_without_values_is_a_column_of_missing_numbers(frame: Any) -> None:
    assert read_column(frame) == ("number", [None] * len(frame))


def test_every_marker_of_a_missing_value_is_recognised() -> None:
    marks = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
    marks.append(decimal.Decimal("NaN"))
    assert read_column([[mark] for mark in marks] + [["a"]]) == ("category", [None] * 7 + ["a"])
    assert read_column([[mark] for mark in marks] + [[1]]) == ("integer", [None] * 7 + [1.0])


def test_unusual_number_types_are_numbers() -> None:
    cells = [[fractions.Fraction(1, 2)], [decimal.Decimal("2.5")], [np.float32(3)], [np.True_], [4]]
    assert read_column(cells) == ("number", [0.5, 2.5, 3.0, 1.0, 4.0])
    assert read_column(pl.DataFrame({"c": [decimal.Decimal("1.5"), None]})) == (
        "number",
        [1.5, None],
    )


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no integers of 128 bits")
def test_integers_of_128_bits_are_integers() -> None:
    series = pl.Series("c", [2**100, None, -3], dtype=pl.Int128)
    assert read_column(series.to_frame()) == ("integer", [2.0**100, None, -3.0])


def test_a_mixture_of_numbers_and_text_keeps_both_as_categories() -> None:
    assert read_column([[1], ["1"], [2.5], [True]]) == ("category", [1, "1", 2.5, True])


def test_lists_keep_the_type_of_every_column() -> None:
    table = read_table([[1, 2.5, True, "a"], [2, 3.5, False, "b"]])
    kinds = [table.read(index).kind for index in range(4)]
    assert kinds == ["integer", "number", "boolean", "category"]


# -- names -------------------------------------------------------------------------------------


def test_names_are_text_and_unnamed_columns_are_identified_by_position() -> None:
    pairs = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    for frame in (pd.DataFrame([[1, 2]]), pd.DataFrame([[1, 2]], columns=pairs)):
        assert read_table(frame).names is None
        assert read_table(frame).column_names() == ("x0", "x1")
    assert read_table(pd.DataFrame([[1, 2]], columns=[7, "x y"])).names == ("7", "x y")


def test_columns_are_read_by_position_even_if_their_names_are_integers() -> None:
    assert read_column(pd.DataFrame([[10, 20]], columns=[1, 0])) == ("integer", [10])


def test_arrays_have_no_names_and_are_shown_as_x0_x1() -> None:
    table = read_table(np.zeros((1, 2)))
    assert table.names is None
    assert table.column_names() == ("x0", "x1")


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"]])
def test_two_columns_of_one_name_are_refused(names: list[Any]) -> None:
    with pytest.raises(TableError, match=r"two columns are named '(a|1)'; rename one"):
        read_table(pd.DataFrame([[1, 2]], columns=names))


def test_two_columns_of_one_name_are_refused_in_pyarrow_too() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(TableError, match="two columns are named 'a'; rename one"):
        read_table(pyarrow.table([[1], [2], [3]], names=["b", "a", "a"]))


# -- views of a table --------------------------------------------------------------------------


def test_taking_rows_keeps_kinds_and_names() -> None:
    table = read_table(pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]}))
    part = table.take(np.array([2, 0]))
    assert (part.n_rows, part.names) == (2, ("a", "b"))
    assert column(part, 0) == ("integer", [3, 1])
    assert column(part, 1) == ("category", [None, "x"])
    assert column(part.kept(), 1) == ("category", [None, "x"])


def test_a_table_is_read_once() -> None:
    table = read_table([[1]])
    assert read_table(table) is table


# -- refused -----------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "1-D": (lambda: np.zeros(3), "1 dimension.*expected 2.*reshape"),
    "series": (lambda: pd.Series([1, 2]), "1 dimension"),
    "texts": (lambda: ["ab", "cd"], "1 dimension"),
    "3-D": (lambda: np.zeros((2, 2, 2)), "3 dimension"),
    "ragged": (lambda: [[1, 2], [3]], "rows differ in length"),
    "ragged arrays": (lambda: [np.zeros(2), np.zeros(3)], "rows differ in length"),
    "no rows": (lambda: [], "0 rows"),
    "sparse 1-D": (lambda: sparse.coo_array(np.ones(2)), "sparse table has 1 dimension"),
    "sparse complex": (lambda: sparse.csr_array(np.eye(2) * 1j), "sparse table holds complex128"),
    "complex": (lambda: np.array([[1j]]), "Complex data not supported"),
    "structured": (lambda: np.zeros(2, dtype=[("a", int)]), r"structured array of \['a'\]"),
    "text": (lambda: "table.csv", "the table is a str; expected a pandas or polars frame"),
    "dict": (lambda: {"a": [1]}, "the table is a dict"),
    "nothing": (lambda: None, "the table is a NoneType"),
    "number": (lambda: 3, "the table is an int; expected a pandas or polars frame"),
    "dicts": (lambda: [{"a": 1}], r"the rows are dicts.*make a data frame.*pandas.DataFrame\(rows"),
    "dict and list": (lambda: ([1], {"a": 1}), "the rows are dicts"),
    "lazy": (lambda: pl.LazyFrame({"a": [1]}), "the table is a LazyFrame"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_object_that_is_not_a_table_is_refused(case: str) -> None:
    make, text = REFUSED[case]
    with pytest.raises(TableError, match=text):
        read_table(make())


def test_a_frame_whose_names_would_be_lost_is_refused() -> None:
    class Frame:
        """A frame of a library that narwhals does not know."""

        def __array__(self) -> Any:
            return np.array([[1, 2]])

        def __dataframe__(self) -> None:
            pass

    with pytest.raises(TableError, match="the table is a Frame; expected a pandas or polars"):
        read_table(Frame())


def test_batches_of_pyarrow_are_tables() -> None:
    table = read_table(pa.RecordBatch.from_pydict({"a": [1], "b": ["x"]}))
    assert (table.names, table.n_rows) == (("a", "b"), 1)
    assert table.read(1).values.tolist() == ["x"]


BAD_CELLS: dict[str, tuple[Callable[[], Any], str]] = {
    "list": (lambda: [[1, [2, 3]], [4, [5]]], r"'x1' holds \[2, 3\], a list"),
    "dict": (lambda: [[{}]], r"'x0' holds \{\}, a dict"),
    "bytes": (lambda: np.array([[b"a"]]), "a bytes"),
    "complex": (lambda: pd.DataFrame({"z": [1j]}), "'z' holds 1j, a complex"),
    "nested": (lambda: pl.DataFrame({"n": [[1, 2], [3, 4]]}), r"'n' holds \[1, 2\], a list"),
    "record": (lambda: pl.DataFrame({"n": [{"a": 1}]}), "a dict"),
    "time": (lambda: pl.DataFrame({"n": [dt.time(1)]}), "a time"),
    "dates and text": (
        lambda: pd.DataFrame({"d": [None, pd.Timestamp("2020-01-01"), "unknown"]}),
        "'d' holds dates, but also 'unknown'; convert the column, and replace",
    ),
    "moments and numbers": (
        lambda: np.array([[np.datetime64("2020-01-01", "ns")], [7]], dtype=object),
        "'x0' holds dates, but also 7",
    ),
    "period": (lambda: pd.DataFrame({"p": pd.period_range("2020", periods=1)}), "a Period"),
    "duration": (lambda: pd.DataFrame({"t": pd.to_timedelta([1])}), "durations: to seconds"),
    "polars duration": (lambda: pl.DataFrame({"t": [dt.timedelta(1)]}), "'t' holds .*timedelta"),
    "duration, one missing": (
        lambda: pd.DataFrame({"t": pd.to_timedelta([None, 1])}),
        "holds Timedelta",
    ),
    "polars duration, one missing": (
        lambda: pl.DataFrame({"t": [None, dt.timedelta(1)]}),
        "holds .*timedelta",
    ),
    "numpy duration": (lambda: np.array([[1]], dtype="m8[s]"), "durations: to seconds"),
}


@pytest.mark.parametrize("case", BAD_CELLS)
def test_values_of_an_unsupported_type_are_refused_and_the_column_is_named(case: str) -> None:
    make, text = BAD_CELLS[case]
    with pytest.raises(ColumnTypeError, match=text):
        read_table(make()).kept()


def test_an_integer_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(TableError, match="'x0' holds an integer too large"):
        read_table([[10**400]]).read(0)


@pytest.mark.parametrize("X", [np.zeros((0, 2)), pd.DataFrame({"a": []}), np.zeros((2, 0))])
def test_empty_tables_are_read_as_empty(X: Any) -> None:
    assert (read_table(X).n_rows, read_table(X).n_columns) == X.shape


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names_of_a_wide_frame_are_listed_once(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To list them for every column would take time that grows with the square of the width."""
    listed = 0
    names = nw.DataFrame.columns.fget

    def count(frame: Any) -> Any:
        nonlocal listed
        listed += 1
        return names(frame)

    monkeypatch.setattr(nw.DataFrame, "columns", property(count))
    table = read_table(library({f"c{place}": [place, 1] for place in range(50)}))
    assert [table.read(place).values[0] for place in range(50)] == list(range(50))
    assert listed < 5
