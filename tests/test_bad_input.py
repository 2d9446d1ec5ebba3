"""Bad input: one clear error, or a documented behaviour."""

import io
import json
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from dln import (
    Among,
    Circuit,
    Column,
    ColumnTypeError,
    DLNClassifier,
    DlnError,
    DlnWarning,
    MissingColumnError,
    Rule,
    TableError,
)
from dln.cli import main
from tests.support.classifiers import UNDERTRAINED


def small(**parameters: Any) -> DLNClassifier:
    quick = {"layers": (16, 8), "n_networks": 1, "tau": 2.0, "epochs": 20, "random_state": 0}
    return DLNClassifier(**{**quick, **parameters})


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})


@pytest.fixture(scope="module")
def y(frame: pd.DataFrame) -> Any:
    return np.where((frame["size"] > 0) ^ (frame["colour"] == "red"), "yes", "no")


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame, y: Any) -> DLNClassifier:
    return small().fit(frame, y)


# -- at fit ------------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [np.zeros((0, 2)), pd.DataFrame({"a": []}), pl.DataFrame(), []])
def test_a_table_without_rows_is_refused(X: Any) -> None:
    with pytest.raises(TableError, match=r"the table has 0 (rows|columns)"):
        small().fit(X, [])


@pytest.mark.parametrize("X", [np.zeros((3, 0)), pd.DataFrame(index=range(3)), [[], [], []]])
def test_a_table_without_columns_is_refused(X: Any) -> None:
    with pytest.raises(TableError, match=r"the table has 0 columns.*minimum of 1"):
        small().fit(X, [0, 1, 0])


def test_one_class_is_refused() -> None:
    with pytest.raises(
        TableError, match=r"only one class \('a'\); a classifier needs at least two"
    ):
        small().fit([[1], [2]], np.array(["a", "a"], dtype=object))


def test_one_row_is_refused_as_one_class() -> None:
    with pytest.raises(TableError, match="only one class"):
        small().fit([[1.0, 2.0]], [1])


def test_two_rows_are_enough() -> None:
    X = [[1.0], [2.0]]
    model = DLNClassifier(effort="quick", random_state=0).fit(X, ["a", "b"])
    assert model.predict(X).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "target",
    [
        ["a", None, "b", None],
        [0.0, np.nan, 1.0, np.nan],
        pd.Series(["a", pd.NA, "b", pd.NA], dtype="string"),
        pd.Series([0, None, 1, None], dtype="Int64"),
        pd.to_datetime(["2020-01-01", None, "2021-01-01", None]),
        pl.Series([True, None, False, None]),
    ],
)
def test_a_target_with_missing_cells_is_refused_with_their_place(target: Any) -> None:
    with pytest.raises(TableError, match="missing in 2 of 4 rows, first in row 1; drop those rows"):
        small().fit(np.arange(4.0)[:, None], target)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0, 1], "the table has 4 rows, but the target has 2"),
        ([0.0, 1.0, np.inf, 1.0], "contains infinity"),
        (np.array([1, "a", 1, "a"], dtype=object), "the target mixes int, str"),
        ([0.5, 1.5, 2.5, 3.5], "Unknown label type"),
        (np.zeros((4, 2)), "read as class probabilities, but row 0 does not sum to 1"),
        ([["a", "b"]] * 4, "1d array"),
        (np.array([[0], {}, [0], {}], dtype=object), "Unknown label type"),
    ],
)
def test_a_target_that_names_no_classes_is_refused(target: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        small().fit(np.arange(4.0)[:, None], target)


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        ([0.0] * 4, "weights (are zero|must contain at least one non-zero)"),
        ([1.0, -1.0, 1.0, 1.0], "[Nn]egative"),
        ([1.0, np.nan, 1.0, 1.0], "NaN"),
        ([1.0, np.inf, 1.0, 1.0], "infinity"),
        ([1.0], r"expected \(4,\)"),
    ],
)
def test_weights_that_weigh_nothing_are_refused(weight: list[float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        small().fit(np.arange(4.0)[:, None], [0, 1, 0, 1], sample_weight=weight)


def test_a_validation_part_that_holds_back_no_row_is_refused() -> None:
    with pytest.raises(DlnError, match=r"validation_fraction is 0\.1, which is none of 4"):
        small(validation_fraction=0.1).fit(np.arange(4.0)[:, None], [0, 1, 0, 1])


@pytest.mark.parametrize("useless", [np.nan, None, 7.0, "same", np.inf])
def test_a_useless_column_is_never_read(frame: pd.DataFrame, y: Any, useless: Any) -> None:
    wide = frame.assign(useless=pd.Series([useless] * len(frame), dtype=object))
    model = small().fit(wide, y)
    assert "useless" not in str(model.circuit_)
    assert_array_equal(model.predict(wide.assign(useless="text")), model.predict(wide))


@pytest.mark.parametrize("constant", [0.0, np.nan])
@pytest.mark.parametrize("parameters", [{}, {"tau": "auto", "selection_fits": 2}])
def test_a_table_with_equal_rows_gives_one_class(
    constant: float, parameters: dict[str, Any]
) -> None:
    X = np.full((40, 2), constant)
    with pytest.warns(DlnWarning, match="The model has no rules"):
        model = small(class_weight=None, **parameters).fit(X, [0, 1, 1, 1] * 10)
    assert model.circuit_.n_literals == 0
    assert set(model.predict(X)) == {1}


@UNDERTRAINED
def test_a_column_that_is_constant_in_some_folds_only() -> None:
    X = np.zeros((40, 1))
    X[0] = 1.0
    small(tau="auto", selection_fits=5).fit(X, [0, 1] * 20)


def test_missing_and_infinite_cells_are_learned_from() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan], size=(300, 2))
    y = np.isinf(X[:, 0])
    model = small(epochs=60).fit(X, y)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("scale", [1e-320, 1e-30, 1e30, 1.7e308])
