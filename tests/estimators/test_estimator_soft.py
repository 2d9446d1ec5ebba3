"""A classifier learns from class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from dln import DLNClassifier, DlnWarning
from dln.errors import TableError
from dln.estimators.reading import read_problem
from dln.search import DLNSearchCV
from dln.train.folds import make_folds


def small(**given: Any) -> DLNClassifier:
    options: dict[str, Any] = {"layers": (16, 8), "n_networks": 3, "tau": 4.0, "epochs": 40}
    return DLNClassifier(**{**options, "random_state": 0, "n_jobs": 1, **given})


def noisy_rows(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return 1,200 rows whose classes are only probable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    score = 1.5 * X[:, 0] + X[:, 1] + rng.logistic(size=1200)
    return X, np.digitize(score, [0.0, 1.5][: n_classes - 1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_student_is_nearer_to_a_forest_with_probabilities_than_with_classes(
    n_classes: int,
) -> None:
    X, y = noisy_rows(n_classes)
    forest = RandomForestClassifier(50, min_samples_leaf=10, random_state=0).fit(X[:600], y[:600])
    told, wanted = forest.predict_proba(X[:600]), forest.predict_proba(X[600:])

    def distance(target: np.ndarray) -> float:
        model = DLNClassifier(effort="quick", random_state=0, n_jobs=1).fit(X[:600], target)
        return float(((model.predict_proba(X[600:]) - wanted) ** 2).mean())

    assert distance(told) < 0.5 * distance(told.argmax(axis=1))


def test_certain_probabilities_are_the_same_as_classes() -> None:
    X, y = noisy_rows()
    names = np.array(["ill", "well"])
    frame = pd.DataFrame({"well": y == 1, "ill": y == 0}).astype(float)
    soft, hard = small(tau="auto").fit(X, frame), small(tau="auto").fit(X, names[y])
    assert soft.circuit_ == hard.circuit_
    assert soft.classes_.tolist() == ["ill", "well"]


def test_the_parts_of_a_row_stay_in_one_fold() -> None:
    X, y = noisy_rows()
    told = np.column_stack([np.where(y == 1, 0.3, 1.0), np.where(y == 1, 0.7, 0.0)])
    patient = np.arange(1200) // 4
    for groups, own in ((None, np.arange(1200)), (patient, patient)):
        problem, _ = read_problem(small(), X, told, None, "balanced", groups)
        rows = np.concatenate([np.full(2 if label else 1, row) for row, label in enumerate(y)])
        assert problem.groups is not None
        assert problem.groups.tolist() == own[rows].tolist()
        assert problem.table.read(0).values.tolist() == X[rows, 0].tolist()
        for train, valid in make_folds(problem.target, 5, 0, problem.groups):
            assert not set(rows[train]) & set(rows[valid])


def test_weights_of_rows_and_probabilities_are_multiplied() -> None:
    X, told = np.arange(3.0)[:, None], [[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]]
    problem, _ = read_problem(small(), X, told, [2.0, 1.0, 4.0], None)
    ratio = problem.weight / problem.weight[0]
    assert ratio.tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0, 3.0])
    assert problem.shares == pytest.approx((3 / 7, 4 / 7))
    problem, _ = read_problem(small(), X, told, None, "balanced")
    masses = np.bincount(problem.target, problem.weight)
    assert masses[0] == pytest.approx(masses[1])


@pytest.mark.parametrize(
    "options",
    [{"validation_fraction": 0.2}, {"tau": "auto"}, {"costs": [[0, 1], [2, 0]]}],
)
def test_every_way_to_fit_learns_from_probabilities(options: dict[str, Any]) -> None:
    X, y = noisy_rows()
    told = np.column_stack([0.9 - 0.8 * y, 0.1 + 0.8 * y])
    model = small(**options).fit(X, told)
    assert ((X[:, 0] > 0) == model.predict(X)).mean() > 0.7


def test_a_budget_learns_from_probabilities() -> None:
    X, y = noisy_rows()
    told = np.column_stack([0.9 - 0.8 * y, 0.1 + 0.8 * y])
    model = DLNClassifier(max_rules=2, random_state=0, n_jobs=1).fit(X[:400], told[:400])
    assert ((X[:, 0] > 0) == model.predict(X)).mean() > 0.7


def test_a_class_that_is_never_the_most_probable_is_not_missed(
    recwarn: pytest.WarningsRecorder,
) -> None:
    X, y = noisy_rows()
    told = np.column_stack([0.8 - 0.6 * y, 0.15 + 0.6 * y, np.full(1200, 0.05)])
    model = DLNClassifier(effort="quick", class_weight=None, random_state=0, n_jobs=1)
    model.fit(X[:600], told[:600])
    assert not [one for one in recwarn if issubclass(one.category, DlnWarning)]
    assert model.predict_proba(X)[:, 2].mean() == pytest.approx(0.05, abs=0.03)


def test_bad_probabilities_and_a_search_are_refused() -> None:
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(TableError, match="row 0 has a negative value"):
        small().fit(X, [[-1.0, 2.0]] * 4)
    with pytest.raises(TableError, match="DLNSearchCV needs one class for each row"):
        DLNSearchCV(n_trials=1).fit(X, [[0.5, 0.5]] * 4)
