"""Result files of the experiment: which files are read, their content, and resumed runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from dln.errors import OptionError, TableError
from reproduction.ablations.results import ablation_store, read_ablations
from reproduction.experiment import QUICK, RESULTS, write_everything
from reproduction.files import write_atomically
from reproduction.models.outcome import Budget, Outcome
from reproduction.models.registry import MODELS
from reproduction.protocol import Task
from reproduction.run.cells import Cell, choose_cells
from reproduction.run.provenance import commit_of
from reproduction.run.results import (
    make_result,
    missing,
    read_results,
    store_of,
    write_result,
)
from reproduction.run.runner import Plan, run, run_cell
from tests.reproduction.test_experiment import RESULT

OUTCOME = Outcome(80.0, 81.0, {}, None)


def test_results_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    write_result(RESULT, tmp_path)
    assert read_results(tmp_path) == [RESULT]
    assert missing([Cell("Heart", "dt", 0), Cell("Heart", "dt", 1)], tmp_path) == [
        Cell("Heart", "dt", 1)
    ]


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "dt.jsonl"
    write_atomically(path, "70.0")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "71.0 \ud800")
    assert path.read_text("utf-8") == "70.0"
    assert list(path.parent.iterdir()) == [path]


def test_a_result_that_names_no_engine_is_natives(tmp_path: Path) -> None:
    write_result(replace(RESULT, engine="cuda"), tmp_path)
    assert read_results(tmp_path)[0].engine == "cuda"
    path = tmp_path / "running" / "dt" / "Heart-0.json"
    path.write_text(path.read_text("utf-8").replace(',\n "engine": "cuda"', ""), "utf-8")
    assert read_results(tmp_path) == [RESULT]


@pytest.mark.parametrize("text", ['{"dataset": "Heart"}', json.dumps(asdict(RESULT))])
def test_what_is_not_a_result_of_the_model_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "rf.jsonl").write_text(text, "utf-8")
    with pytest.raises(TableError, match=r"rf\.jsonl, line 1, is not a result; delete it"):
        read_results(tmp_path)


def test_unknown_models_are_told() -> None:
    with pytest.raises(OptionError, match="there is no model 'svm'; known are knn, dt"):
        choose_cells(["Heart"], ["svm"], [0])


def fake(outcomes: list[str]) -> object:
    def model(task: Task, budget: Budget) -> Outcome:
        outcomes.append(f"{task.dataset.name} {task.seed}")
        if task.seed == 1:
            raise TableError("no such luck")
        return Outcome(80.0, 81.0, {"layers": (np.int64(3), 2)}, None, note="cut")

    return model


def test_a_run_goes_on_where_it_stopped_and_tells_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr("reproduction.models.registry.Entry.load", lambda entry: fake(ran))
    budget = Budget(trials=2, epochs=5, engine="torch")
    plan = Plan(choose_cells(["iris"], ["dt"], [0, 1, 2]), tmp_path, budget)
    said: list[str] = []
    summary = run(plan, said.append)
    assert (summary.n_done, summary.n_failed, summary.n_left) == (2, 1, 0)
    assert any("no such luck" in line for line in said)
    assert run(plan, said.append).n_done == 0
    assert ran == ["iris 0", "iris 1", "iris 2", "iris 1"]
    result = read_results(tmp_path)[0]
    assert (result.trials, result.note) == (2, "cut")
    assert result.params == {"layers": [3, 2]}
    assert result.operations is None


def test_outcomes_of_the_same_search_come_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Outcome(79.0, 80.0, {}, None)
    both = Outcome(80.0, 81.0, {}, None, siblings={"dln-small": small})
    monkeypatch.setattr(
        "reproduction.models.registry.Entry.load", lambda entry: lambda task, budget: both
    )
    plan = Plan(choose_cells(["iris"], ["dln", "dln-small"], [0]), tmp_path, Budget())
    said: list[str] = []
    summary = run(plan, said.append)
    assert (summary.n_done, summary.n_failed, summary.n_left) == (1, 0, 0)
    assert said[-1].startswith("[2/2] iris dln 0: 80.0 %")
    assert said[-1].endswith("none left")
    assert {result.model: result.accuracy for result in read_results(tmp_path)} == {
        "dln": 80.0,
        "dln-small": 79.0,
    }


def test_no_cell_begins_when_the_time_is_up(tmp_path: Path) -> None:
    plan = Plan(choose_cells(["iris"], ["nb"], [0]), tmp_path, Budget(2), seconds=0.0)
    summary = run(plan, lambda text: None)
    assert (summary.n_done, summary.n_left) == (0, 1)


def test_cells_side_by_side_give_the_results_of_cells_one_by_one(tmp_path: Path) -> None:
    cells = choose_cells(["iris"], ["nb", "dt"], [0])
    for jobs in (1, 2):
        run(Plan(cells, tmp_path / str(jobs), Budget(trials=2), jobs), lambda text: None)
    alone, beside = ([(r.cell, r.accuracy, r.params) for r in read_results(tmp_path / str(jobs))]
                     for jobs in (1, 2))  # fmt: skip
    assert alone == beside
    assert len(alone) == 2


def test_siblings_are_written_anew_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(replace(RESULT, dataset="iris", model="dln-small", accuracy=10.0), tmp_path)
    both = replace(OUTCOME, siblings={"dln-small": replace(OUTCOME, accuracy=79.0)})
    monkeypatch.setattr(
        "reproduction.models.registry.Entry.load", lambda entry: lambda task, budget: both
    )
    run_cell(Cell("iris", "dln", 0), tmp_path, Budget())
    assert [(one.model, one.accuracy) for one in read_results(tmp_path)] == [
        ("dln", 80.0),
        ("dln-small", 79.0),
    ]


# -- what a result says -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "engine", "epochs", "used"),
    [
        ("nb", "torch", None, None),
        ("lightgbm", "native", None, None),
        ("lgn", "torch", 20, "native"),
        ("mlp", "native", 20, "torch"),
        ("mlp", "cuda", 20, "cuda"),
        ("paper", "torch", 1000, "torch"),
        ("dln", "native", None, "native"),
        ("dln-small", "cuda", None, "cuda"),
    ],
)
def test_a_result_names_the_epochs_and_the_engine_that_were_used(
    model: str, engine: str, epochs: int | None, used: str | None, tmp_path: Path
) -> None:
    budget = replace(QUICK.budget, engine=engine)  # type: ignore[arg-type]
    result = make_result(Cell("Heart", model, 0), OUTCOME, budget, 1.0)
    assert (result.trials, result.epochs, result.engine) == (2, epochs, used)
    write_result(result, tmp_path)
    assert read_results(tmp_path, budget) == [result]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("module", "is_known"),
    [
        ("reproduction/run/provenance.py", True),
        (".venv/lib/python3.11/site-packages/reproduction/run/provenance.py", False),
    ],
)
def test_a_commit_is_that_of_the_repository_of_dln_alone(
    module: str, is_known: bool, tmp_path: Path
) -> None:
    def git(*arguments: str) -> None:
        as_someone = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", tmp_path, *as_someone, *arguments], check=True)

    path = tmp_path / module
    path.parent.mkdir(parents=True)
    path.write_text("")
    git("init", "--quiet")
    assert commit_of(path) == ""
    git("add", "--all")
    git("commit", "--quiet", "--no-gpg-sign", "--message", "one")
    commit = commit_of(path)
    assert bool(commit) is is_known
    path.write_text("changed")
    assert commit_of(path) == (f"{commit}+" if is_known else "")


# -- which results count ----------------------------------------------------------------------


def test_results_of_another_budget_are_refused_by_runs_and_tables(tmp_path: Path) -> None:
    write_result(replace(RESULT, dataset="iris", trials=2, epochs=None), tmp_path)
    told = r": iris dt 0 has 2 trials, expected 32 trials; use another results folder"
    with pytest.raises(TableError, match=told):
        run(Plan([Cell("iris", "dt", 0)], tmp_path, Budget()), print)
    with pytest.raises(TableError, match=told):
        write_everything(tmp_path, Budget(), tmp_path)
    assert len(read_results(tmp_path, QUICK.budget)) == 1


@pytest.mark.parametrize(
    ("model", "trials", "epochs", "counts"),
    [
        ("dt", 32, 1000, True),  # as older files have it for every model
        ("dt", 32, None, True),
        ("dt", 2, 1000, False),
        ("lgn", 32, 20, False),
        ("paper", 32, 1000, True),
    ],
)
def test_a_result_counts_where_its_trials_and_epochs_are_those_of_the_budget(
    model: str, trials: int, epochs: int | None, counts: bool
) -> None:
    assert replace(RESULT, model=model, trials=trials, epochs=epochs).is_of(Budget()) is counts


def test_the_results_of_the_repository_are_whole_sorted_and_of_one_budget() -> None:
    stores = [*(store_of(model, RESULTS) for model in MODELS), ablation_store(RESULTS)]
    assert {store.path for store in stores} >= set(RESULTS.glob("*.jsonl"))
    for store in stores:
        lines = [json.dumps(document) for document in store.read()]
        assert not lines or store.path.read_text("utf-8").splitlines() == lines
    assert len(read_results(RESULTS, Budget())) == sum(len(one.read()) for one in stores[:-1])


def test_the_tables_of_the_repository_are_those_of_its_results(tmp_path: Path) -> None:
    written = write_everything(RESULTS, Budget(), tmp_path)
    assert {path.name for path in written} == {path.name for path in (RESULTS / "tables").iterdir()}
    for path in written:
        stored = (RESULTS / "tables" / path.name).read_text("utf-8")
        if "Matplotlib" not in stored or f"Matplotlib v{matplotlib.__version__}," in stored:
            assert path.read_text("utf-8") == stored, path.name


@pytest.mark.parametrize("text", ["[]", "{}", '{"dataset": "Heart", "seed": 0}', "0"])
def test_a_broken_ablation_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "ablations.jsonl").write_text(text, "utf-8")
    with pytest.raises(TableError, match=r"ablations\.jsonl, line 1, is not a result"):
        read_ablations(tmp_path)
