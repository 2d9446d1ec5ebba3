"""`dln predict` and `dln evaluate`, from the command line to output and exit status."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from dln.cli.labels import class_numbers
from dln.core.labels import Label
from dln.errors import TableError
from tests.conftest import Run
from tests.support.commands import (
    ANSWERS,
    COMMAND,
    LONG,
    ROWS,
    circuit,
    saved_model,  # noqa: F401 - a fixture
    written_rows,  # noqa: F401 - a fixture
)

# -- predict ----------------------------------------------------------------------------------


def test_predict_prints_a_class_for_each_row(run: Run, model: Path, rows: Path) -> None:
    status, out, err = run("predict", model, rows)
    assert (status, err) == (0, "")
    assert out.splitlines() == ["prediction", *ANSWERS]


def test_predict_adds_probabilities_votes_and_columns(run: Run, model: Path, rows: Path) -> None:
    _, out, _ = run("predict", model, rows, "--proba", "--votes", "--keep", "id", "--keep", "age")
    lines = [line.split(",") for line in out.splitlines()]
    shares = ["probability_not ill", "probability_ill"]
    assert lines[0] == ["id", "age", "prediction", *shares, "votes_not ill", "votes_ill"]
    assert lines[3][:3] == ["3", "", "ill"]
    assert lines[3][5:] == ["1", "2"]
    assert float(lines[3][4]) == pytest.approx(1 / (1 + np.exp(-0.5)))


def read_back(path: Path) -> list[dict[str, object]]:
    """Read a table with the usual library for its format."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        frame = pd.read_parquet(path)
    elif name.endswith(".xlsx"):
        frame = pd.read_excel(path)
    elif name.endswith((".jsonl", ".ndjson")):
        frame = pd.read_json(path, lines=True)
    else:
        frame = pd.read_csv(path, sep="\t" if name.endswith((".tsv", ".tab")) else ",")
    return frame.to_dict("records")


NAMES = ["csv", "CSV", "tsv", "tab", "jsonl", "ndjson", "parquet", "xlsx", "csv.gz", "jsonl.gz"]


