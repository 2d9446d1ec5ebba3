"""Tables in many forms: byte order marks, separators, quotes, encodings, kinds."""

import contextlib
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dln import Above, Among, Circuit, Column, DLNClassifier, Rule
from dln.cli.kinds import infer_kind, read_cells, reading_of
from dln.cli.layout import Layout, check_names
from dln.cli.missing import MISSING_WORDS, NUMBER_WORDS
from dln.cli.prepare import prepare
from dln.errors import DlnError, TableError

Run = Callable[..., tuple[int, str, str]]
TRAIN = ("-o", "m.json", "--layers", "4,2", "--networks", "1", "--epochs", "3", "--tau", "2")


def column_circuit(column: Column, cutoff: float = 0.5) -> Circuit:
    """Vote yes where the column is above the cutoff, or is its first category."""
    literal = Above(0, cutoff) if column.is_numeric else Among(0, (0,))
    return Circuit((column,), (literal,), (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes"))


def predictions(run: Run, circuit: Circuit, table: bytes, *options: str) -> list[str]:
    circuit.save("m.json")
    status, out, err = run("predict", "m.json", "-", *options, stdin=table)
    assert (status, err) == (0, "")
    return out.splitlines()[1:]


# -- layout -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        b"\xef\xbb\xbfx,name\n1,a\n0,b\n",
        b"x;name\n1;a,b,c\n0;d,e,f\n",
        b"x\tname\r\n1\ta\r\n0\tb\r\n",
        b"x|name\n1|a\n0|b",
        b'name,x\n"two\nlines, and ""quotes""",1\nb,0\n',
        b'"x","name"\n"1","a"\n"0","b"\n',
        b"x\n1\n0\n",
        b"\n\nx,name\n\n1,a\n\n0,b\n\n",
        "Größe,x\n1,1\n2,0\n".encode(),
    ],
)
def test_the_layout_is_detected(run: Run, table: bytes) -> None:
    circuit = column_circuit(Column("x", "number"))
    assert predictions(run, circuit, table) == ["yes", "no"]
    assert predictions(run, circuit, gzip.compress(table, mtime=0)) == ["yes", "no"]


def test_a_separator_and_an_encoding_can_be_given(run: Run) -> None:
    circuit = column_circuit(Column("Größe", "number"))
    table = "Größe:name\n1:é\n0:b\n"
    for encoding in ("latin-1", "utf-16"):
        options = ("--encoding", encoding, "--separator", ":")
        assert predictions(run, circuit, table.encode(encoding), *options) == ["yes", "no"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"", "standard input is empty; expected a header line and rows"),
        (b"\n\n", "is empty"),
        (b"x,a,x\n1,2,3\n", "more than one column named 'x'; rename them"),
        (b"1,5,1\n1,2,3\n", "rename them, or add --no-header if the first line is a row"),
        (b"x,a\n1,2\n1,2,3\n", "has 2 columns, but a row with 3 (row 2): '1,2,3'"),
        (b"x,caf\xe9\n1,2\n", "is not written in utf-8 (byte 0xe9 at 5)"),
        (b"x,a\n" + b"1,2\n" * 300_000 + b"1,caf\xe9\n", "for example --encoding latin-1"),
        ("x,a\n1,2\n".encode("utf-16"), "is written in UTF-16; add --encoding utf-16"),
        (b"\x00\x01\x02\x03", "is not text; expected CSV, TSV or Parquet"),
        (gzip.compress(b"x,a\n1,2\n" * 1000, mtime=0)[:-20], "is not a whole gzip file"),
        (b"PAR1 and nothing else", "cannot be read"),
        (b'x,a\n1,"' + 3_000_000 * b"z", "within a quoted cell that begins in line 2"),
        (
            b'x,a\n1,"' + 20_000_000 * b"z" + b'"\n',
            "a row of more than 16 MB, which begins in l",
        ),
        (b'x,a\n1,"b\nc"\n1,"b\n2,c\n3,d\n', "that begins in line 4; close that quote"),
        (b'x,a\n1,b\n"2,b\n3,c\n', "that begins in line 3; close that quote"),
        (b'\n\nx,"a\n1,b\n2,c\n', "that begins in line 3; close that quote"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_one_line(
    run: Run, table: bytes, message: str
) -> None:
    circuit = column_circuit(Column("x", "number"))
    circuit.save("m.json")
    status, _, err = run("predict", "m.json", "-", "--keep", "a", "-o", "out.csv", stdin=table)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert not Path("out.csv").exists()


def test_an_unclosed_quote_is_found_in_any_encoding(run: Run) -> None:
    column_circuit(Column("x", "number")).save("m.json")
    table = 'x;Größe\n1;é\n0;"ü\n1;é\n'.encode("utf-16")
    status, _, err = run("predict", "m.json", "-", "--encoding", "utf-16", stdin=table)
    assert status == 2
    assert "begins in line 3" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--encoding", "klingon"), "there is no text encoding 'klingon'"),
        (("--encoding", "rot13"), "there is no text encoding 'rot13'"),
        (("--encoding", "hex"), "there is no text encoding 'hex'"),
        (("--encoding", "a\0b"), "there is no text encoding"),
        (("--separator", "::"), "the separator is '::'; expected one ASCII character"),
        (("--separator", "§"), "expected one ASCII character"),
        (("--quote", ""), "the quote is ''; expected one ASCII character"),
        (("--quote", ",", "--separator", ","), "cannot be both the separator and the quote"),
    ],
)
def test_an_invalid_layout_option_is_refused(
    run: Run, options: tuple[str, ...], message: str
) -> None:
    column_circuit(Column("x", "number")).save("m.json")
    status, _, err = run("predict", "m.json", "-", *options, stdin=b"x\n1\n")
    assert status == 2
    assert message in err


