"""Probabilities and decisions of `DLNClassifier`, fitted on rows left out in cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

import dln
from dln import DLNClassifier
from dln.evaluate.scores import tally
from tests.support.classifiers import mixed_table, small  # noqa: F401 - a fixture


def make_table(seed: int = 0, n_rows: int = 1500) -> tuple[Any, Any, Any, Any]:
    """Make a table with a rare class whose probability depends smoothly on two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    p = 1 / (1 + np.exp(2.2 - 1.5 * X[:, 0] - X[:, 1]))
    y = np.where(rng.random(n_rows) < p, "ill", "well")
    return train_test_split(X, y, stratify=y, test_size=0.4, random_state=seed)  # type: ignore[no-any-return]


def scores(model: DLNClassifier, X: Any, y: Any) -> Any:
    target = np.searchsorted(model.classes_, y)
    return tally(target, model.circuit_.winners(X), model.predict_proba(X))


QUICK: dict[str, Any] = {"layers": (32, 16), "n_networks": 3, "epochs": 40, "random_state": 0}


def test_probabilities_are_calibrated_and_were_not_before() -> None:
    X, X_test, y, y_test = make_table()
    before = scores(DLNClassifier(**QUICK, probabilities="votes").fit(X, y), X_test, y_test)
    after = scores(DLNClassifier(**QUICK).fit(X, y), X_test, y_test)
    assert after.calibration_error < 0.05
    assert before.calibration_error > 0.08
    assert after.log_loss < before.log_loss - 0.05
    assert after.brier_score < before.brier_score
    assert after.balanced_accuracy > before.balanced_accuracy - 0.02


def test_probabilities_are_those_of_the_rows_or_of_equally_frequent_classes() -> None:
    X, X_test, y, y_test = make_table()
    for kind, share in (("rows", (y_test == "ill").mean()), ("balanced", None)):
        model = DLNClassifier(**QUICK, probabilities=kind).fit(X, y)
        p = model.predict_proba(X_test)[:, 0]
        if share is not None:
            assert abs(p.mean() - share) < 0.03
        else:
            by_class = [p[y_test == label].mean() for label in ("ill", "well")]
            assert abs(np.mean(by_class) - 0.5) < 0.05
            assert (p > 0.5).tolist() == (model.predict(X_test) == "ill").tolist()


def test_sample_weights_change_the_frequencies() -> None:
    X, X_test, y, _ = make_table()
    weight = np.where(y == "ill", 3.0, 1.0)
    shares = [
        DLNClassifier(**QUICK).fit(X, y, given).predict_proba(X_test)[:, 0].mean()
        for given in (None, weight)
    ]
    assert shares[1] > shares[0] + 0.1


def test_a_decision_is_part_of_the_circuit() -> None:
    X, X_test, y, y_test = make_table()
    model = DLNClassifier(**QUICK, sensitivity_at_least={"ill": 0.95}).fit(X, y)
    assert (model.predict(X_test)[y_test == "ill"] == "ill").mean() > 0.88
    circuit = dln.Circuit.load(saved(model))
    assert (circuit.predict(X_test) == model.predict(X_test)).all()
    threshold = DLNClassifier(**QUICK, decision_threshold=0.85).fit(X, y)
    second = threshold.predict_proba(X_test)[:, 1] >= 0.85
    assert (threshold.predict(X_test) == np.where(second, "well", "ill")).all()


def saved(model: DLNClassifier) -> str:
    model.circuit_.save("model.json")
    return "model.json"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_sensitivity_that_cannot_be_reached_is_a_warning() -> None:
    X, _, y, _ = make_table()
    with pytest.warns(dln.DlnWarning, match="can be reached together"):
        DLNClassifier(**QUICK, sensitivity_at_least={"ill": 0.99, "well": 0.99}).fit(X, y)


def test_without_left_out_rows_nothing_is_calibrated(mixed: Any) -> None:
    assert small().fit(*mixed).circuit_.calibration is not None
    assert small(selection_fits=0).fit(*mixed).circuit_.calibration is None
    assert small(probabilities="votes").fit(*mixed).circuit_.calibration is None
    X, y = mixed
    y = np.where(np.arange(len(y)) == 0, "rare", y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert small().fit(X, y).circuit_.calibration is None
        with pytest.raises(dln.TableError, match="rows that are left out"):
            small(costs={("rare", "ill"): 9}).fit(X, y)


def test_votes_of_a_preset_are_not_changed(mixed: Any) -> None:
    model = small(preset="paper", epochs=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        circuit = model.fit(*mixed).circuit_
    assert circuit.calibration is None


def test_the_rules_do_not_depend_on_the_calibration(mixed: Any) -> None:
    plain = small(probabilities="votes").fit(*mixed).circuit_
    fitted = small().fit(*mixed).circuit_
    assert fitted.logic == plain.logic
    assert fitted.readout.wires == plain.readout.wires


def test_scikit_learn_tunes_the_threshold() -> None:
    X, X_test, y, y_test = make_table()
    model = DLNClassifier(**QUICK)
    tuned = TunedThresholdClassifierCV(
        model, scoring="balanced_accuracy", cv=3, random_state=0, thresholds=20
    ).fit(X, y)
    assert balanced_accuracy_score(y_test, tuned.predict(X_test)) > 0.7
