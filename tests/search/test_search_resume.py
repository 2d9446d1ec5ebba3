"""A search that was killed and resumed gives the same result as an uninterrupted one."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, StratifiedKFold

from dln import OptionError
from dln.search import Between, DLNSearchCV, SearchState, presets
from dln.search.preset import Preset
from dln.search.propose import Proposer
from tests.support.classifiers import UNDERTRAINED

LONG = 60.0  # long enough for a slow machine; only a child that hangs fails
SPACE: dict[str, Any] = {
    "layers": [(4, 2), (12, 6)],
    "tau": Between(1.0, 8.0, log=True),
    "epochs": 12,
    "n_networks": 1,
}


def quick(**parameters: Any) -> DLNSearchCV:
    usual: dict[str, Any] = {"n_trials": 9, "batch_size": 3, "cv": 3, "random_state": 0}
    return DLNSearchCV(**{"space": SPACE, **usual, **parameters})


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X, y


# The child kills itself without any clean-up: during a population, or while the trials of a batch
# are written to the storage.
CHILD = """
import os, signal, sys
from tests.search.test_search_resume import iris_search
from dln.search.storage import StudyStorage

moment, storage = sys.argv[1:]
die = lambda: os.kill(os.getpid(), signal.SIGKILL)

if moment == "population":
    def callback(state):
        if len(state.trials) == 3 and state.done > 3 / 9:
            die()
else:
    callback, add = None, StudyStorage.add

    def add_and_die(self, number, trial):
        add(self, number, trial)
        if number == 4:
            die()

    StudyStorage.add = add_and_die