def test_a_table_without_a_header_names_its_columns_by_position(run: Run) -> None:
    circuit = column_circuit(Column("x1", "number"))
    assert predictions(run, circuit, b"7,1\n7,0\n", "--no-header") == ["yes", "no"]
    alone = column_circuit(Column("x0", "number"))
    assert predictions(run, alone, b"\n1\n\n", "--no-header") == ["no", "yes", "no"]


def test_column_names_that_are_numbers_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2\n1,3\n2,4\n")
    prepared = prepare(str(path), Layout(), "2", kinds=[], ignore=[])
    assert "If the first line is a row, add --no-header." in prepared.notes[0]


def test_another_quote_character_can_be_given(run: Run) -> None:
    circuit = column_circuit(Column("x, y", "number"))
    table = b"'x, y','name'\n'1','it''s, or\n not'\n'0','b\"'\n"
    assert predictions(run, circuit, table, "--quote", "'") == ["yes", "no"]


def test_a_header_with_many_repeated_names_is_checked_in_one_pass() -> None:
    """The names count comparisons, so that comparing each with all others would fail."""

    class Name(str):
        n_compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Name.n_compared += 1
            return str.__eq__(self, other)

    names = [Name(f"c{place // 2}") for place in range(2_000)]
    with pytest.raises(TableError, match=r"column named 'c0', 'c1', .* and 988 more"):
        check_names(names, "t.csv")
    assert Name.n_compared < 10 * len(names)


def test_control_characters_of_a_table_do_not_reach_the_terminal(run: Run) -> None:
    table = "x\x1b[31m,\u202ey,c\n1,a\x9b,q\n2,b,q\n".encode()
    for target in ("z", "\u202ey"):
        _, out, err = run("train", "-", "--target", target, *TRAIN, stdin=table)
        assert not set("\x1b\x9b\u202e") & set(out + err)
        assert "x\\x1b[31m" in err


# -- kinds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", "+3", " 4 "], "integer"),
        (["1", "2.5"], "number"),
        (["1e3", "inf", "nan"], "number"),
        (["1", "99999999999999999999"], "integer"),
        (["1", *MISSING_WORDS, *NUMBER_WORDS, None], "integer"),
        ([None, "NA"], "number"),
        (["true", "FALSE", "NA"], "boolean"),
        (["yes", "no"], "category"),
        (["2024-02-29", "2024-12-31 23:59", "?"], "date"),
        (["2024-12-31T23:59:59.123456+01:00"], "date"),
        (["2024-02-30"], "category"),
        (["31.12.2024"], "category"),
        (["2024", "2025"], "integer"),
        (["01234", "8001"], "category"),
        (["0", "0.5", "-0"], "number"),
        (["1,234.5", "2"], "category"),
        (["3,5"], "category"),
        (["0x1F"], "category"),
        (["1_000"], "category"),
        (["a", "NA"], "category"),
    ],
)
def test_the_kind_fits_all_values(cells: list[str | None], kind: str) -> None:
    text = pa.chunked_array([cells], type=pa.string())
    assert infer_kind(text) == kind
    assert len(read_cells(text, reading_of(infer_kind(text)), "x")) == len(cells)


