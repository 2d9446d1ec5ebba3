"""DLNClassifier works in scikit-learn and learns easy problems."""

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
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dln import Circuit, DLNClassifier
from dln.core.labels import plain_labels
from tests.support.classifiers import (
    UNDERTRAINED,
    iris_table,  # noqa: F401 - a fixture
    mixed_table,  # noqa: F401 - a fixture
    small,
)

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
    assert held_out_accuracy(DLNClassifier(effort="quick", random_state=0), X, y) > 0.88


def test_the_exclusive_or_of_two_columns_is_learned() -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    assert held_out_accuracy(DLNClassifier(effort="quick", random_state=0), X, y) > 0.85


def test_categories_alone_are_learned() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("pqrs"), 400), "b": rng.choice(["x", "y"], 400)})
    y = np.where((X["a"] == "p") | (X["b"] == "x"), "yes", "no")
    assert held_out_accuracy(DLNClassifier(effort="quick", random_state=0), X, y) > 0.97


def test_missing_values_can_decide_the_class() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[rng.random(300) < 0.5, 1] = np.nan
    assert held_out_accuracy(small(), X, np.isnan(X[:, 1])) == 1.0


def test_a_table_of_every_kind_is_learned_and_printed(mixed: Any) -> None:
    model = small(epochs=60, layers=(40, 20)).fit(*mixed)
    assert model.score(*mixed) > 0.8
    assert "ward" in str(model.circuit_)
    assert "age > " in str(model.circuit_) or "age <= " in str(model.circuit_)


# -- scikit-learn ----------------------------------------------------------------------------


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


def test_clone_copies_parameters_but_not_the_fitted_model(iris: Any) -> None:
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
def test_integer_labels_stay_integers_in_every_container(y: Any) -> None:
    model = small(epochs=2).fit(np.arange(40.0)[:, None], y)
    assert model.classes_.dtype.kind == "i"


@UNDERTRAINED
def test_categorical_labels_become_text() -> None:
    y = pd.Categorical(["b", "a"] * 20)
    assert small(epochs=2).fit(np.arange(40.0)[:, None], y).classes_.tolist() == ["a", "b"]


# -- prediction ----------------------------------------------------------------------------------


def test_probabilities_follow_the_votes_and_agree_with_predict(iris: Any) -> None:
    X, y = iris
    model = small(epochs=5).fit(X, y)
    votes, proba = model.decision_function(X), model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    by_votes = np.take_along_axis(proba, np.argsort(votes, axis=1), axis=1)
    assert (np.diff(by_votes, axis=1) >= 0).all()


def test_two_classes_have_one_decision_value(mixed: Any) -> None:
    X, y = mixed
    model = small().fit(X, y)
    lead = model.decision_function(X)
    assert lead.shape == (len(X),)
    assert_array_equal(model.predict(X), model.classes_[(lead > 0).astype(int)])
    order = np.argsort(lead)
    assert (np.diff(model.predict_proba(X)[order, 1]) >= 0).all()


def test_a_table_without_rows_gives_no_predictions(mixed: Any) -> None:
    X, y = mixed
    model = small(epochs=2).fit(X, y)
    assert model.predict(X[:0]).shape == (0,)
    assert model.predict_proba(X[:0]).shape == (0, 2)


def test_a_single_row_is_predicted_as_in_the_table(mixed: Any) -> None:
    X, y = mixed
    model = small().fit(X, y)
    alone = [model.predict(X.iloc[[row]])[0] for row in range(10)]
    assert_array_equal(alone, model.predict(X)[:10])
