"""What a fit of DLNClassifier depends on, and what it reports."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score

from dln.data.table import read_table
from dln.estimators.plan import read_parameters
from dln.train import native
from dln.train.fit import FitPlan, Progress, fit_circuit
from dln.train.native import train_population
from dln.train.problem import Problem
from dln.train.recipe import make_candidates
from tests.support.classifiers import (
    UNDERTRAINED,
    iris_table,  # noqa: F401 - a fixture
    mixed_table,  # noqa: F401 - a fixture
    small,
)

# -- reproducible --------------------------------------------------------------------------------


def test_one_seed_gives_one_circuit_for_any_number_of_jobs(mixed: Any) -> None:
    circuits = [
        small(n_networks=3, tau="auto", selection_fits=2, epochs=5, n_jobs=n_jobs)
        .fit(*mixed)
        .circuit_
        for n_jobs in (1, 2, 3, -1, None)
    ]
    assert all(circuit == circuits[0] for circuit in circuits)


def test_another_seed_gives_another_circuit(mixed: Any) -> None:
    assert small(random_state=1).fit(*mixed).circuit_ != small().fit(*mixed).circuit_


def test_a_random_state_object_advances(mixed: Any) -> None:
    state = np.random.RandomState(0)
    first, second = (small(random_state=state).fit(*mixed).circuit_ for _ in range(2))
    assert first != second
    assert small(random_state=np.random.RandomState(0)).fit(*mixed).circuit_ == first


def test_fitting_again_forgets_the_first_fit(iris: Any, mixed: Any) -> None:
    model = small().fit(*mixed)
    assert model.fit(*iris).circuit_ == small().fit(*iris).circuit_


def interrupt(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


def test_an_interrupted_first_fit_leaves_no_model(
    mixed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "train_population", interrupt)
    model = small()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*mixed)
    with pytest.raises(NotFittedError):
        model.predict(mixed[0])


def test_an_interrupted_second_fit_keeps_the_first_circuit_and_its_labels(
    mixed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = mixed
    model = small().fit(X, y)
    before = model.predict(X)
    monkeypatch.setattr(native, "train_population", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.where(y == "ill", 1, 0))
    assert_array_equal(model.predict(X), before)
    assert tuple(model.classes_) == model.circuit_.classes


# -- weights -------------------------------------------------------------------------------------


def test_a_row_of_weight_zero_is_ignored(mixed: Any) -> None:
    X, y = mixed
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    kept = weight > 0
    assert (
        small().fit(X, y, weight).circuit_ == small().fit(X[kept], y[kept], weight[kept]).circuit_
    )


def test_a_class_of_weight_zero_is_not_learned(iris: Any) -> None:
    X, y = iris
    model = small().fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X[y != 2], y[y != 2]) > 0.9


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e6, 5e307])
def test_scaling_all_weights_changes_nothing(mixed: Any, factor: float) -> None:
    X, y = mixed
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    expected = small().fit(X, y, weight).circuit_
    assert small().fit(X, y, weight * factor).circuit_ == expected


def test_weights_decide_between_rows_that_disagree() -> None:
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    y = np.tile([0, 1], 40)
    for heavy in (0, 1):
        weight = np.where((X[:, 0] == 1) == (y == heavy), 9.0, 1.0)
        predicted = small().fit(X, y, weight).predict([[0.0], [1.0]])
        assert_array_equal(predicted, [1 - heavy, heavy])


@UNDERTRAINED
@pytest.mark.parametrize(
    ("class_weight", "expected"),
    [(None, 0), ("balanced", None), ({0: 1.0, 1: 100.0}, 1), ({0: 100.0}, 0)],
)
def test_class_weights_decide_between_classes_with_equal_rows(
    class_weight: Any, expected: int | None
) -> None:
    X = np.random.default_rng(0).integers(2, size=(90, 1)).astype(float)
    y = np.array([0, 0, 1] * 30)
    model = small(class_weight=class_weight).fit(X, y)
    predicted = set(model.predict(X).tolist())
    assert predicted <= {0, 1} if expected is None else predicted == {expected}


@UNDERTRAINED
@pytest.mark.parametrize(
    ("weight", "class_weight"),
    [
        (None, {"ill": 1e308, "well": 1e308}),
        (None, {"ill": 1e308, "well": 1e-308}),
        (5e-324, "balanced"),
        (1e-310, "balanced"),
    ],
)
def test_extreme_weights_can_be_used(mixed: Any, weight: float | None, class_weight: Any) -> None:
    X, y = mixed
    rows = None if weight is None else np.where(y == "ill", weight, 1.0)
    model = small(class_weight=class_weight, epochs=3).fit(X, y, rows)
    assert np.isfinite(model.history_["loss"]).all()


def test_a_class_without_rows_may_have_a_weight(iris: Any) -> None:
    X, y = iris
    some = y != 2
    weights = {0: 1.0, 1: 3.0, 2: 9.0}  # as for a fold of a cross-validation
    expected = small(class_weight={0: 1.0, 1: 3.0}).fit(X[some], y[some]).circuit_
    assert small(class_weight=weights).fit(X[some], y[some]).circuit_ == expected


@UNDERTRAINED
def test_balanced_weights_let_a_rare_class_count() -> None:
    rng = np.random.default_rng(0)
    y = np.array([0] * 380 + [1] * 20)
    X = (rng.normal(size=400) + 1.5 * y)[:, None]
    balanced = small(epochs=40).fit(X, y)
    plain = small(epochs=40, class_weight=None).fit(X, y)
    assert (balanced.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
    assert balanced_accuracy_score(y, balanced.predict(X)) > 0.65


# -- what is reported ------------------------------------------------------------------------------


def test_the_history_has_a_row_for_each_network(iris: Any) -> None:
    history = small(n_networks=3, epochs=7, validation_fraction=0.2).fit(*iris).history_
    assert set(history) == {"loss", "train_accuracy", "valid_accuracy", "gates"}
    for name, values in history.items():
        assert values.shape == (3, 7), name
        assert np.isfinite(values).all(), name


def test_the_selection_lists_the_candidates_and_the_chosen_one(iris: Any) -> None:
    model = small(tau="auto", selection_fits=2, epochs=5).fit(*iris)
    assert len(model.selection_) > 1
    assert sum(candidate["chosen"] for candidate in model.selection_) == 1
    assert all(0 <= candidate["accuracy"] <= 1 for candidate in model.selection_)
    assert small().fit(*iris).selection_ == []


def test_validation_rows_choose_the_best_epoch() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(np.int32)
    candidates = make_candidates(read_parameters(small(epochs=30)), 200, 2, 4)
    plan = FitPlan(candidates, validation_fraction=0.3)
    problem = Problem(read_table(X), y, np.ones(200, dtype=np.float32), (0, 1))
    fitted = fit_circuit(problem, plan, engine=train_population, rng=np.random.default_rng(0))
    best = fitted.histories[0][:, 2].max()
    # The same draws as in the fit: the first permutations of the generator choose the rows.
    again, held_back = np.random.default_rng(0), []
    for number in (0, 1):
        rows = again.permutation(np.flatnonzero(y == number))
        held_back += rows[: round(0.3 * len(rows))].tolist()
    found = balanced_accuracy_score(y[held_back], fitted.circuit.winners(X[held_back]))
    assert found == pytest.approx(best, abs=1e-6)


def test_every_class_has_validation_rows_and_training_rows() -> None:
    X = np.arange(30.0)[:, None]
    y = np.array([0] * 20 + [1] * 8 + [2] * 2)
    model = small(validation_fraction=0.9).fit(X, y)
    assert np.isfinite(model.history_["valid_accuracy"]).all()


@pytest.mark.parametrize("rich_is_there", [True, False])
def test_the_progress_bar_goes_to_standard_error_only(
    iris: Any,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rich_is_there: bool,
) -> None:
    if not rich_is_there:
        monkeypatch.setitem(__import__("sys").modules, "rich.progress", None)
    monkeypatch.setenv("COLUMNS", "160")
    small(verbose=1).fit(*iris)
    said = capfd.readouterr()
    assert said.out == ""
    for word in ("epoch 60/60", "loss", "balanced accuracy", "gates"):
        assert word in said.err
    small(verbose=0).fit(*iris)
    assert capfd.readouterr() == ("", "")


def test_an_interrupted_comparison_still_trains_the_default_recipe(iris: Any) -> None:
    X, y = iris
    wishes = read_parameters(small(tau="auto", epochs=5, selection_fits=2))
    plan = FitPlan(make_candidates(wishes, 150, 3, 4))
    problem = Problem(
        read_table(X), y.to_numpy(np.int32), np.ones(150, dtype=np.float32), (0, 1, 2)
    )

    def stop_comparing(progress: Progress) -> None:
        if progress.stage == "select":
            raise KeyboardInterrupt

    def fit(on_interrupt: Any) -> Any:
        rng = np.random.default_rng(0)
        return fit_circuit(
            problem,
            plan,
            engine=train_population,
            rng=rng,
            on_progress=stop_comparing,
            on_interrupt=on_interrupt,
        )

    fitted = fit("keep")
    assert fitted.interrupted
    assert not fitted.scores
    assert fitted.recipe is plan.candidates.usual
    assert len(fitted.histories[0]) == 5
    with pytest.raises(KeyboardInterrupt):
        fit("raise")
