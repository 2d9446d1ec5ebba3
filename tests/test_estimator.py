"""DLNClassifier: at home in scikit-learn, reproducible, and right on easy problems."""

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dln import (
    Alternating,
    Annealing,
    Circuit,
    DLNClassifier,
    Freezing,
    OptionError,
    Pruning,
)
from dln.encode.encoder import EncodeOptions
from dln.labels import plain_labels
from dln.table import read_table
from dln.train.fit import FitPlan, Problem, Progress, fit_circuit
from dln.train.native import train_population
from dln.train.recipe import make_candidates

SMALL: dict[str, Any] = {"layers": (32, 16), "n_networks": 1, "tau": 2.0, "epochs": 60}


def small(**parameters: Any) -> DLNClassifier:
    """A quick classifier: one small network, nothing chosen by cross-validation."""
    return DLNClassifier(**{"random_state": 0, **SMALL, **parameters})


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, Any]:
    """Columns of every kind, some cells missing; the class depends on three of them."""
    rng = np.random.default_rng(5)
    n = 240
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "dose": rng.normal(size=n),
            "ward": rng.choice(["north", "south", "west"], n),
            "smoker": rng.random(n) < 0.4,
            "admitted": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    y = np.where((frame["age"] > 50) ^ (frame["ward"] == "north"), "ill", "well")
    frame.loc[rng.random(n) < 0.1, "dose"] = np.nan
    frame.loc[rng.random(n) < 0.1, "ward"] = None
    return frame, y


# -- accuracy on easy problems -------------------------------------------------------------------


def held_out_accuracy(model: DLNClassifier, X: Any, y: Any) -> float:
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=1
    )
    return float(balanced_accuracy_score(y_test, model.fit(X_train, y_train).predict(X_test)))


def test_iris_is_learned_without_tuning(iris: Any) -> None:
    assert held_out_accuracy(DLNClassifier(random_state=0), *iris) > 0.88


def test_breast_cancer_is_learned_without_tuning() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert held_out_accuracy(DLNClassifier(random_state=0), X, y) > 0.88


def test_the_exclusive_or_of_two_columns_is_learned() -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    assert held_out_accuracy(DLNClassifier(random_state=0), X, y) > 0.85


def test_categories_alone_are_learned() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("pqrs"), 400), "b": rng.choice(["x", "y"], 400)})
    y = np.where((X["a"] == "p") | (X["b"] == "x"), "yes", "no")
    assert held_out_accuracy(DLNClassifier(random_state=0), X, y) > 0.97


def test_a_missing_cell_may_decide() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[rng.random(300) < 0.5, 1] = np.nan
    assert held_out_accuracy(small(), X, np.isnan(X[:, 1])) == 1.0


def test_a_table_of_every_kind_is_learned_and_printed(mixed: Any) -> None:
    model = small(epochs=60, layers=(40, 20)).fit(*mixed)
    assert model.score(*mixed) > 0.8
    assert "ward" in str(model.circuit_)
    assert "age > " in str(model.circuit_) or "age <= " in str(model.circuit_)


# -- at home in scikit-learn ---------------------------------------------------------------------


def test_pipeline_and_set_output(iris: Any) -> None:
    X, y = iris
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), list(X.columns))), small()
    ).set_output(transform="pandas")
    assert pipeline.fit(X, y).score(X, y) > 0.8
    names = list(pipeline[-1].feature_names_in_)
    assert names == [f"standardscaler__{name}" for name in X.columns]


def test_cross_validation_and_grid_search(iris: Any) -> None:
    assert cross_val_score(small(), *iris, cv=3).mean() > 0.8
    search = GridSearchCV(small(epochs=5), {"tau": [1.0, 3.0], "n_cutoffs": [2, 6]}, cv=2)
    search.fit(*iris)
    assert search.best_estimator_.circuit_.n_classes == 3


def test_clone_copies_parameters_but_not_what_was_learned(iris: Any) -> None:
    model = small(class_weight={0: 2.0}, phases="epochs").fit(*iris)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "circuit_")