def test_tiny_and_huge_numbers_are_learned_from(scale: float) -> None:
    X = np.linspace(-1, 1, 80)[:, None] * scale
    y = X[:, 0] > X[29, 0]
    assert small(epochs=60).fit(X, y).score(X, y) > 0.9


def test_ten_thousand_categories() -> None:
    names = [f"city {index}" for index in range(10_000)]
    X = pd.DataFrame({"city": names, "size": np.arange(10_000.0)})
    y = np.arange(10_000) < 5_000
    model = small(epochs=3).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict(X[:2].assign(city=["never seen", None])).shape == (2,)


def test_mixed_column_names_are_refused() -> None:
    X = pd.DataFrame([[1, 2], [3, 4]], columns=[0, "a"])
    with pytest.raises(ColumnTypeError, match="all input features have string names"):
        small().fit(X, [0, 1])


def test_two_columns_of_one_name_are_refused() -> None:
    X = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(TableError, match="two columns are named 'a'"):
        small().fit(X, [0, 1])


# -- at predict ----------------------------------------------------------------------------------


def test_text_in_a_numeric_column_is_refused(model: DLNClassifier, frame: pd.DataFrame) -> None:
    with pytest.raises(ColumnTypeError, match=r"column 'size' holds 'big', expected numbers?"):
        model.predict(frame.assign(size=["big"] * len(frame)))


def test_numbers_in_a_text_column_are_refused(model: DLNClassifier, frame: pd.DataFrame) -> None:
    with pytest.raises(ColumnTypeError, match="column 'colour' holds"):
        model.predict(frame.assign(colour=1.5))


