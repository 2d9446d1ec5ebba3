"""`python -m reproduction`: what it runs, and which errors it raises before the first cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.__main__ import QUICK_RESULTS, main
from reproduction.experiment import QUICK, RESULTS
from reproduction.run.results import read_results
from reproduction.run.runner import Plan, Summary


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DLN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_smoke_run_needs_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert "10 run, 0 failed, 0 left" in err  # dln-small comes with dln
    assert f"{QUICK_RESULTS}/tables/accuracy.md" in out
    assert {result.dataset for result in read_results(QUICK_RESULTS)} == set(QUICK.datasets)
    assert "| iris | " in (QUICK_RESULTS / "tables" / "accuracy.md").read_text("utf-8")
    assert not list(QUICK_RESULTS.glob("running/*/*.json"))
    assert main(["keep", "--quick"]) == 0
    assert main(["tables", "--quick"]) == 0
    assert capsys.readouterr() == (out, "")
    assert main(["tables", "--results", str(QUICK_RESULTS)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "has 2 trials" in err


def test_what_is_given_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def record(plan: Plan, say: object) -> Summary:
        plans.append(plan)
        return Summary(0, 0, 0)

    monkeypatch.setattr("reproduction.__main__.run", record)
    monkeypatch.setattr("reproduction.__main__.write_everything", lambda *arguments: [])
    main(["run", "--quick", "--seeds", "5,6,5", "--models", "nb", "--datasets", "wine"])
    assert [str(cell) for cell in plans[0].cells] == ["wine nb 5", "wine nb 6"]
    assert plans[0].folder == QUICK_RESULTS
    main(["run"])
    assert (len(plans[1].cells), plans[1].folder) == (880, RESULTS)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--datasets", "iriss"], "there is no data set 'iriss'; known are BankChurn"),
        (["ablations", "--datasets", "PDAC"], "PDAC is not public"),
        (["run", "--datasets", ","], "datasets are ',', expected a comma-separated list"),
        (["run", "--models", ""], "models are '', expected a comma-separated list"),
        (["run", "--models", "svm"], "there is no model 'svm'; known are knn, dt"),
        (["run", "--seeds", "-1"], "a seed is -1, expected whole numbers from 0"),
        (["run", "--seeds", ""], "seeds are '', expected a comma-separated list"),
        (["run", "--seeds", "0,x"], "seeds are '0,x', expected comma-separated numbers"),
        (["run", "--results", "new"], "DLN_DATA is not set"),
        (["ablations", "--results", "new"], "DLN_DATA is not set"),
        (["download", "Stroke", "tables"], "Stroke cannot be downloaded"),
    ],
)
def test_mistakes_are_told_once_before_the_first_cell(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"reproduction: {told}")
    assert not list(Path().iterdir())


def test_a_folder_without_any_of_the_tables_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DLN_DATA", str(tmp_path))
    assert main(["run", "--models", "nb", "--results", "new"]) == 2
    assert "manifest.json; set DLN_DATA to the folder that has it" in capsys.readouterr().err


def test_a_failed_cell_gives_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reproduction.__main__.run", lambda plan, say: Summary(0, 1, 0))
    assert main(["run", "--quick", "--models", "nb"]) == 1
    out, err = capsys.readouterr()
    assert err == "0 run, 1 failed, 0 left\n"
    assert "accuracy.md" in out
