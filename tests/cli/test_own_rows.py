"""A model recognises its training rows and test rows in any table that holds them."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dln import Above, Among, Circuit, Column, Rule
from dln.cli.holdout import hold_out
from dln.cli.layout import Layout
from dln.cli.own_rows import choose_rows
from dln.cli.prepare import prepare
from dln.cli.row_codes import sketch_rows
from dln.core.origin import Origin
from dln.core.row_sketch import (
    MAX_CHARACTERS,
    RowMatcher,
    RowSketch,
    number_codes,
    row_hashes,
    text_codes,
)
from dln.errors import CircuitFileError
from tests.conftest import Run
from tests.support.commands import training_table

QUICK = ("--layers", "4,2", "--networks", "1", "--epochs", "2", "--tau", "2", "-q")
FEATURES = ("age", "dose", "smoker", "city", "seen")
HEADER = (*FEATURES, "class")


# -- the law ----------------------------------------------------------------------------------


def rows_of_tables() -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Draw tables with every kind of column, missing values and repeated rows."""
    row = st.tuples(
        st.none() | st.integers(-3, 3),
        st.none() | st.sampled_from([0.5, -0.0, 0.0, 0.1, 1e-9, 12.0]),
        st.none() | st.booleans(),
        st.none() | st.sampled_from(["Bern", "Basel", "été", "-"]),
        st.none() | st.sampled_from(["2024-12-31", "1969-07-20"]),
        st.sampled_from(["ill", "well"]),
    )
    return st.lists(row, min_size=6, max_size=40).filter(
        lambda rows: len({r[-1] for r in rows}) > 1
    )


def trained(rows: list[tuple[Any, ...]]) -> tuple[Circuit, Any]:
    """Return a circuit with the origin that `dln train` would give it."""
    path = Path("law.csv")
    path.write_text(text(rows), "utf-8")
    kinds = ["age=integer", "dose=number", "smoker=boolean", "city=category", "seen=date"]
    prepared = prepare(str(path), Layout(), "class", kinds=kinds, ignore=[])
    circuit = Circuit(
        columns=(
            Column("age", "integer"),
            Column("dose", "number"),
            Column("smoker", "boolean"),
            Column("city", "category", ("Basel", "Bern")),
            Column("seen", "date"),
        ),
        literals=(Above(0, 1.0), Among(3, (0,))),
        nodes=(),
        rules=(Rule(0, (0, 2)), Rule(1, (1, 0))),
        base_votes=(0, 1),
        classes=("ill", "well"),
    )
    numbers = prepared.targets(circuit)
    training, test = hold_out(numbers, 0.25, 0)
    sketch = sketch_rows(prepared.X, circuit, numbers, training, test, 0)
    origin = Origin("law.csv", "", "class", len(training), 0.25, 0, "0.1.0", rows=sketch)
    return replace(circuit, origin=origin), test


def text(rows: list[tuple[Any, ...]], separator: str = ",", end: str = "\n") -> str:
    def spelled(value: Any) -> str:
        return "" if value is None else str(value)

    lines = [separator.join(map(spelled, row)) for row in (HEADER, *rows)]
    return end.join([*lines, ""])