@pytest.mark.parametrize("ending", NAMES)
def test_predict_writes_the_format_of_the_file_name(
    run: Run, model: Path, rows: Path, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"out.{ending}"
    path.write_text("an older file, which is replaced")
    message = f"wrote {path.name}: 4 rows\n"
    options = ("-o", path.name, "--keep", "id", "--votes")
    assert run("predict", model, rows, *options) == (0, "", message)
    found = read_back(path)
    assert [(int(str(row["id"])), row["prediction"]) for row in found] == [
        *enumerate(ANSWERS, start=1)
    ]
    assert [row["votes_ill"] for row in found] == [2, 0, 2, 0]
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == sorted(["model.json", path.name, "rows.csv"])


@pytest.mark.parametrize("name", ["out.json", "out.xls", "out.parquet.gz", "out.xlsx.gz"])
def test_predict_refuses_unknown_formats_before_it_reads(run: Run, model: Path, name: str) -> None:
    status, _, err = run("predict", model, "no such table.csv", "-o", name)
    assert status == 2
    assert f"the output {name} ends in" in err
    assert ".csv, .tsv, .tab, .jsonl, .ndjson, .parquet, .xlsx" in err
    assert not Path(name).exists()


def test_excel_files_keep_text_as_text_and_all_digits_of_integers(
    run: Run, model: Path, tmp_path: Path
) -> None:
    table = pa.table(
        {
            "age": [60],
            "smoker": [True],
            "city": ["Basel"],
            "note": ['=HYPERLINK("x")'],
            "bell": ["a\x07b"],
            "id": [9007199254740993],
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    keep = ("--keep", "note", "--keep", "bell", "--keep", "id")
    assert run("predict", model, "t.parquet", "-o", "out.xlsx", *keep)[0] == 0
    (row,) = pd.read_excel(tmp_path / "out.xlsx", dtype=object).to_dict("records")
    assert row == {
        "note": '=HYPERLINK("x")',
        "bell": "a\\x07b",
        "id": "9007199254740993",
        "prediction": "ill",
    }


@pytest.mark.parametrize(
    ("classes", "written"),
    [
        ((0, 1 << 53), [1 << 53, 0]),
        ((10**40, 10**40 + 1), [str(10**40 + 1), str(10**40)]),
        ((1, "a"), ["a", "1"]),
        (("\ud800", "\x1b"), ["\x1b", "\\ud800"]),
    ],
)
def test_parquet_holds_classes_of_any_type(
    run: Run, tmp_path: Path, classes: tuple[Label, ...], written: list[Label]
) -> None:
    replace(circuit(), classes=classes).save(tmp_path / "m.json")
    rows = b"age,smoker,city\n60,true,Basel\n" + 80_000 * b"20,true,Basel\n"
    for name in ("p.parquet", "p.jsonl"):
        status, _, talk = run("predict", "m.json", "-", "-o", name, "--votes", stdin=rows)
        assert (status, talk) == (0, f"wrote {name}: 80,001 rows\n")
    found = pa.parquet.read_table(tmp_path / "p.parquet").column("prediction").to_pylist()
    assert [found[0], found[-1], len(found)] == [*written, 80_001]


def test_predict_reads_standard_input_and_gzip(run: Run, model: Path) -> None:
    for stdin in (ROWS.encode(), gzip.compress(ROWS.encode())):
        status, out, _ = run("predict", model, "-", stdin=stdin)
        assert (status, out.splitlines()[1:]) == (0, ANSWERS)


def test_predict_on_a_header_without_rows_writes_a_header(run: Run, model: Path) -> None:
    assert run("predict", model, "-", stdin=b"age,smoker,city\n")[:2] == (0, "prediction\n")


def test_predict_writes_parquet_without_rows_and_with_empty_columns(
    run: Run, model: Path, tmp_path: Path
) -> None:
    header = b"age,smoker,city,note\n"
    assert run("predict", model, "-", "-o", "out.parquet", stdin=header)[0] == 0
    assert pa.parquet.read_table(tmp_path / "out.parquet").column_names == ["prediction"]
    # The first chunk of a megabyte has no value in `note`, the second has one.
    table = header + 80_000 * b"60,true,Basel,\n" + b"60,true,Basel,hello\n"
    assert run("predict", model, "-", "-o", "out.parquet", "--keep", "note", stdin=table)[0] == 0
    notes = pa.parquet.read_table(tmp_path / "out.parquet").column("note")
    assert (len(notes), notes[-1].as_py()) == (80_001, "hello")


def test_predict_leaves_no_file_when_it_fails(run: Run, model: Path, tmp_path: Path) -> None:
    wrong = b"age,smoker,city\n5,true,Bern\nold,true,Bern\n"
    status, _, err = run("predict", model, "-", "-o", "out.csv", stdin=wrong)
    assert status == 2
    assert err == (
        "dln: column 'age' holds 'old' (row 2), expected numbers such as 1234.5; "
        "correct the value, or leave it empty where there is none\n"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_predict_names_the_row_of_an_invalid_value_in_a_later_chunk(run: Run, model: Path) -> None:
    table = b"age,smoker,city\n" + 200_000 * b"5,true,Bern\n" + b"old,true,Bern\n"
    assert "'old' (row 200001), expected" in run("predict", model, "-", stdin=table)[2]


def test_columns_of_mostly_unknown_categories_are_noted(run: Run, model: Path) -> None:
    header = "age,smoker,city,state\n"
    unknown = 60_000 * "60,true,Bonn,ill\n" + 40_000 * "60,true,,ill\n" + "60,true,Bern,ill\n"
    note = "note: Column 'city': 60,000 of 60,001 values are none of the categories "
    for table, expected in ((unknown, note), (2 * "60,true,Bonn,ill\n60,true,Bern,ill\n", "")):
        for options in (("predict", model, "-"), ("evaluate", model, "-", "-t", "state")):
            status, _, err = run(*options, stdin=(header + table).encode())
            assert (status, err[: len(note)]) == (0, expected)


def test_predict_names_the_columns_that_are_missing(run: Run, model: Path) -> None:
    status, _, err = run("predict", model, "-", stdin=b"age,town\n5,Bern\n")
    assert status == 2
    assert "the model reads 'smoker', 'city', but standard input has only age, town" in err


def test_predict_needs_little_memory(model: Path, tmp_path: Path) -> None:
    line = b"60,true,Basel," + b"x" * 84 + b"\n"
    table, answers = tmp_path / "big.csv", tmp_path / "out.csv"
    with table.open("wb") as file:
        file.write(b"age,smoker,city,other\n")
        for _ in range(100):
            file.write(5_000 * line)
    watch = (
        "import resource, sys; from dln.cli import main; main(['predict', *sys.argv[1:3]]); "
        "start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "status = main(['predict', sys.argv[1], *sys.argv[3:]]); "
        "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start)"
    )
    small = tmp_path / "small.csv"
    small.write_text(ROWS)
    arguments = (model, small, table, "-o", answers, "--keep", "other")
    child = subprocess.run(
        [sys.executable, "-c", watch, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG,
    )
    status, grown = map(int, child.stdout.splitlines()[-1].split())
    assert status == 0
    # The small table loaded all libraries. The large one is a file of 50 MB, and more in memory.
    assert grown * (1 if sys.platform == "darwin" else 1024) < 100e6, grown
    assert answers.read_bytes().count(b",ill\n") == 500_000


def test_a_closed_pipe_is_not_an_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("age,smoker,city\n" + 100_000 * "60,true,Basel\n")
    child = subprocess.Popen(
        [*COMMAND, "predict", str(model), str(tmp_path / "long.csv")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b"prediction\n"
    child.stdout.close()
    with child.stderr as err:
        assert err.read() == b""
    assert child.wait(LONG) == 141


# -- evaluate ---------------------------------------------------------------------------------

TRUTH = "age,smoker,city,state\n60,true,Basel,ill\n60,false,Basel,ill\n,true,Bern,ill\n" + (
    "20,true,Basel,not ill\n"
)


def test_evaluate_measures_each_class(run: Run, model: Path) -> None:
    status, out, _ = run("evaluate", model, "-", "-t", "state", "--json", stdin=TRUTH.encode())
    found = json.loads(out)
    assert status == 0
    assert found["rows"] == 4
    assert found["balanced_accuracy"] == pytest.approx((1 + 2 / 3) / 2)
    # Vote margins of "ill": 1, -1, 1 in rows that are ill and -1 in the other.
    assert found["roc_auc"] == pytest.approx(roc_auc_score([1, 1, 1, 0], [1, -1, 1, -1]))
    assert found["classes"][0]["specificity"] == pytest.approx(2 / 3)
    assert found["confusion"] == {"classes": ["not ill", "ill"], "counts": [[1, 0], [1, 2]]}
    ill = found["classes"][1]
    assert ill == {
        "class": "ill",
        "precision": 1.0,
        "recall": pytest.approx(2 / 3),
        "specificity": 1.0,
        "f1": pytest.approx(0.8),
        "support": 3,
    }
    # The margin is one vote in every row, at temperature 2, so all probabilities are equal.
    sure = 1 / (1 + np.exp(-0.5))
    assert found["expected_calibration_error"] == pytest.approx(abs(0.75 - sure))
    assert found["reliability"] == [
        {
            "from": 0.6,
            "to": 0.7,
            "rows": 4,
            "mean_probability": pytest.approx(sure),
            "accuracy": 0.75,
        }
    ]


WHOLE = st.integers(-(10**60), 10**60) | st.integers(-3, 3).map(lambda step: (1 << 53) + step)


@settings(max_examples=60)
@given(low=WHOLE, step=st.integers(1, 3), spelling=st.sampled_from(["{}", "{}.0", "+{}", " {}"]))
def test_evaluate_compares_integer_classes_exactly(low: int, step: int, spelling: str) -> None:
    classes = (low, low + step)
    judge = replace(circuit(), classes=classes)
    texts = [spelling.format(label).replace("+-", "-") for label in (*classes, classes[0])]
    assert class_numbers(pa.chunked_array([texts]), judge, "y").tolist() == [0, 1, 0]
    with pytest.raises(TableError, match="but the classes of the model are"):
        class_numbers(pa.chunked_array([[str(low - 1)]]), judge, "y")


@pytest.mark.parametrize("start", [1 << 53, (1 << 63) - 2, 10**40])
def test_evaluate_does_not_confuse_large_integer_classes(
    run: Run, tmp_path: Path, start: int
) -> None:
    replace(circuit(), classes=(start, start + 1)).save(tmp_path / "m.json")
    table = f"age,smoker,city,y\n60,true,Basel,{start + 1}\n20,true,Basel,{start}\n".encode()
    status, out, _ = run("evaluate", "m.json", "-", "-t", "y", "--json", stdin=table)
    assert status == 0
    assert json.loads(out)["accuracy"] == 1.0


def test_evaluate_prints_tables(run: Run, model: Path) -> None:
    status, out, _ = run("evaluate", model, "-", "-t", "state", stdin=TRUTH.encode())
    assert status == 0
    assert out.startswith("Balanced accuracy on 4 rows: 83.3 %\n")
    assert "\nAUC: 0.833\n" in out
    assert "         not ill  ill\nnot ill        1    0\nill            1    2\n" in out


def test_the_auc_is_undefined_for_rows_of_one_class(run: Run, model: Path) -> None:
    healthy = TRUTH.replace(",ill", ",not ill").encode()
    _, out, _ = run("evaluate", model, "-", "-t", "state", "--json", stdin=healthy)
    assert json.loads(out)["roc_auc"] is None
    assert "AUC: -\n" in run("evaluate", model, "-", "-t", "state", stdin=healthy)[1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TRUTH.replace("not ill", "fine"), "the target 'state' holds 'fine', but the classes"),
        (TRUTH.replace("not ill", "").replace("ill", "NA"), "has no value in any of 4 rows"),
        (TRUTH.splitlines()[0], "has a header but no rows"),
        (TRUTH.replace("state", "State"), "no column 'state'; did you mean 'State'?"),
    ],
)
def test_evaluate_refuses_a_target_that_it_cannot_use(
    run: Run, model: Path, table: str, message: str
) -> None:
    status, out, err = run("evaluate", model, "-", "-t", "state", stdin=table.encode())
    assert (status, out) == (2, "")
    assert message in err
