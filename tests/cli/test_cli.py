"""Commands that read a model: their output, exit status and error messages."""

import io
import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import dln
from dln import Above, Circuit, Node, Rule
from dln.cli import main
from dln.core.gates import GATE_BY_NAME
from tests.conftest import Run
from tests.support.commands import (
    ANSWERS,
    COMMAND,
    LONG,
    ROWS,
    circuit,
    saved_model,  # noqa: F401 - a fixture
    training_table,
    written_rows,  # noqa: F401 - a fixture
)

# -- circuits ---------------------------------------------------------------------------------


def test_rules_are_printed_in_every_format_and_measured_on_data(
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
    for options, message in (
        (
            ("--data", labelled),
            "the model file does not name its target column; add --target COLUMN",
        ),
        (("--target", "class"), "--target is only used with --data; add --data DATA"),
    ):
        assert run("rules", model, *options) == (2, "", f"dln: {message}\n")


def test_explain_prints_rules_and_the_smallest_change(run: Run, model: Path, rows: Path) -> None:
    status, output, _ = run("explain", model, rows, "--row", "1")
    assert status == 0
    assert output.startswith("ill, 1 vote ahead of 'not ill'")
    assert "+2 ill  age > 54 and smoker" in output
    assert "smallest change: age: 60 -> 54 (age <= 54) gives 'not ill'" in output
    found = json.loads(run("explain", model, rows, "--row", "3", "--json")[1])
    assert found["class"] == "ill"
    status, _, err = run("explain", model, rows, "--row", "5")
    assert status == 2
    assert "has 4 rows; there is no row 5" in err


def test_explain_prints_a_reason_and_changes_of_several_features(
    run: Run, model: Path, rows: Path
) -> None:
    status, output, _ = run("explain", model, rows, "--changes", "2", "--fixed", "age")
    assert status == 0
    assert "ill: this is enough, whatever the other columns hold\n  age > 54" in output
    assert "smoker: True -> False" in output
    found = json.loads(run("explain", model, rows, "--to", "not ill", "--json")[1])
    assert found["reason"]["minimal"]
    assert found["options"]["options"][0]["class"] == "not ill"
    assert "smallest change:" not in output  # the cheapest changes were asked for
    for options, said in (
        (("--within", "age=55"), "within has 55 for 'age', expected (lowest, highest)"),
        (
            ("--within", "age=old.."),
            "--within age=old is not an integer; write age=1..5 or age=missing",
        ),
        (("--cost", "age=dear"), "--cost 'age=dear' has no number after ="),
        (("--to", "well"), "there is no class 'well'; the classes are"),
        (("--fixed", "agee"), "there is no column 'agee'; did you mean 'age'?"),
        (("--template", "{row}"), "only used with --output"),
        (("--output", "r.csv", "--to", "ill"), "--output writes reasons"),
        (("--output", "r.csv", "--template", "{name}"), "the template has {name}; it may contain"),
    ):
        status, _, err = run("explain", model, rows, *options)
        assert status == 2
        assert said in err


def test_explain_prints_several_reasons_and_takes_costs_and_ranges(
    run: Run, model: Path, rows: Path
) -> None:
    output = run("explain", model, rows, "--reasons", "3")[1]
    assert "ill: all minimal reasons, whatever the other columns hold\n  1. " in output
    assert "in every reason: " in output
    assert "ill: this is enough" in run("explain", model, rows, "--widen", "no")[1]
    assert run("explain", model, rows, "--widen", "wide")[0] == 2
    asked = ("explain", model, rows, "--to", "not ill", "--json")
    cheap = json.loads(run(*asked)[1])["options"]["options"][0]
    names = [change["feature"] for change in cheap["changes"]]
    dear = json.loads(run(*asked, "--cost", f"{names[0]}=7")[1])["options"]["options"]
    assert names != [change["feature"] for change in dear[0]["changes"]]
    kept = json.loads(run(*asked, "--within", "age=55..", "--cost", "smoker=9")[1])["options"]
    assert all(
        change["after"] >= 55
        for option in kept["options"]
        for change in option["changes"]
        if change["feature"] == "age"
    )


@pytest.mark.parametrize("name", ["reasons.csv", "reasons.jsonl", "reasons.parquet"])
def test_explain_writes_a_reason_for_every_row(
    run: Run, model: Path, rows: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    options = ("--template", "{row}: {class} since {reason}", "--check", "--keep", "age")
    status, _, err = run("explain", model, rows, "--output", path, *options)
    assert (status, err) == (0, f"wrote {path}: 4 rows\n")
    if name.endswith("parquet"):
        found = pd.read_parquet(path)
    else:
        found = pd.read_json(path, lines=True) if name.endswith("l") else pd.read_csv(path)
    assert list(found) == [
        "age",
        "row",
        "class",
        "reason",
        "features",
        "minimal",
        "checked",
        "text",
    ]
    assert len(found) == 4
    assert found["minimal"].all()
    assert found["checked"].all()
    assert found["text"][0] == f"1: ill since {found['reason'][0]}"


def test_rules_prints_the_circuit(run: Run, model: Path) -> None:
    assert run("rules", model) == (0, f"{circuit()}\n", "")


def test_cost_prints_the_same_as_the_library(run: Run, model: Path) -> None:
    assert run("cost", model)[1] == f"{dln.cost(circuit())}\n"
    counted = json.loads(run("cost", model, "--json", "--int-bits", "32")[1])
    expected = dln.cost(circuit(), int_bits=32)
    assert counted["total"]["gate_operations"] == expected.gate_operations
    assert counted["feature_tests"]["bytes"] == expected.feature_tests.bytes


def test_simplify_prints_sizes_and_the_proof(run: Run, tmp_path: Path) -> None:
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
    assert "after:  3 literals, 1 gate, 2 rules, " in out
    assert "proof:  equal on every possible row (proven by " in out
    report = json.loads(run("simplify", "twice.json", "-o", "small.json", "--json")[1])
    assert report["after"]["total"]["bytes"] < report["before"]["total"]["bytes"]
    assert report["proof"]["method"] in ("structure", "exhaustion", "SAT")
    assert run("verify", "twice.json", "small.json")[0] == 0


def test_prune_prints_the_curve_and_saves_the_chosen_model(run: Run, tmp_path: Path) -> None:
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


def test_prune_does_not_use_test_rows(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    small = ("-q", "--layers", "4,2", "--networks", "1", "--epochs", "5")
    assert run("train", data, "-t", "state", "-o", "m.json", *small)[0] == 0
    options = ("-t", "state", "-o", "small.json", "--tolerance", "0.1")
    _, out, err = run("prune", "m.json", data, *options)
    left_out = "100 of the {:,} rows are test rows of this model; they are left out. "
    assert err == left_out.format(400) + "Pruning uses the other 300 rows.\n"
    assert out.endswith("on the 300 rows given.\n")
    settings = dict(Circuit.load("small.json").origin.settings)
    assert settings.pop("pruned_on") == "train.csv with tolerance 0.1"
    assert settings == dict(Circuit.load("m.json").origin.settings)
    Path("more.csv").write_text(data.read_text() + "50,Bern,0.5,well\n")
    _, out, err = run("prune", "m.json", "more.csv", *options)
    assert err == left_out.format(401) + "Pruning uses the other 301 rows.\n"
    assert out.splitlines()[-1] == "Changes and accuracy are measured on the 301 rows given."


@pytest.mark.parametrize("arguments", [("explain", "m", "t", "-r", "0"), ("rules",), ("tain",)])
def test_a_usage_error_is_full_sentences_and_names_the_help(
    run: Run, arguments: tuple[str, ...]
) -> None:
    status, _, message = run(*arguments)
    assert status == 2
    assert re.search(r"[.?] See 'dln[^']* --help'\.\n$", message)


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
    assert {found["class_a"], found["class_b"]} == {"ill", "not ill"}


def test_verify_prints_whether_the_classes_differ(run: Run, model: Path, tmp_path: Path) -> None:
    circuit(60.0).save(tmp_path / "other.json")
    out = run("verify", model, "other.json")[1]
    assert out.splitlines()[1] == "The classes differ: ill and 'not ill'."
    surer = circuit()
    replace(surer, base_votes=(0, 9), rules=(surer.rules[0],)).save(tmp_path / "ill.json")
    replace(surer, base_votes=(0, 8), rules=(surer.rules[0],)).save(tmp_path / "also.json")
    status, out, _ = run("verify", "ill.json", "also.json")
    assert (status, out.splitlines()[1]) == (1, "Both models predict ill.")


def test_verify_exits_with_3_if_undecided(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dln.cli.verify.prove_equal", lambda *_, **__: dln.Undecided(1.0))
    assert run("verify", model, model)[0] == 3
    assert json.loads(run("verify", model, model, "--json")[1])["equal"] is None


def test_demo_prints_rules_and_writes_a_report(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = partial(dln.DLNClassifier, epochs=3, tau=2.0, selection_fits=0)
    monkeypatch.setattr("dln.DLNClassifier", quick)
    status, out, _ = run("demo", "-o", "demo")
    assert status == 0
    assert "\nBalanced accuracy on 143 test rows: " in out
    assert out.startswith(str(Circuit.load(tmp_path / "demo" / "model.json")))
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "Wisconsin breast cancer" in page


# -- errors -----------------------------------------------------------------------------------


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
def test_an_error_is_one_line(
    run: Run, model: Path, rows: Path, arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("dln: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("predict", "model.json", "rows.csv"), "rows.csv"),
        (("predict", "model.json", "rows.csv"), "model.json"),
        (("train", "rows.csv", "-t", "city"), "rows.csv"),
        (("search", "rows.csv", "-t", "city"), "rows.csv"),
        (("search", "rows.csv", "-t", "city", "-o", "m.json", "--picture"), "rows.csv"),
        (("search", "rows.csv", "-t", "city", "-o", "new.svg", "--picture"), "new.svg"),
        (("search", "rows.csv", "-t", "city", "--storage", "rows.db"), "rows.db"),
        (("simplify", "model.json"), "model.json"),
        (("prune", "model.json", "rows.csv", "-t", "city"), "model.json"),
        (("prune", "model.json", "rows.csv", "-t", "city"), "rows.csv"),
        (("export", "model.json", "--to", "c"), "model.json"),
        (("export", "model.json", "--to", "verilog", "--rows", "rows.csv"), "rows.csv"),
        (("report", "model.json", "--data", "rows.csv"), "model.json"),
        (("report", "model.json", "--data", "rows.csv"), "rows.csv"),
        (("draw", "model.svg"), "model.svg"),
    ],
)
def test_an_output_never_replaces_an_input(
    run: Run, model: Path, rows: Path, arguments: tuple[str, ...], output: str
) -> None:
    circuit().save("model.svg")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    option = () if arguments[-1] == "--picture" else ("-o",)
    status, out, err = run(*arguments, *option, output)
    message = f"the output {output} is the same file as {output}, which would be overwritten; "
    assert (status, out, err) == (2, "", f"dln: {message}name another file\n")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_an_output_that_is_a_link_to_an_input_is_refused(run: Run, model: Path, rows: Path) -> None:
    Path("symbolic.csv").symlink_to("rows.csv")
    Path("hard.csv").hardlink_to("rows.csv")
    for name in ("symbolic.csv", "hard.csv", f"{rows.parent}/../{rows.parent.name}/rows.csv"):
        status, _, err = run("predict", model, "rows.csv", "-o", name)
        assert (status, err.count("same file")) == (2, 1)
    assert rows.read_text() == ROWS


def test_a_device_may_be_both_input_and_output(run: Run, rows: Path) -> None:
    """A terminal is both, and nothing is overwritten."""
    _, _, err = run("predict", "/dev/null", rows, "-o", "/dev/null")
    assert "same file" not in err


def test_the_command_exits_with_its_status_and_prints_no_traceback(tmp_path: Path) -> None:
    child = subprocess.run(
        [*COMMAND, "rules", "none.json"], cwd=tmp_path, capture_output=True, text=True, timeout=LONG
    )
    assert (child.returncode, child.stdout) == (2, "")
    assert child.stderr == "dln: none.json: No such file or directory\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    "command", ["verify model.json model.json", "trends model.json --class ill --falling age"]
)
@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        (">&-", "dln: standard output is closed; to discard results, redirect it to /dev/null"),
        ("> /dev/full", "dln: cannot write the output: No space left on device"),
        ("| true", ""),
    ],
)
def test_output_that_cannot_be_written_has_its_own_exit_status(
    model: Path, command: str, redirection: str, message: str
) -> None:
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    # `true` exits long before the command writes.
    line = f"{{ {sys.executable} -m dln {command}; echo $? >&3; }} {redirection}"
    child = subprocess.run(
        ["sh", "-c", f"exec 3> status; {line}"],
        cwd=model.parent,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONG,
    )
    assert (model.parent / "status").read_text() == "141\n"
    assert child.stderr.strip() == message


def test_a_warning_of_the_library_is_one_line(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(*_: object) -> str:
        warnings.warn("The model never predicts\n'ill'.", UserWarning, stacklevel=1)
        return "cost"

    monkeypatch.setattr("dln.cli.cost.count_cost", warn)
    assert run("cost", model) == (0, "cost\n", "Warning: The model never predicts 'ill'.\n")


def test_an_invalid_choice_lists_the_valid_ones(run: Run, model: Path) -> None:
    status, _, err = run("export", model, "--to", "sas")
    assert status == 2
    assert err.startswith("dln: Invalid value for '--to': 'sas' is not one of 'c', 'verilog'")


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"dln {dln.__version__}\n", "")
    assert "evaluate" in run()[1]


def test_without_typer_the_command_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("dln.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 2
    assert "pip install typer rich pyarrow openpyxl\n" in capsys.readouterr().err


def test_without_pyarrow_commands_say_what_to_install(
    run: Run, model: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dln.cli.arrow", "dln.cli.read", "dln.cli.read_files", "dln.cli.kinds"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run("rules", model)[0] == 0
    message = "dln: reading tables requires pyarrow; install with: pip install pyarrow\n"
    assert run("predict", model, rows) == (2, "", message)