def reformatted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Write the same values in another way."""

    def respelled(value: Any) -> Any:
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, (int, float)):
            return f"{value:+.12e}" if value else "-0.00"
        return f"{value}T00:00:00" if str(value)[4:5] == "-" else value

    return [tuple(map(respelled, row)) for row in rows]


def counted(path: str, circuit: Circuit, **options: Any) -> tuple[list[Any], str]:
    """Return the votes and labels of the rows that are used, in no order, and the note."""
    chosen = choose_rows(path, Layout(), circuit, "class", purpose="Used:", **options)
    votes = circuit.votes(chosen.X).tolist()
    return sorted(zip(votes, chosen.y.tolist(), strict=True)), chosen.choice.note


@settings(max_examples=20)
@given(rows=rows_of_tables(), order=st.randoms(use_true_random=False))
def test_any_form_of_the_table_gives_the_same_split(
    rows: list[tuple[Any, ...]], order: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("law"))
        circuit, test = trained(rows)
        shuffled = order.sample(rows, len(rows))
        Path("crlf.csv").write_bytes(text(rows, end="\r\n").encode())
        Path("shuffled.csv").write_text(text(shuffled), "utf-8")
        Path("other.tsv").write_text(text(reformatted(shuffled), "\t"), "utf-8")
        columns = dict(zip(HEADER, zip(*rows, strict=True), strict=True))
        days = [day and datetime.date.fromisoformat(day) for day in columns["seen"]]
        types = (pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.string())
        schema = dict(zip(HEADER, types, strict=True))
        names = order.sample(HEADER, len(HEADER))
        table = pa.table({n: pa.array((columns | {"seen": days})[n], schema[n]) for n in names})
        pa.parquet.write_table(table, "t.parquet")
        place = table.schema.get_field_index("dose")
        short = table.column("dose").cast(pa.float32(), safe=False)
        pa.parquet.write_table(table.set_column(place, "dose", short), "32bits.parquet")

        for part in ("training", "test"):
            used, note = counted("law.csv", circuit, part=part)
            n_left = len(test) if part == "training" else len(rows) - len(test)
            assert len(used) == n_left
            assert f"the other {n_left} row" in note
            for path in ("crlf.csv", "shuffled.csv", "other.tsv", "t.parquet", "32bits.parquet"):
                assert counted(path, circuit, part=part) == (used, note), path


def test_all_commands_leave_out_the_training_rows_of_a_changed_file(
    run: Run, tmp_path: Path
) -> None:
    data = training_table(tmp_path)
    assert run("train", data, "-t", "state", "-o", "m.json", "--json", *QUICK)[0] == 0
    crlf = tmp_path / "crlf.csv"
    crlf.write_bytes(data.read_bytes().replace(b"\n", b"\r\n"))
    left_out = "300 of the 400 rows were used to train this model; they are left out. "
    for table in (data, crlf):
        status, out, err = run("evaluate", "m.json", table)
        assert status == 0
        assert "on 100 rows: " in out
        assert err == left_out + "Accuracy is measured on the other 100 rows.\n"
        found = json.loads(run("evaluate", "m.json", table, "--json", "--quiet")[1])
        assert (found["rows"], found["rows_given"], found["rows_left_out"]) == (100, 400, 300)
        assert found["note"] == err.strip()
        _, out, err = run("rules", "m.json", "--data", table, "--format", "json")
        assert err == left_out + "Figures are counted on the other 100 rows.\n"
        assert (json.loads(out)["n_rows"], json.loads(out)["rows_left_out"]) == (100, 300)
        _, _, err = run("report", "m.json", "--data", table, "-o", "r.html")
        assert err.startswith(left_out)
        _, out, err = run("prune", "m.json", table, "-o", "p.json", "--json")
        assert err == (
            "100 of the 400 rows are test rows of this model; they are left out. "
            "Pruning uses the other 300 rows.\n"
        )
        assert (json.loads(out)["rows"], json.loads(out)["rows_left_out"]) == (300, 100)
        _, out, err = run("evaluate", "m.json", table, "--all-rows", "--json")
        assert json.loads(out)["rows"] == 400
        included = "of the 400 rows were used to train this model; they are included.\n"
        assert err == f"--all-rows: 300 {included}"
        options = ("--all-rows", "--json", "-q")
        assert json.loads(run("prune", "m.json", table, "-o", "p.json", *options)[1])["rows"] == 400


def test_evaluate_prints_the_same_figures_as_train(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    tested = json.loads(run("train", data, "-t", "state", "-o", "m.json", "--json", *QUICK)[1])
    piped = data.read_bytes()
    run("train", "-", "-t", "state", "-o", "piped.json", *QUICK, stdin=piped)
    for model in ("m.json", "piped.json"):
        measured = json.loads(run("evaluate", model, data, "--json", "-q")[1])
        assert {name: measured[name] for name in tested["test"]} == tested["test"]
        from_pipe = json.loads(run("evaluate", model, "-", "--json", "-q", stdin=piped)[1])
        assert from_pipe == measured


# -- other tables -----------------------------------------------------------------------------


def test_new_rows_are_used_and_training_rows_left_out(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    header, *lines = data.read_text().splitlines()
    run("train", data, "-t", "state", "-o", "m.json", "--test", "0", *QUICK)
    Path("new.csv").write_text("\n".join([header, '50,"Bern",2.5,"well"', '51,"Bern",2.5,"well"']))
    assert run("evaluate", "m.json", "new.csv")[2] == ""
    Path("mixed.csv").write_text(Path("new.csv").read_text() + "\n" + lines[7])
    note = "1 of the 3 rows was used to train this model; it is left out."
    assert run("evaluate", "m.json", "mixed.csv")[2].startswith(note)
    note = "All 400 rows were used to train this model. Expect lower accuracy on new rows.\n"
    status, out, err = run("evaluate", "m.json", data)
    assert (status, err) == (0, note)
    assert "on 400 rows" in out


def test_pruning_on_test_rows_alone_is_refused(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    run("train", data, "-t", "state", "-o", "m.json", "--test", "0.5", *QUICK)
    header, *lines = data.read_text().splitlines()
    prepared = prepare(str(data), Layout(), "state", kinds=[], ignore=[])
    Path("test.csv").write_text("\n".join([header, *(lines[i] for i in prepared.split(0.5, 0)[1])]))
    status, _, err = run("prune", "m.json", "test.csv", "-o", "p.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "are test rows of this model; give other rows, or add --all-rows" in err
    assert not Path("p.json").exists()
    assert run("evaluate", "m.json", "test.csv")[2] == ""


def test_a_table_without_some_training_columns_cannot_be_checked(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    run("train", data, "-t", "state", "-o", "m.json", *QUICK)
    circuit = Circuit.load("m.json")
    replace(circuit, literals=(Above(0, 50.0),), nodes=(), rules=(Rule(0, (1, 0)),)).save("m.json")
    pa.csv.write_csv(pa.csv.read_csv(data).drop_columns(["dose"]), "few.csv")
    _, out, err = run("evaluate", "m.json", "few.csv")
    assert "on 400 rows" in out
    expected = (
        "The table lacks 'dose' of the training table, so training rows cannot be recognised.\n"
    )
    assert err == expected


@pytest.mark.parametrize("value", ["many", "1e", ""])
def test_an_invalid_value_in_an_unread_column_hides_only_its_row(
    run: Run, tmp_path: Path, value: str
) -> None:
    data = training_table(tmp_path)
    run("train", data, "-t", "state", "-o", "m.json", "--test", "0", *QUICK)
    circuit = Circuit.load("m.json")
    replace(circuit, literals=(Above(0, 50.0),), nodes=(), rules=(Rule(0, (1, 0)),)).save("m.json")
    lines = data.read_text().splitlines()
    age, city, _, state = lines[5].split(",")
    Path("odd.csv").write_text("\n".join([*lines[:5], f"{age},{city},{value},{state}", *lines[6:]]))
    note = "399 of the 400 rows were used to train this model; they are left out."
    assert run("evaluate", "m.json", "odd.csv")[2].startswith(note)


def test_rows_that_equal_training_rows_by_chance_are_kept(run: Run, tmp_path: Path) -> None:
    """With few distinct rows, every row of a new table equals some training row."""
    rng = np.random.default_rng(0)

    def table(name: str, n_rows: int) -> None:
        rows = rng.integers(0, 2, (n_rows, 3))
        lines = [f"{a},{b},{'ill' if (a and b) or c else 'well'}" for a, b, c in rows]
        Path(name).write_text("\n".join(["a,b,state", *lines]) + "\n")

    table("old.csv", 200)
    table("new.csv", 300)
    _, out, err = run("train", "old.csv", "-t", "state", "-o", "m.json", "--json", *QUICK[:-1])
    assert "50 test rows are identical to training rows." in err
    assert any("50 test rows are identical" in note for note in json.loads(out)["notes"])
    _, out, err = run("evaluate", "m.json", "new.csv")
    assert "on 300 rows" in out
    assert err == (
        "300 of the 300 rows have the same values as training rows of this model. "
        "Rows repeat often in this data, so they are kept.\n"
    )
    Path("same.csv").write_bytes(Path("old.csv").read_bytes().replace(b"\n", b"\r\n"))
    assert "on 50 rows" in run("evaluate", "m.json", "same.csv")[1]


def test_no_rows_leaves_the_hashes_out(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    run("train", data, "-t", "state", "-o", "m.json", "--no-rows", *QUICK)
    assert Circuit.load("m.json").origin.rows is None  # type: ignore[union-attr]
    assert run("evaluate", "m.json", data)[2].startswith("300 of the 400 rows were used to train")
    Path("crlf.csv").write_bytes(data.read_bytes().replace(b"\n", b"\r\n"))
    _, out, err = run("evaluate", "m.json", "crlf.csv")
    assert "on 400 rows" in out
    assert err.startswith("The model file holds no row hashes, so its training rows are recognised")


def test_no_ranges_leaves_the_ranges_out(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    run("train", data, "-t", "state", "-o", "with.json", *QUICK)
    run("train", data, "-t", "state", "-o", "without.json", "--no-ranges", *QUICK)
    with_ranges, without = Circuit.load("with.json"), Circuit.load("without.json")
    read = with_ranges.logic.used_columns
    assert read
    assert [n for n, column in enumerate(with_ranges.columns) if column.range is not None] == read
    assert all(column.range is None for column in without.columns)
    assert with_ranges == without


# -- sketch -----------------------------------------------------------------------------------


def random_hashes(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 1 << 48, n, dtype=np.uint64)


@pytest.mark.parametrize("n_rows", [0, 100, 4_000, 100_000])
def test_a_sketch_is_small_and_saved_exactly(n_rows: int) -> None:
    hashes = random_hashes(n_rows)
    sketch = RowSketch.of(hashes[: 3 * n_rows // 4], hashes[3 * n_rows // 4 :], "ab")
    saved = json.dumps(sketch.to_dict())
    assert len(saved) < 1.2 * MAX_CHARACTERS
    assert RowSketch.from_dict(json.loads(saved)) == sketch
    assert sketch.is_complete == (n_rows < 5_000)


def test_a_sampled_sketch_checks_some_rows_without_errors() -> None:
    hashes = random_hashes(100_000)
    sketch = RowSketch.of(hashes[:75_000], hashes[75_000:], "ab")
    matcher = RowMatcher(sketch, "training")
    checked, found = matcher.find(hashes)
    assert 4_000 < checked.sum() < 6_000
    assert np.array_equal(found, checked & (np.arange(100_000) < 75_000))
    assert not RowMatcher(sketch, "training").find(random_hashes(100_000, 1))[1].any()


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 60), st.integers(1, 20))
def test_each_row_is_found_at_most_as_often_as_it_was_used(
    rows: list[int], n_training: int, chunk: int
) -> None:
    hashes = np.array(rows, dtype=np.uint64)
    sketch = RowSketch.of(hashes[:n_training], hashes[n_training:], "ab")
    for part, own in (("training", rows[:n_training]), ("test", rows[n_training:])):
        matcher = RowMatcher(sketch, part)  # type: ignore[arg-type]
        found = [matcher.find(hashes[i : i + chunk])[1] for i in range(0, len(rows), chunk)]
        kept = hashes[np.concatenate([np.zeros(0, dtype=bool), *found])]
        assert sorted(kept.tolist()) == sorted(own)
        assert not matcher.is_chance


def test_rows_of_a_large_table_are_found_by_a_sample_or_in_the_unchanged_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = training_table(tmp_path)
    monkeypatch.setattr("dln.core.row_sketch.MAX_CHARACTERS", 800)
    run("train", data, "-t", "state", "-o", "m.json", *QUICK)
    assert run("evaluate", "m.json", data)[2].startswith("300 of the 400 rows were used to train")
    Path("crlf.csv").write_bytes(data.read_bytes().replace(b"\n", b"\r\n"))
    _, out, err = run("evaluate", "m.json", "crlf.csv", "--json")
    assert err.startswith("The model file holds a sample of row hashes, so 100 of the 400 rows")
    found = json.loads(out)
    assert found["rows"] + found["rows_left_out"] == 400
    assert 10 < found["rows"] < 50
    chosen = choose_rows("crlf.csv", Layout(), Circuit.load("m.json"), "state", purpose="")
    prepared = prepare(str(data), Layout(), "state", kinds=[], ignore=[])
    assert set(chosen.numbers) <= set(prepared.split(0.25, 0)[1])


def test_the_same_table_and_seed_give_the_same_file(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    for name in ("a.json", "b.json"):
        run("train", data, "-t", "state", "-o", name, *QUICK)
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": 1}, "key of the rows is 1"),
        ({"limit": -1}, "limit of the rows is -1"),
        ({"limit": 2**48 + 1}, "limit of the rows"),
        ({"limit": 3}, "below the limit"),
        ({"training": "?"}, "training of the rows is not base64"),
        ({"training": "AAAA"}, "base64 of 6 bytes a row"),
        ({"test": "AAAAAAAJAAAAAAAD"}, "ascending"),
        ({"training_repeats": [[7, 2]]}, "training_repeats of the rows holds"),
        ({"training_repeats": [[0, 1]]}, "training_repeats of the rows holds"),
        ({"test_repeats": None}, "test_repeats of the rows is None, expected a list"),
        ({"more": 1}, "rows of the origin must have key, limit"),
    ],
)
def test_a_damaged_sketch_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = np.array([5, 3, 5, 9], dtype=np.uint64)
    sketch = RowSketch.of(rows[:3], rows[3:], "ab")
    origin = Origin("t.csv", "", "y", 3, 0.25, 0, "0.1.0", rows=sketch)
    path = tmp_path / "m.json"
    replace(Circuit((), (), (), (), (1, 0), ("a", "b")), origin=origin).save(path)
    assert Circuit.load(path).origin == origin
    document = json.loads(path.read_text())
    document["origin"]["rows"] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(CircuitFileError, match=message):
        Circuit.load(path)


# -- hashes of another version ------------------------------------------------------------------


def test_the_unchanged_file_is_recognised_whatever_the_hashes_are(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    assert run("train", data, "-t", "state", "-o", "m.json", *QUICK)[0] == 0
    circuit = Circuit.load("m.json")
    assert circuit.origin is not None
    assert circuit.origin.rows is not None
    other = replace(circuit.origin.rows, key=16 * "0")  # other hashes
    replace(circuit, origin=replace(circuit.origin, rows=other)).save("m.json")
    found = json.loads(run("evaluate", "m.json", data, "--json")[1])
    assert (found["rows"], found["rows_left_out"]) == (100, 300)


def test_hashes_stay_the_same_in_every_version() -> None:
    """Otherwise models of older versions would not recognise their rows in a shuffled table."""
    numbers = number_codes(np.array([0.0, 0.1, -2.5, 2.0**53 + 2, np.inf, np.nan]))
    texts = text_codes(["Bern", "", None, "\u00e9t\u00e9", "1", "-"])
    assert row_hashes([numbers, texts], "0123456789abcdef").tolist() == [
        120034535838887,
        146291231384403,
        221214345681407,
        231776872072415,
        146054841144899,
        243412768739882,
    ]