def test_moments_with_and_without_a_time_zone_are_not_mixed() -> None:
    text = pa.chunked_array([["2024-01-01", "2024-01-01T00:00:00Z"]])
    assert infer_kind(text) == "category"
    with pytest.raises(TableError, match="holds times with and without a time zone"):
        read_cells(text, reading_of("date"), "x")


def test_a_chunk_without_decimals_is_still_numbers(run: Run) -> None:
    """Each chunk holds a megabyte; the first has whole numbers only, the last a missing word."""
    circuit = column_circuit(Column("x", "integer"), cutoff=1.0)
    table = b"x,pad\n" + 20_000 * (b"2," + 80 * b"z" + b"\n") + 3 * b"1.5,z\n" + b"NA,z\n"
    assert predictions(run, circuit, table) == [*20_003 * ["yes"], "no"]


@pytest.mark.parametrize(
    ("column", "table", "expected"),
    [
        (Column("x", "boolean"), "x\ntrue\n0\nNA\n", ["yes", "no", "no"]),
        (Column("x", "date"), "x\n2024-01-01\n1960-01-01\n-\n", ["yes", "no", "no"]),
        (Column("x", "category", ("NA", "b")), "x,y\nNA,1\nb,1\n,1\nc,1\n", ["yes", *3 * ["no"]]),
        (Column("x", "category", (7, 8)), "x\n7\n8\n7.0\n", ["yes", "no", "yes"]),
        (Column("x", "category", (True, False)), "x\nTrue\nfalse\n", ["yes", "no"]),
    ],
)
def test_values_are_read_with_the_kind_of_the_training(
    run: Run, column: Column, table: str, expected: list[str]
) -> None:
    assert predictions(run, column_circuit(column), table.encode()) == expected


