"""The command `dln bench`: what it runs, and which errors it raises before the first cell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dln.bench.cells import read_results
from dln.bench.experiment import QUICK
from dln.bench.runner import Plan, Summary

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_dln(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("DLN_DATA", raising=False)
    return run


def test_the_smoke_run_needs_no_folder(run_dln: Run) -> None:
    status, out, err = run_dln("bench", "--quick")
    assert status == 0
    assert "10 run, 0 failed, 0 left" in err  # dln-small comes with dln
    assert "bench-quick/tables/accuracy.md" in out
    assert {result.dataset for result in read_results(Path("bench-quick"))} == set(QUICK.datasets)
    assert "| iris | " in Path("bench-quick/tables/accuracy.md").read_text("utf-8")
    status, _, err = run_dln("bench", "--quick", "--no-run")
    assert (status, err) == (0, "")
    status, _, err = run_dln("bench", "--no-run", "--results", "bench-quick")
    assert (status, err.count("\n")) == (2, 1)
    assert "has 2 trials" in err


def test_what_is_given_is_run(run_dln: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def record(plan: Plan, say: object) -> Summary:
        plans.append(plan)
        return Summary(0, 0, 0)

    monkeypatch.setattr("dln.bench.runner.run", record)
    run_dln("bench", "--quick", "--seeds", "5,6,5", "--models", "nb", "--datasets", "wine")
    assert [str(cell) for cell in plans[0].cells] == ["wine nb 5", "wine nb 6"]
    assert plans[0].folder == Path("bench-quick")
    run_dln("bench")
    assert (len(plans[1].cells), plans[1].folder) == (800, Path("bench"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--datasets", "iriss"], "there is no data set 'iriss'; known are BankChurn"),
        (["--datasets", "PDAC", "--ablations"], "PDAC is not public"),
        (["--datasets", ","], "datasets are ',', expected a comma-separated list"),
        (["--models", ""], "models are '', expected a comma-separated list"),
        (["--models", "svm"], "there is no model 'svm'; known are knn, dt"),
        (["--seeds", "-1"], "a seed is -1, expected whole numbers from 0"),
        (["--seeds", ""], "seeds are '', expected a comma-separated list"),
        (["--seeds", "0,x"], "seeds are '0,x', expected comma-separated numbers"),
        ([], "DLN_DATA is not set"),
        (["--ablations"], "DLN_DATA is not set"),
        (["--quick", "--ablations"], "--quick cannot be combined with --ablations"),
        (
            ["--ablations", "--models", "dt", "--seeds", "0", "--jobs", "2"],
            "--models, --seeds, --jobs cannot be combined with --ablations",
        ),
        (["--no-run", "--datasets", "Heart"], "--datasets cannot be combined with --no-run"),
        (["--no-run", "--ablations"], "--ablations cannot be combined with --no-run"),
    ],
)
def test_mistakes_are_told_once_before_the_first_cell(
    options: list[str], told: str, run_dln: Run
) -> None:
    status, out, err = run_dln("bench", *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"dln: {told}")
    assert not Path("bench").exists()


def test_a_folder_without_any_of_the_tables_is_refused(
    run_dln: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DLN_DATA", str(tmp_path))
    status, _, err = run_dln("bench", "--models", "nb")
    assert (status, err.count("\n")) == (2, 1)
    assert "manifest.json; set DLN_DATA to the folder that has it" in err


def test_a_failed_cell_gives_a_status(run_dln: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dln.bench.runner.run", lambda plan, say: Summary(0, 1, 0))
    status, out, err = run_dln("bench", "--quick", "--models", "nb")
    assert (status, err) == (1, "0 run, 1 failed, 0 left\n")
    assert "accuracy.md" in out