iris_search(storage, callback)
"""


def iris_search(storage: str, callback: Any) -> None:
    """Run a search; called in a separate process."""
    quick(storage=storage, callback=callback).fit(*load_iris(return_X_y=True))


@pytest.mark.skipif(os.name == "nt", reason="kills a child process with SIGKILL")
@pytest.mark.parametrize("moment", ["population", "batch"])
def test_a_killed_search_resumes_and_ends_like_an_uninterrupted_one(
    iris: Any, tmp_path: Path, moment: str
) -> None:
    storage = str(tmp_path / "search.db")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, moment, storage],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    trained: list[SearchState] = []
    resumed = quick(storage=storage, callback=trained.append).fit(*iris)
    expected = quick().fit(*iris)
    assert resumed.trials_ == expected.trials_
    assert resumed.circuit_ == expected.circuit_
    # Finished work is not trained again: the first report already includes it.
    assert min(len(state.trials) for state in trained) == 3


def test_a_finished_search_trains_nothing_again(iris: Any, tmp_path: Path) -> None:
    storage = tmp_path / "search.db"
    first = quick(storage=storage).fit(*iris)
    states: list[SearchState] = []
    again = quick(storage=storage, callback=states.append).fit(*iris)
    assert again.trials_ == first.trials_
    assert [state.done for state in states] == [3 / 9, 6 / 9, 1.0]  # a report a batch, no training
    assert [state.recalled for state in states] == pytest.approx([3 / 9, 6 / 9, 1.0])


def test_more_trials_continue_a_finished_search(iris: Any, tmp_path: Path) -> None:
    storage = tmp_path / "search.db"
    quick(storage=storage, n_trials=6).fit(*iris)
    assert quick(storage=storage).fit(*iris).trials_ == quick().fit(*iris).trials_


@UNDERTRAINED
def test_without_a_seed_the_first_one_is_kept(iris: Any, tmp_path: Path) -> None:
    storage = tmp_path / "search.db"
    first = quick(storage=storage, random_state=None, n_trials=3).fit(*iris)
    again = quick(storage=storage, random_state=None, n_trials=3).fit(*iris)
    assert again.trials_ == first.trials_


def test_optuna_reads_the_storage(iris: Any, tmp_path: Path) -> None:
    import optuna

    found = quick(storage=tmp_path / "search.db").fit(*iris)
    study = optuna.load_study(study_name="dln", storage=f"sqlite:///{tmp_path / 'search.db'}")
    assert [trial.value for trial in study.trials] == [trial.score for trial in found.trials_]


def test_equal_splits_are_equal_folds_whatever_their_source(iris: Any, tmp_path: Path) -> None:
    splitter = KFold(3, shuffle=True, random_state=1)
    first = quick(storage=tmp_path / "search.db", cv=splitter).fit(*iris)
    states: list[SearchState] = []
    splits = iter(list(splitter.split(iris[0])))
    again = quick(storage=tmp_path / "search.db", cv=splits, callback=states.append).fit(*iris)
    assert again.trials_ == first.trials_
    assert states[-1].recalled == pytest.approx(1.0)


def test_stored_outcomes_of_other_values_are_not_reused(
    iris: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(storage=tmp_path / "search.db").fit(*iris)
    ask = Proposer.ask

    def ask_otherwise(self: Proposer, number: int) -> dict[str, Any]:  # as a later Optuna might
        return {**ask(self, number), "tau": 1.0 + number / 2}

    monkeypatch.setattr(Proposer, "ask", ask_otherwise)
    resumed = quick(storage=tmp_path / "search.db").fit(*iris)
    assert [trial.params["tau"] for trial in resumed.trials_] == [1.0 + n / 2 for n in range(9)]
    assert resumed.trials_ == quick().fit(*iris).trials_


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"space": {**SPACE, "epochs": 13}}, "space"),
        ({"random_state": 1}, "seed"),
        ({"batch_size": 4}, "batch_size"),
        ({"space": dict(reversed(SPACE.items()))}, "space"),  # Optuna draws in its order
        ({"cv": 4}, "folds"),
        ({"cv": StratifiedKFold(3, shuffle=True, random_state=5)}, "folds"),
    ],
)
def test_a_storage_of_another_search_is_refused(
    iris: Any, tmp_path: Path, parameters: Any, name: str
) -> None:
    storage = tmp_path / "search.db"
    quick(storage=storage, n_trials=3).fit(*iris)
    with pytest.raises(OptionError, match=rf"holds a search with other {name}[ ;]") as caught:
        quick(**{"storage": storage, **parameters}).fit(*iris)
    assert "use another file, or the same" in str(caught.value)


def test_a_storage_of_other_data_is_refused(iris: Any, tmp_path: Path) -> None:
    X, y = iris
    storage = tmp_path / "search.db"
    quick(storage=storage, n_trials=3).fit(X, y)
    changed = np.array(X)
    changed[17, 2] += 0.1
    with pytest.raises(OptionError, match="holds a search with other data"):
        quick(storage=storage).fit(changed, y)


@pytest.fixture
def change_default(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Preset], Preset]], None]:
    """Return a function that changes the default preset, as a later version of dln may do."""
    own = presets._PRESETS["default"]

    def change(into: Callable[[Preset], Preset]) -> None:
        monkeypatch.setitem(presets._PRESETS, "default", lambda problem: into(own(problem)))

    return change


def test_a_storage_of_other_starts_is_refused(
    iris: Any, tmp_path: Path, change_default: Any
) -> None:
    search = quick(space="default", n_trials=1, refit=False, storage=tmp_path / "search.db")
    search.fit(*iris)
    change_default(lambda preset: replace(preset, first=preset.first[::-1]))
    with pytest.raises(OptionError, match=r"holds a search with other starts; use another"):
        search.fit(*iris)


@pytest.mark.parametrize("name", ["penalty", "max_rows", "epochs_part", "first_folds", "smoothed"])
def test_a_storage_with_another_scoring_is_refused(
    iris: Any, tmp_path: Path, change_default: Any, name: str
) -> None:
    search = quick(space="default", n_trials=1, refit=False, storage=tmp_path / "search.db")
    search.fit(*iris)

    def judge_otherwise(preset: Preset) -> Preset:
        now = not getattr(preset.scoring, name)
        return replace(preset, scoring=replace(preset.scoring, **{name: now}))

    change_default(judge_otherwise)
    with pytest.raises(OptionError, match=f"holds a search with other {name} .*, now "):
        search.fit(*iris)


def test_a_storage_of_an_earlier_version_is_refused(iris: Any, tmp_path: Path) -> None:
    import optuna

    search = quick(n_trials=3, storage=tmp_path / "search.db").fit(*iris)
    study = optuna.load_study(study_name="dln", storage=f"sqlite:///{tmp_path / 'search.db'}")
    known = study.user_attrs["settings"]
    study.set_user_attr("settings", {name: known[name] for name in known if name != "starts"})
    with pytest.raises(OptionError, match="an earlier dln, which did not store starts; use"):
        search.fit(*iris)


def test_a_file_that_is_not_a_storage_is_refused(iris: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at" * 9)
    with pytest.raises(OptionError, match=r"notes\.txt' cannot be used: .*; use a new file"):
        quick(storage=tmp_path / "notes.txt").fit(*iris)
    with pytest.raises(OptionError, match="cannot be used"):
        quick(storage=tmp_path / "no folder" / "search.db").fit(*iris)
    database = sqlite3.connect(tmp_path / "other.db")
    database.execute("CREATE TABLE trials (name TEXT)")
    database.close()
    with pytest.raises(OptionError, match="cannot be used"):
        quick(storage=tmp_path / "other.db").fit(*iris)