def test_text_and_parquet_give_the_predictions_of_the_library(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n_rows = 300
    number, day = rng.normal(size=n_rows), rng.integers(0, 1000, n_rows)
    frame = pa.table(
        {
            "number": pa.array(number, mask=rng.random(n_rows) < 0.1),
            "whole": pa.array(rng.integers(0, 9, n_rows), mask=rng.random(n_rows) < 0.1),
            "flag": pa.array(rng.random(n_rows) < 0.5, mask=rng.random(n_rows) < 0.1),
            "day": pa.array(np.datetime64("2020-01-01") + day),
            "text": pa.array(rng.choice(["a", "b", "ü"], n_rows)).dictionary_encode(),
        }
    )
    y = np.where((number > 0) ^ (day > 500), "up", "down")
    model = DLNClassifier(layers=(8, 6), n_networks=1, epochs=30, tau=2.0, random_state=0)
    circuit = model.fit(frame, y).circuit_
    circuit.save("m.json")
    pa.parquet.write_table(frame, "t.parquet")
    with (tmp_path / "t.csv").open("w") as file:
        file.write(",".join(frame.column_names) + "\n")
        for row in frame.to_pylist():
            file.write(",".join("" if cell is None else str(cell) for cell in row.values()) + "\n")
    expected = circuit.predict(frame).tolist()
    for name in ("t.parquet", "t.csv"):
        assert run("predict", "m.json", name)[1].splitlines()[1:] == expected
    packed = gzip.compress((tmp_path / "t.parquet").read_bytes())
    assert run("predict", "m.json", "-", stdin=packed)[1].splitlines()[1:] == expected


def test_a_model_without_rules_predicts(run: Run) -> None:
    empty = Circuit((Column("x", "number"),), (), (), (), (0, 1), ("no", "yes"))
    assert predictions(run, empty, b"x,y\n1,2\n3,4\n") == ["yes", "yes"]


# -- training ---------------------------------------------------------------------------------

PEOPLE = "age;joined;score;zip;the target\n" + "".join(
    f"{age};2024-01-{1 + age % 28:02d};{age},5;0{age};{'is old' if age > 50 else 'young'}\n"
    for age in range(20, 80)
)


def test_train_prints_the_inferred_kinds(run: Run) -> None:
    err = run("train", "-", "--target", "the target", *TRAIN, stdin=PEOPLE.encode())[2]
    assert "target 'the target': is old (29), young (31)\n" in err
    assert "integer: age\ndate: joined\ncategory: score, zip\n" in err
    assert "Column 'score' is read as text. All values are numbers with separators: write" in err
    assert "Column 'zip' is unique in every row. If it is an identifier, add --ignore zip." in err
    assert Circuit.load("m.json").classes == ("is old", "young")


def test_test_rows_are_stratified_and_classes_keep_a_training_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + 40 * "1,a\n" + 8 * "2,b\n" + "3,c\n")
    prepared = prepare(str(path), Layout(), "y", kinds=[], ignore=[])
    rows, test_rows = prepared.split(0.25, seed=0)
    assert np.unique(prepared.y[test_rows], return_counts=True)[1].tolist() == [10, 2]
    assert set(prepared.y[rows]) == {"a", "b", "c"}
    assert sorted([*rows, *test_rows]) == list(range(49))
    assert prepared.split(0.25, seed=1)[1].tolist() != test_rows.tolist()
    assert len(prepared.split(0.0, seed=0)[1]) == 0


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("0", "1"), (0, 1)),
        (("0.0", "1.0"), ("0.0", "1.0")),
        (("True", "False"), (False, True)),
        (("2024-01-01", "2025-01-01"), ("2024-01-01", "2025-01-01")),
        (("<b>", "no, no"), ("<b>", "no, no")),
    ],
)
def test_classes_are_whole_numbers_booleans_or_text(
    run: Run, labels: tuple[str, str], classes: tuple[object, ...]
) -> None:
    table = "x,y\n" + "".join(f'{place},"{labels[place > 20]}"\n' for place in range(40))
    assert run("train", "-", "--target", "y", *TRAIN, stdin=table.encode())[0] == 0
    assert Circuit.load("m.json").classes == classes
    status, out, _ = run("evaluate", "m.json", "-", "--all-rows", stdin=table.encode())
    assert status == 0
    assert "on 40 rows" in out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("x,y\n", "standard input has a header but no rows"),
        ("x,y\n1,a\n2,a\n3,a\n4,a\n", "the target has only one class ('a')"),
        ("y\na\nb\n", "has no column besides the target 'y'"),
        ("x,y\n1,a\n2,b\n", "--test 0.25 chooses none of the 2 rows"),
        ("x,y\n1,\n2,NA\n", "the target 'y' has no value in any of 2 rows"),
        ("x,z\n1,a\n", "there is no column 'y'; the columns are: x, z"),
    ],
)
def test_a_table_that_cannot_be_trained_on_is_refused(run: Run, table: str, message: str) -> None:
    status, _, err = run("train", "-", "--target", "y", *TRAIN, stdin=table.encode())
    assert status == 2
    assert message in err.splitlines()[-1]
    assert not Path("m.json").exists()


def test_numbers_stored_as_text_in_parquet_stay_text(tmp_path: Path) -> None:
    frame = pa.table({"x": ["1", "2"], "n": [1, None], "y": [True, False]})
    pa.parquet.write_table(frame, tmp_path / "t.parquet")
    prepared = prepare(str(tmp_path / "t.parquet"), Layout(), "y", kinds=[], ignore=[])
    assert prepared.kinds == {"x": "category", "n": "integer"}
    told = prepare(str(tmp_path / "t.parquet"), Layout(), "y", kinds=["x=number"], ignore=[])
    assert told.kinds["x"] == "number"


def test_a_kind_that_does_not_fit_the_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\nNA,a\nlarge,b\n2,b\nhuge,b\n")
    message = r"column 'x' holds 'large' \(row 3\), expected numbers such as"
    with pytest.raises(TableError, match=message):
        prepare(str(path), Layout(), "y", kinds=["x=number"], ignore=[])


def test_every_truncated_file_is_read_or_refused_without_a_crash(tmp_path: Path) -> None:
    whole = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), whole)
    for packed in (whole.read_bytes(), gzip.compress(PEOPLE.encode(), mtime=0), PEOPLE.encode()):
        for end in range(0, len(packed), max(1, len(packed) // 40)):
            (tmp_path / "part").write_bytes(packed[:end])
            with contextlib.suppress(DlnError):
                prepare(str(tmp_path / "part"), Layout(), "y", kinds=[], ignore=[])