def test_a_fitted_model_survives_pickle_and_joblib(mixed: Any, tmp_path: Path) -> None:
    X, y = mixed
    model = small().fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert copy.circuit_ == model.circuit_
        assert_array_equal(copy.predict(X), model.predict(X))


def test_the_saved_circuit_predicts_like_the_model(mixed: Any, tmp_path: Path) -> None:
    X, y = mixed
    model = small().fit(X, y)
    model.circuit_.save(tmp_path / "circuit.json")
    circuit = Circuit.load(tmp_path / "circuit.json")
    assert circuit == model.circuit_
    assert_array_equal(circuit.predict(X), model.predict(X))


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_a_frame_are_remembered(iris: Any, to_frame: Any) -> None:
    X, y = iris
    frame = to_frame({str(name): X[name].to_numpy() for name in X})
    model = small().fit(frame, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.n_features_in_ == 4


def test_an_array_has_no_names(iris: Any) -> None:
    model = small().fit(iris[0].to_numpy(), iris[1])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4


def test_every_container_of_a_table_gives_the_same_circuit(iris: Any) -> None:
    X, y = iris
    expected = small().fit(X.to_numpy(), y).circuit_
    for table in (
        X.to_numpy().tolist(),
        np.asfortranarray(X.to_numpy()),
        X.set_axis(range(4), axis=1),
    ):
        circuit = small().fit(table, y).circuit_
        assert (circuit.literals, circuit.nodes, circuit.rules) == (
            expected.literals,
            expected.nodes,
            expected.rules,
        )


# -- class labels --------------------------------------------------------------------------------

DAYS = [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]
LABELS: dict[str, Any] = {
    "text": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "integers": np.array([-3, 7], dtype=np.int16),
    "floats": np.array([1.0, 2.0]),
    "booleans": np.array([False, True]),
    "moments": np.array(DAYS, dtype="datetime64[us]"),
    "dates": np.array(DAYS, dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_class_labels_keep_their_type(kind: str) -> None:
    labels = LABELS[kind]
    X = np.repeat([[1.0], [2.0]], 20, axis=0)
    y = np.repeat(labels, 20)
    model = small().fit(X, y)
    assert model.classes_.dtype == model.predict(X).dtype == labels.dtype
    assert_array_equal(model.predict(X), y)
    assert model.circuit_.classes == plain_labels(labels)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([0, 1] * 20, dtype="Int64"),
        pd.Series([0, 1] * 20, dtype=object),
        pl.Series([0, 1] * 20),
        [0, 1] * 20,
    ],
)
def test_integer_labels_stay_integers_whatever_holds_them(y: Any) -> None:
    model = small(epochs=2).fit(np.arange(40.0)[:, None], y)
    assert model.classes_.dtype.kind == "i"


def test_categorical_labels_are_their_text() -> None:
    y = pd.Categorical(["b", "a"] * 20)
    assert small(epochs=2).fit(np.arange(40.0)[:, None], y).classes_.tolist() == ["a", "b"]


# -- prediction ----------------------------------------------------------------------------------


def test_probabilities_follow_the_votes_and_agree_with_predict(iris: Any) -> None:
    X, y = iris
    model = small(epochs=5).fit(X, y)
    votes, proba = model.decision_function(X), model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    for a in range(3):
        for b in range(3):
            order = np.argsort(votes[:, a] - votes[:, b], kind="stable")
            assert (np.diff((proba[:, a] / proba[:, b])[order]) >= -1e-9).all()


def test_two_classes_have_one_decision_value(mixed: Any) -> None:
    X, y = mixed
    model = small().fit(X, y)
    lead = model.decision_function(X)
    assert lead.shape == (len(X),)
    assert_array_equal(model.predict(X), model.classes_[(lead > 0).astype(int)])
    order = np.argsort(lead)
    assert (np.diff(model.predict_proba(X)[order, 1]) >= 0).all()


def test_no_rows_give_no_predictions(mixed: Any) -> None:
    X, y = mixed
    model = small(epochs=2).fit(X, y)
    assert model.predict(X[:0]).shape == (0,)
    assert model.predict_proba(X[:0]).shape == (0, 2)


def test_one_row_is_predicted_like_in_a_table(mixed: Any) -> None:
    X, y = mixed
    model = small().fit(X, y)
    alone = [model.predict(X.iloc[[row]])[0] for row in range(10)]
    assert_array_equal(alone, model.predict(X)[:10])


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


def test_a_random_state_is_drawn_from(mixed: Any) -> None:
    state = np.random.RandomState(0)
    first, second = (small(random_state=state).fit(*mixed).circuit_ for _ in range(2))
    assert first != second
    assert small(random_state=np.random.RandomState(0)).fit(*mixed).circuit_ == first


def test_fitting_again_forgets_the_first_fit(iris: Any, mixed: Any) -> None:
    model = small().fit(*mixed)
    assert model.fit(*iris).circuit_ == small().fit(*iris).circuit_


# -- weights -------------------------------------------------------------------------------------


def test_a_row_of_weight_zero_is_left_out(mixed: Any) -> None:
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


@pytest.mark.parametrize(
    ("class_weight", "expected"),
    [(None, 0), ("balanced", None), ({0: 1.0, 1: 100.0}, 1), ({0: 100.0}, 0)],
)
def test_class_weights_decide_between_classes_that_cannot_be_told_apart(
    class_weight: Any, expected: int | None
) -> None:
    X = np.random.default_rng(0).integers(2, size=(90, 1)).astype(float)
    y = np.array([0, 0, 1] * 30)
    model = small(class_weight=class_weight).fit(X, y)
    predicted = set(model.predict(X).tolist())
    assert predicted <= {0, 1} if expected is None else predicted == {expected}


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


def test_held_back_rows_keep_the_best_epoch() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(np.int32)
    candidates = make_candidates(small(epochs=30)._wishes(), 200, 2, 4)
    plan = FitPlan(candidates, EncodeOptions(), validation_fraction=0.3)
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


def test_every_class_gives_rows_to_validation_and_keeps_some() -> None:
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


def test_an_interrupted_comparison_still_trains_the_usual_recipe(iris: Any) -> None:
    X, y = iris
    wishes = small(tau="auto", epochs=5, selection_fits=2)._wishes()
    plan = FitPlan(make_candidates(wishes, 150, 3, 4), EncodeOptions())
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


# -- parameters ------------------------------------------------------------------------------------

# Another value than SMALL's or the default for every parameter, and it makes a difference.
OTHER_VALUES: list[tuple[str, Any]] = [
    ("layers", (10,)),
    ("layers", "auto"),
    ("n_networks", 2),
    ("n_networks", "auto"),
    ("n_cutoffs", 1),
    ("n_links", None),
    ("n_links", 2),
    ("n_gates", 4),
    ("concatenation", "shared"),
    ("concatenation", "none"),
    ("tau", 8.0),
    ("tau", "auto"),
    ("epochs", 3),
    ("epochs", "auto"),
    ("batch_size", 16),
    ("learning_rate", 0.2),
    ("final_rate", 1.0),
    ("threshold_rate", 1.0),
    ("slope", 2.0),
    ("phases", "unified"),
    ("phases", "epochs"),
    ("scaling", "range"),
    ("vote_threshold", 0.6),
    ("vote_density", 0.9),
    ("phases", Alternating(5)),
    ("gate_gradient", "mixture"),
    ("temperature", 0.5),
    ("temperature", Annealing(2.0, 0.2)),
    ("freezing", Freezing(0.3)),
    ("freezing", Freezing(0.3, "outputs-first")),
    ("pruning", Pruning(0.3, 0.6, convergence=0.9)),
    ("validation_fraction", 0.3),
    ("class_weight", None),
    ("class_weight", {"ill": 3.0}),
    ("random_state", 9),
]


@pytest.fixture(scope="module")
def usual_circuit(mixed: Any) -> Circuit:
    return small(concatenation="separate", phases="batches").fit(*mixed).circuit_


@pytest.mark.parametrize(("name", "value"), OTHER_VALUES)
def test_every_parameter_makes_a_difference(
    name: str, value: Any, mixed: Any, usual_circuit: Circuit
) -> None:
    usual = {"concatenation": "separate", "phases": "batches"}
    circuit = small(**{**usual, name: value}).fit(*mixed).circuit_
    assert circuit != usual_circuit
    assert set(circuit.predict(mixed[0])) <= {"ill", "well"}


def test_more_selection_fits_are_more_folds(iris: Any) -> None:
    few, more = (
        small(tau="auto", epochs=3, selection_fits=n).fit(*iris).selection_ for n in (2, 6)
    )
    assert [row["accuracy"] for row in few] != [row["accuracy"] for row in more]
    assert small(tau="auto", epochs=3, selection_fits=0).fit(*iris).selection_ == []


def test_the_gradient_factor_makes_a_difference_where_layers_share_thresholds(mixed: Any) -> None:
    # Adam takes no notice of a factor that is the same for all that a parameter receives.
    shared = {"concatenation": "shared", "threshold_rate": 1.0}
    circuits = [small(**shared, grad_factor=factor).fit(*mixed).circuit_ for factor in (1.0, 3.0)]
    assert circuits[0] != circuits[1]


def test_every_parameter_is_tested() -> None:
    elsewhere = {"grad_factor", "selection_fits", "n_jobs", "verbose", "on_interrupt"}
    elsewhere |= {"relaxation", "engine", "device", "trace_every"}  # test_engines.py
    elsewhere |= {"simplify"}  # test_simplify.py
    assert {name for name, _ in OTHER_VALUES} | elsewhere == set(DLNClassifier().get_params())


BAD_VALUES: dict[str, list[Any]] = {
    "scaling": ["log", None, 2],
    "layers": [(), (0,), (2.5,), "wide", None, 7],
    "n_networks": [0, 1.5, "many", None],
    "n_cutoffs": [0, 2.5, "auto", None],
    "n_links": [0, 2.5, "all"],
    "n_gates": [0, 17, None, "all"],
    "concatenation": ["both", None, True],
    "tau": [0, -1.0, np.nan, None, "hot"],
    "epochs": [0, 1.5, None, "long"],
    "batch_size": [0, 1.5, None],
    "learning_rate": [-0.1, np.nan, None, "fast"],
    "final_rate": [-0.1, 1.1, None],
    "threshold_rate": [-1, np.inf, None],
    "slope": [0, -5, np.nan, None],
    "phases": ["both", None, 3],
    "relaxation": ["hard", None, 0.5],
    "gate_gradient": ["soft", None, True],
    "temperature": [0, -1, np.nan, "hot", None],
    "freezing": ["inputs-first", 0.5, Pruning()],
    "pruning": [0.5, Freezing(), "all"],
    "engine": ["tpu", None, 1],
    "device": ["abacus", None, 0],
    "simplify": ["much", True, 0],
    "trace_every": [-1, 0.5, None],
    "grad_factor": [-1, None, "big"],
    "vote_threshold": [0, 1, 1.5, None],
    "vote_density": [-0.1, 1.1, None],
    "validation_fraction": [-0.1, 1, 1.0, np.nan, None, "some", True],
    "selection_fits": [-1, 1.5, None],
    "class_weight": ["even", 3, {"nobody": 1.0}, {"ill": -1.0}, {"ill": "much"}, {"ill": np.nan}],
    "random_state": ["seed", -1, 1.5],
    "n_jobs": [0, 1.5, "all"],
    "verbose": [-1, "loud", None],
    "on_interrupt": ["stop", None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_a_bad_parameter_is_refused_by_its_name(name: str, value: Any, mixed: Any) -> None:
    with pytest.raises(OptionError, match=f"^{name} "):
        small(**{name: value}).fit(*mixed)


def test_every_parameter_has_bad_values() -> None:
    assert set(BAD_VALUES) == set(DLNClassifier().get_params())


def test_the_comparison_of_sizes_stays_within_a_budget() -> None:
    wishes = DLNClassifier()._wishes()
    few = make_candidates(wishes, n_rows=300, n_classes=2, n_columns=10)
    many = make_candidates(wishes, n_rows=2_000, n_classes=500, n_columns=10)
    wide = make_candidates(wishes, n_rows=300, n_classes=2, n_columns=500)
    assert few.n_fits == 20
    assert many.n_fits == 1
    assert wide.n_fits == 5
    assert max(size for row in many.grid for size in row[0].shape.layers) <= 2_100