def category_circuit(*categories: Any) -> Circuit:
    """Vote yes where the column is the first category."""
    column = Column("code", "category", categories)
    return Circuit((column,), (Among(0, (0,)),), (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes"))


def test_text_in_a_column_of_number_categories_is_refused() -> None:
    circuit = category_circuit(10115, 80331)
    with pytest.raises(ColumnTypeError, match=r"'code' holds the text '10115'.*\(10115, 80331\)"):
        circuit.predict(pd.DataFrame({"code": ["10115", None]}))
    assert circuit.predict(pd.DataFrame({"code": [10115, None]})).tolist() == ["yes", "no"]


@pytest.mark.parametrize("categories", [(1, "a"), ("1", 2)])
@pytest.mark.parametrize("text", ["code\n1\na\n", "code\n1\n2\n"])
def test_a_column_of_numbers_and_text_is_read_alike_from_python_and_from_the_command_line(
    categories: tuple[Any, ...], text: str, tmp_path: Path
) -> None:
    circuit = category_circuit(*categories)
    circuit.save(tmp_path / "m.json")
    (tmp_path / "t.csv").write_text(text)
    arguments = ["predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "out.csv"]
    assert main([str(argument) for argument in arguments]) == 0
    found = pd.read_csv(tmp_path / "out.csv")["prediction"].tolist()
    assert found == circuit.predict(pd.read_csv(tmp_path / "t.csv")).tolist() == ["yes", "no"]


@pytest.mark.parametrize("code", [9007199254740992, 2**62, 2**63, 2**64])
def test_long_integers_are_separate_classes_and_categories(
    code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As floats they are equal. Neither Python nor the command line confuses them."""
    classes = (code, code + 1)
    assert small().fit([[0], [1]] * 9, [*classes] * 9).classes_.tolist() == [*classes]
    if code > 2**63:
        return  # no column of a table has integers of more than 64 bits
    column = Column("code", "category", classes)
    circuit = Circuit((column,), (Among(0, (0,)),), (), (Rule(0, (2, 0)),), (0, 1), classes)
    circuit.save(tmp_path / "m.json")
    (tmp_path / "t.csv").write_text(f"code,y\n{code},{code}\n{code + 1},{code + 1}\n")
    frame = pd.read_csv(tmp_path / "t.csv")
    assert circuit.predict(frame).tolist() == frame["y"].tolist()
    arguments = ["evaluate", tmp_path / "m.json", tmp_path / "t.csv", "-t", "y", "--json"]
    assert main([str(argument) for argument in arguments]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1.0


def test_dates_in_a_numeric_column_are_refused(model: DLNClassifier, frame: pd.DataFrame) -> None:
    with pytest.raises(ColumnTypeError, match="column 'size' holds"):
        model.predict(frame.assign(size=pd.Timestamp("2020-01-01")))


def test_a_missing_column_is_refused(model: DLNClassifier, frame: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(frame[["size"]])
    with pytest.raises(MissingColumnError, match=r"the circuit reads \['colour'\]"):
        model.circuit_.predict(frame[["size"]])


def test_reordered_columns_are_refused_by_the_model_and_found_by_the_circuit(
    model: DLNClassifier, frame: pd.DataFrame
) -> None:
    turned = frame[["colour", "size"]]
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(turned)
    assert_array_equal(model.circuit_.predict(turned), model.predict(frame))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_narwhals_frame_is_known_by_its_columns(kind: Any, frame: pd.DataFrame, y: Any) -> None:
    cells = frame.to_dict("list")
    wrapped = nw.from_native(kind(cells))
    model = small().fit(wrapped, y)
    assert list(model.feature_names_in_) == ["size", "colour"]
    assert_array_equal(model.predict(wrapped), small().fit(frame, y).predict(frame))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(wrapped.select("colour", "size"))


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (np.zeros(2), "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (np.zeros((2, 3)), "3 features"),
        ([[1.0, "red"], [2.0]], "rows differ in length"),
        (None, "the table is a NoneType"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_wrong_shapes_are_refused(model: DLNClassifier, X: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        model.predict(X)


def test_missing_cells_and_unseen_categories_are_predicted(
    model: DLNClassifier, frame: pd.DataFrame
) -> None:
    odd = pd.DataFrame(
        {"size": [np.nan, np.inf, -np.inf, 0.5], "colour": [None, "mauve", "", "red"]}
    )
    assert set(model.predict(odd)) <= {"yes", "no"}
    # Neither is one of the known categories, so both rows are decided alike.
    pair = pd.DataFrame({"size": [0.5, 0.5], "colour": ["mauve", None]})
    first, second = model.predict_proba(pair)
    assert_array_equal(first, second)


def test_a_table_without_names_is_matched_by_place(
    model: DLNClassifier, frame: pd.DataFrame
) -> None:
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(frame.to_numpy())
    assert_array_equal(found, model.predict(frame))


# -- the ugliest file ----------------------------------------------------------------------------

UGLY_NAMES = ["id", "a b", 'say "hi"', "line\nbreak", "naïve 🦆", "when", "only one", "", "x > 3"]


def ugly_csv() -> bytes:
    rng = np.random.default_rng(0)
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in [*UGLY_NAMES, "class"])]
    for row in range(120):
        good = bool(rng.random() < 0.5)
        cells = [
            str(row),
            rng.choice(["1", "2.5", " 3 ", "n/a", "unknown", "1e400", "", "-inf"]),
            rng.choice(['""""', "'", "{a, b}", " padded ", "", "NULL"]),
            str(rng.normal() + 3 * good),
            rng.choice(["🦆", "ß", "ﬀ", "\u202etxet", "日本", ""]),
            rng.choice(["2020-01-01", "01/02/2020", "yesterday", ""]),
            "",
            rng.choice(["True", "False", "maybe"]),
            rng.choice(["0", "00", "0.0", "1"]),
            "gut" if good else "schlecht",
        ]
        lines.append(",".join(cell if cell[:1] == '"' else f'"{cell}"' for cell in cells))
    return "\ufeff".encode() + "\r\n".join(lines).encode()


@pytest.mark.parametrize("reader", ["pandas", "pandas objects", "polars"])
def test_an_ugly_file_trains_prints_and_predicts(reader: str, tmp_path: Any) -> None:
    if reader == "polars":
        X: Any = pl.read_csv(ugly_csv(), infer_schema_length=None)
        y = X["class"]
        X = X.drop("class")
        rows = X[:5]
    else:
        options = {"dtype": object, "keep_default_na": False} if "objects" in reader else {}
        X = pd.read_csv(io.BytesIO(ugly_csv()), **options)
        y = X.pop("class")
        rows = X[:5]
    model = small(epochs=40).fit(X, y)
    assert set(model.classes_) == {"gut", "schlecht"}
    if reader != "pandas objects":  # read as text, no cell of the numeric column is a number
        assert model.score(X, y) > 0.85
    assert "Most votes win" in str(model.circuit_)
    assert_array_equal(model.predict(rows), model.predict(X)[:5])
    model.circuit_.save(tmp_path / "ugly.json")
    assert type(model.circuit_).load(tmp_path / "ugly.json") == model.circuit_
