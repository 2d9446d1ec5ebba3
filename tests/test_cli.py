"""Every verb of the command, from the command line to its output and exit status."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dln
from dln import Above, Among, Circuit, Column, Node, Rule
from dln.cli import main
from dln.cli.layout import Layout
from dln.cli.prepare import prepare
from dln.gates import GATE_BY_NAME

COMMAND = [sys.executable, "-m", "dln.cli"]
LONG = 60.0  # a stuck child is a failure, a slow machine is not
QUICK = ("--layers", "6,4", "--networks", "1", "--epochs", "20", "--tau", "2")

Run = Callable[..., tuple[int, str, str]]


def circuit(cutoff: float = 54.0) -> Circuit:
    """Ill is who is older than the cutoff and smokes, or lives in Bern."""
    return Circuit(
        columns=(
            Column("age", "integer"),
            Column("smoker", "boolean"),
            Column("city", "category", ("Bern", "Basel")),
        ),
        literals=(Above(0, cutoff), Above(1, 0.5), Among(2, (0,))),
        nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
        rules=(Rule(3, (0, 2)), Rule(2, (0, 2))),
        base_votes=(1, 0),
        classes=("not ill", "ill"),
        temperature=2.0,
    )


ROWS = "id,age,smoker,city\n1,60,true,Basel\n2,60,false,Basel\n3,,true,Bern\n4,20,True,\n"
ANSWERS = ["ill", "not ill", "ill", "not ill"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    circuit().save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def training_table(folder: Path, n_rows: int = 400) -> Path:
    rng = np.random.default_rng(0)
    age, city = rng.integers(18, 90, n_rows), rng.choice(["Bern", "Basel"], n_rows)
    state = np.where((age > 54) | (city == "Bern"), "very ill", "well")
    table = pa.table({"age": age, "city": city, "dose": rng.random(n_rows), "state": state})
    pa.csv.write_csv(table, folder / "train.csv")
    return folder / "train.csv"


# -- train ------------------------------------------------------------------------------------


def test_train_tests_what_it_saves(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    status, out, talk = run("train", data, "--target", "state", "-o", "m.json", *QUICK)
    assert status == 0
    assert out.startswith("Balanced accuracy on 100 test rows: ")
    assert "integer: age\n" in talk
    assert "category: city\n" in talk
    assert "training on 300 rows, holding out 100 to test on" in talk
    assert "very ill" in str(Circuit.load(tmp_path / "m.json"))


def test_train_gives_the_same_model_for_the_same_seed(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    for name in ("a.json", "b.json"):
        assert run("train", data, "-t", "state", "-o", name, "--seed", 3, *QUICK)[0] == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_train_reports_to_programs(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    status, out, talk = run("train", data, "-t", "state", "-o", "m.json", "--json", "-q", *QUICK)
    report = json.loads(out)
    assert (status, talk) == (0, "")
    assert report["columns"] == {"age": "integer", "city": "category", "dose": "number"}
    assert report["test"]["balanced_accuracy"] > 0.7
    assert report["training_rows"] == 300


def test_train_without_a_test_uses_all_rows(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    status, out, talk = run("train", data, "-t", "state", "-o", "-", "--test", 0, *QUICK)
    assert status == 0
    assert "training on 400 rows, all of them: nothing is tested" in talk
    assert json.loads(out)["format"] == "dln-circuit"  # the report went aside


def test_train_takes_the_users_word_for_a_kind(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    wishes = ("--kind", "age=category", "--ignore", "dose", "--json")
    _, out, _ = run("train", data, "-t", "state", "-o", "m.json", *wishes, *QUICK)
    assert json.loads(out)["columns"] == {"age": "category", "city": "category"}


@pytest.mark.parametrize(
    "options",
    [
        ("--simplify", "none"),
        ("--simplify", "normal"),
        ("--class-weight", "none"),
        ("--cutoffs", "2"),
        ("--jobs", "1"),
    ],
)
def test_train_hands_its_options_to_the_estimator(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    data = training_table(tmp_path)
    assert run("train", data, "-t", "state", "-o", "m.json", *QUICK, *options)[0] == 0
    names = {"class-weight": "class_weight", "cutoffs": "n_cutoffs", "jobs": "n_jobs"}
    chosen = {
        names.get(option.removeprefix("--"), option.removeprefix("--")): {"none": None}.get(
            value, int(value) if value.isdigit() else value
        )
        for option, value in zip(options[::2], options[1::2], strict=True)
    }
    prepared = prepare(str(data), Layout(), "state", kinds=[], ignore=[])
    rows = prepared.split(0.25, seed=0)[0]
    settings = {"layers": (6, 4), "n_networks": 1, "epochs": 20, "tau": 2.0, "random_state": 0}
    expected = dln.DLNClassifier(**settings, **chosen).fit(prepared.X.take(rows), prepared.y[rows])
    assert Circuit.load(tmp_path / "m.json") == expected.circuit_


def test_train_hands_engine_and_device_to_the_estimator(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}

    def record(**options: object) -> None:
        seen.update(options)
        raise dln.OptionError("seen")

    monkeypatch.setattr("dln.cli.train.DLNClassifier", record)
    options = ("--engine", "torch", "--device", "cuda:1")
    status, _, talk = run("train", "t.csv", "-t", "y", "-o", "m.json", *options)
    assert (status, talk) == (2, "dln: seen\n")
    assert (seen["engine"], seen["device"]) == ("torch", "cuda:1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "stat"), "no column 'stat'; did you mean 'state'? The columns are: age,"),
        (("--target", "state", "--layers", "8,x"), "--layers is '8,x', expected gates by layer"),
        (("--target", "state", "--layers", "8,0"), "layers holds a size that is 0"),
        (("--target", "state", "--networks", "few"), "--networks is 'few', expected a number"),
        (("--target", "state", "--kind", "age=real"), "expected COLUMN=KIND"),
        (("--target", "state", "--ignore", "Age"), "did you mean 'age'?"),
        (("--target", "state", "--kind", "state=date"), "--kind names 'state', which is not"),
        (("--target", "state", "--test", "2"), "'--test'"),
        (("--target", "state", "--engine", "gpu"), "'--engine'"),
        (("--target", "dose"), "the target 'dose' has 400 different values in 400 rows"),
        ((), "Missing option '--target'"),
    ],
)
def test_a_wrong_option_of_train_is_one_line(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, out, talk = run("train", training_table(tmp_path), "-o", "m.json", *options)
    assert (status, out) == (2, "")
    assert message in talk
    assert talk.splitlines()[-1].startswith("dln: ")
    assert not (tmp_path / "m.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a terminal and SIGINT")
def test_ctrl_c_keeps_what_was_learned_and_shows_progress_before(tmp_path: Path) -> None:
    import pty

    data = training_table(tmp_path)
    options = ("--layers", "6,4", "--networks", "1", "--tau", "2", "--epochs", "10000000")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "train", str(data), "-t", "state", "-o", str(tmp_path / "m.json"), *options],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    try:
        os.close(theirs)
        talk = b""
        while b"epoch " not in talk:  # ends with an error where the child ends before
            talk += os.read(ours, 1 << 16)
        child.send_signal(signal.SIGINT)
        while b"saved" not in talk:
            talk += os.read(ours, 1 << 16)
        out, _ = child.communicate(timeout=LONG)
    finally:
        child.kill()
        os.close(ours)
    assert child.returncode == 0
    assert b"kept what was learned so far" in talk
    assert "Balanced accuracy on 100 test rows" in out
    assert Circuit.load(tmp_path / "m.json").classes == ("very ill", "well")


# -- predict ----------------------------------------------------------------------------------


def test_predict_gives_a_class_a_row(run: Run, model: Path, rows: Path) -> None:
    status, out, talk = run("predict", model, rows)
    assert (status, talk) == (0, "")
    assert out.splitlines() == ["prediction", *ANSWERS]


def test_predict_adds_probabilities_votes_and_columns(run: Run, model: Path, rows: Path) -> None:
    _, out, _ = run("predict", model, rows, "--proba", "--votes", "--keep", "id", "--keep", "age")
    lines = [line.split(",") for line in out.splitlines()]
    shares = ["probability_not ill", "probability_ill"]
    assert lines[0] == ["id", "age", "prediction", *shares, "votes_not ill", "votes_ill"]
    assert lines[3][:3] == ["3", "", "ill"]
    assert lines[3][5:] == ["1", "2"]
    assert float(lines[3][4]) == pytest.approx(1 / (1 + np.exp(-0.5)))


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
def test_predict_writes_what_the_name_says(
    run: Run, model: Path, rows: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text("an older file, which is replaced")
    assert run("predict", model, rows, "-o", name, "--keep", "id")[0] == 0
    if name.endswith(".parquet"):
        assert pa.parquet.read_table(path).column("prediction").to_pylist() == ANSWERS
    else:
        packed = path.read_bytes()
        text = (gzip.decompress(packed) if name.endswith(".gz") else packed).decode()
        separator = "\t" if name.endswith(".tsv") else ","
        assert text.splitlines()[1] == separator.join(("1", "ill"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.json", name, "rows.csv"]


def test_predict_reads_standard_input_and_gzip(run: Run, model: Path) -> None:
    for stdin in (ROWS.encode(), gzip.compress(ROWS.encode())):
        status, out, _ = run("predict", model, "-", stdin=stdin)
        assert (status, out.splitlines()[1:]) == (0, ANSWERS)


def test_predict_of_a_header_is_a_header(run: Run, model: Path) -> None:
    assert run("predict", model, "-", stdin=b"age,smoker,city\n")[:2] == (0, "prediction\n")


def test_predict_writes_parquet_without_rows_and_without_cells(
    run: Run, model: Path, tmp_path: Path
) -> None:
    header = b"age,smoker,city,note\n"
    assert run("predict", model, "-", "-o", "out.parquet", stdin=header)[0] == 0
    assert pa.parquet.read_table(tmp_path / "out.parquet").column_names == ["prediction"]
    # The first chunk of a megabyte has no note at all, the second has.
    table = header + 80_000 * b"60,true,Basel,\n" + b"60,true,Basel,hello\n"
    assert run("predict", model, "-", "-o", "out.parquet", "--keep", "note", stdin=table)[0] == 0
    notes = pa.parquet.read_table(tmp_path / "out.parquet").column("note")
    assert (len(notes), notes[-1].as_py()) == (80_001, "hello")


def test_predict_leaves_no_file_when_it_fails(run: Run, model: Path, tmp_path: Path) -> None:
    wrong = b"age,smoker,city\n5,true,Bern\nold,true,Bern\n"
    status, _, talk = run("predict", model, "-", "-o", "out.csv", stdin=wrong)
    assert status == 2
    assert talk == (
        "dln: column 'age' holds 'old', expected numbers such as 1234.5; correct the cell, or "
        "leave it empty where there is no value\n"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_predict_names_the_columns_that_are_missing(run: Run, model: Path) -> None:
    status, _, talk = run("predict", model, "-", stdin=b"age,town\n5,Bern\n")
    assert status == 2
    assert "the model reads 'smoker', 'city', but standard input has only age, town" in talk


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
    # All libraries were loaded for the small table; the table is 50 MB, its cells much more.
    assert grown * (1 if sys.platform == "darwin" else 1024) < 100e6, grown
    assert answers.read_bytes().count(b",ill\n") == 500_000


def test_a_closed_pipe_is_no_error(model: Path, tmp_path: Path) -> None:
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
    with child.stderr as talk:
        assert talk.read() == b""
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
    assert found["confusion"] == {"classes": ["not ill", "ill"], "counts": [[1, 0], [1, 2]]}
    ill = found["classes"][1]
    assert ill == {
        "class": "ill",
        "precision": 1.0,
        "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(0.8),
        "support": 3,
    }
    # Votes of 1 against 2, or of 1 against 0, at temperature 2: all are as sure as each other.
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


def test_evaluate_prints_tables(run: Run, model: Path) -> None:
    status, out, _ = run("evaluate", model, "-", "-t", "state", stdin=TRUTH.encode())
    assert status == 0
    assert out.startswith("Balanced accuracy on 4 rows: 83.3 %\n")
    assert "         not ill  ill\nnot ill        1    0\nill            1    2\n" in out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TRUTH.replace("not ill", "fine"), "the target 'state' holds 'fine', but the classes"),
        (TRUTH.replace("not ill", ""), "the target 'state' is missing in 1 of 4 rows"),
        (TRUTH.splitlines()[0], "has a header but no rows"),
        (TRUTH.replace("state", "State"), "no column 'state'; did you mean 'State'?"),
    ],
)
def test_evaluate_refuses_a_target_that_it_cannot_use(
    run: Run, model: Path, table: str, message: str
) -> None:
    status, out, talk = run("evaluate", model, "-", "-t", "state", stdin=table.encode())
    assert (status, out) == (2, "")
    assert message in talk


# -- circuits ---------------------------------------------------------------------------------


def test_rules_come_in_every_format_with_figures_where_data_is_given(
    run: Run, model: Path, rows: Path
) -> None:
    labelled = rows.parent / "labelled.csv"
    lines = ROWS.splitlines()
    answers = ["class", *ANSWERS]
    labelled.write_text("\n".join(",".join(pair) for pair in zip(lines, answers, strict=True)))
    figures = ("--data", labelled, "--target", "class")
    status, output, _ = run("rules", model, *figures)
    assert status == 0
    assert "2 of 4 rows (50.0 %)" in output or "1 of 4 rows (25.0 %)" in output
    assert run("rules", model, "--format", "markdown", *figures)[1].count("|") > 4
    assert "<table" in run("rules", model, "--format", "html")[1]
    document = json.loads(run("rules", model, "--format", "json", *figures)[1])
    assert document["n_rows"] == 4
    assert run("rules", model, "--card")[1].startswith("Add up the points")
    status, _, talk = run("rules", model, "--data", labelled)
    assert status == 2
    assert talk == "dln: --data and --target go together: give both or neither\n"


def test_explain_tells_why_and_what_would_change_it(run: Run, model: Path, rows: Path) -> None:
    status, output, _ = run("explain", model, rows, "--row", "1")
    assert status == 0
    assert output.startswith("ill, 1 vote ahead of 'not ill'")
    assert "+2 ill  age > 54 and smoker" in output
    assert "smallest change: age: 60 -> 54 (age <= 54) gives 'not ill'" in output
    found = json.loads(run("explain", model, rows, "--row", "3", "--json")[1])
    assert found["class"] == "ill"
    status, _, talk = run("explain", model, rows, "--row", "5")
    assert status == 2
    assert "has 4 rows, so there is no row 5" in talk


def test_rules_prints_the_circuit(run: Run, model: Path) -> None:
    assert run("rules", model) == (0, f"{circuit()}\n", "")


def test_cost_counts_as_the_library_does(run: Run, model: Path) -> None:
    assert run("cost", model)[1] == f"{dln.cost(circuit())}\n"
    counted = json.loads(run("cost", model, "--json", "--int-bits", "32")[1])
    expected = dln.cost(circuit(), int_bits=32)
    assert counted["total"]["gate_operations"] == expected.gate_operations
    assert counted["feature_tests"]["bytes"] == expected.feature_tests.bytes


def test_simplify_says_what_it_saved_and_proves_it(run: Run, tmp_path: Path) -> None:
    once = circuit()
    twice = Circuit(
        once.columns,
        (*once.literals, Above(0, 54.5)),
        (Node(GATE_BY_NAME["AND"], 0, 3), Node(GATE_BY_NAME["AND"], 4, 1)),
        (Rule(5, (0, 2)), Rule(2, (0, 2))),
        once.base_votes,
        once.classes,
        once.temperature,
    )
    twice.save(tmp_path / "twice.json")
    status, out, _ = run("simplify", "twice.json", "-o", "small.json", "--effort", "quick")
    assert status == 0
    assert out.startswith("before: 4 literals, 2 gates, 2 rules, ")
    assert "after:  3 literals, 1 gates, 2 rules, " in out
    assert "proof:  equal on every possible row (proven by " in out
    report = json.loads(run("simplify", "twice.json", "-o", "small.json", "--json")[1])
    assert report["after"]["total"]["bytes"] < report["before"]["total"]["bytes"]
    assert report["proof"]["method"] in ("structure", "exhaustion", "SAT")
    assert run("verify", "twice.json", "small.json")[0] == 0


def test_prune_prints_the_curve_and_saves_the_chosen(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    circuit().save(tmp_path / "m.json")
    known = data.read_text().replace("very ill", "ill").replace("well", "not ill")
    data.write_text(known.replace('"dose"', '"smoker"').replace("0.", "true,0.", 1))
    table = pa.csv.read_csv(io.BytesIO(known.encode())).set_column(
        2, "smoker", pa.array(400 * [True])
    )
    pa.csv.write_csv(table, data)
    options = ("-t", "state", "-o", "small.json", "--tolerance", "0.6")
    status, out, _ = run("prune", "m.json", data, *options)
    assert status == 0
    assert "<- chosen" in out
    report = json.loads(run("prune", "m.json", data, *options, "--json")[1])
    chosen = next(step for step in report["steps"] if step["chosen"])
    assert chosen["literals"] == Circuit.load(tmp_path / "small.json").n_literals < 3
    assert "--tolerance is 'x'" in run("prune", "m.json", data, *options, "--tolerance", "x")[2]


def test_verify_shows_a_row_that_differs(run: Run, model: Path, tmp_path: Path) -> None:
    circuit(60.0).save(tmp_path / "other.json")
    status, out, _ = run("verify", model, "other.json")
    assert status == 1
    assert out.startswith("not equal: votes ")
    status, out, _ = run("verify", model, "other.json", "--json")
    found = json.loads(out)
    assert status == 1
    assert found["equal"] is False
    assert 54 < found["row"]["age"] <= 60


def test_verify_ends_with_3_when_undecided(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dln.cli.verify.prove_equal", lambda *_, **__: dln.Undecided(1.0))
    assert run("verify", model, model)[0] == 3
    assert json.loads(run("verify", model, model, "--json")[1])["equal"] is None


def test_demo_prints_rules_and_writes_a_report(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = partial(dln.DLNClassifier, epochs=3, tau=2.0, selection_fits=0)
    monkeypatch.setattr("dln.cli.demo.DLNClassifier", quick)
    status, out, _ = run("demo", "-o", "demo")
    assert status == 0
    assert "\nBalanced accuracy on 143 test rows: " in out
    assert out.startswith(str(Circuit.load(tmp_path / "demo" / "model.json")))
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "Wisconsin breast cancer" in page


# -- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rules", "none.json"), "none.json: No such file or directory"),
        (("rules", "rows.csv"), "rows.csv: not valid JSON"),
        (("predict", "model.json", "none.csv"), "none.csv: No such file or directory"),
        (("predict", "model.json", "rows.csv", "-o", "no/out.csv"), "there is no folder"),
        (("predict", "model.json", "rows.csv", "--keep", "Id"), "did you mean 'id'?"),
        (("simplify", "model.json", "-o", "no/out.json"), "there is no folder"),
        (("train", "rows.csv", "-t", "city", "-o", "no/m.json"), "there is no folder"),
        (("train", "rows.csv", "-t", "city", "-o", "."), "is a folder"),
        (("learn",), "No such command 'learn'"),
        (("rules",), "Missing argument 'MODEL'"),
        (("rules", "model.json", "--fast"), "--fast"),
        (("--fast",), "--fast"),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, model: Path, rows: Path, arguments: tuple[str, ...], message: str
) -> None:
    status, out, talk = run(*arguments)
    assert (status, out) == (2, "")
    assert message in talk
    assert talk.startswith("dln: ")
    assert talk.count("\n") == 1


def test_the_command_ends_with_its_status_and_shows_no_traceback(tmp_path: Path) -> None:
    child = subprocess.run(
        [*COMMAND, "rules", "none.json"], cwd=tmp_path, capture_output=True, text=True, timeout=LONG
    )
    assert (child.returncode, child.stdout) == (2, "")
    assert child.stderr == "dln: none.json: No such file or directory\n"


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"dln {dln.__version__}\n", "")
    assert "evaluate" in run()[1]


def test_without_typer_the_command_names_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("dln.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 2
    assert "pip install dln[cli]" in capsys.readouterr().err


def test_without_pyarrow_tables_name_the_extra(
    run: Run, model: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dln.cli.arrow", "dln.cli.read", "dln.cli.kinds"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run("rules", model)[0] == 0
    message = "dln: reading tables needs pyarrow: pip install dln[cli]\n"
    assert run("predict", model, rows) == (2, "", message)
