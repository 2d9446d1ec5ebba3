"""Warnings of a fit: each appears once, as DlnWarning, at the line that called the fit.

Warnings are errors in all tests, so a fit without `pytest.warns` must not warn.
"""

import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dln
from dln.estimators import fit_warnings
from tests.support.classifiers import (
    iris_table,  # noqa: F401 - a fixture
    small,
)

NO_RULES = np.zeros((40, 1)), np.arange(40) > 20
"""A table that nothing can be learned from."""


def test_text_among_numbers_gives_a_warning() -> None:
    crp: list[Any] = [place + 0.5 for place in range(40)]
    frame = pd.DataFrame({"crp": crp, "size": np.arange(40)})
    y = frame["size"] > 20
    small(epochs=9).fit(frame, y)
    with pytest.warns(dln.DlnWarning, match=r"^Column 'crp' holds numbers, but also '<0.3', so"):
        small(epochs=9).fit(frame.assign(crp=[*crp[1:], "<0.3"]), y)
    # True and False are not numbers, and there are at most two of them.
    small(epochs=9).fit(frame.assign(ill=[True, False, "?", True] * 10), y)


@pytest.mark.parametrize("few_rows", [10**6, 7, 1])
def test_classes_that_are_never_predicted_give_one_warning(
    monkeypatch: pytest.MonkeyPatch, few_rows: int
) -> None:
    monkeypatch.setattr(fit_warnings, "_FEW_ROWS", few_rows)
    X = np.arange(70.0)[:, None]
    y = np.repeat(np.arange(7), 10)
    # One gate has two values, so at most two of the seven classes can win.
    with pytest.warns(dln.DlnWarning) as caught:
        model = small(layers=(1,), tau="auto", selection_fits=2, epochs=9).fit(X, y)
    lost = sorted(set(range(7)) - set(model.predict(X).tolist()))
    named = ", ".join(map(str, lost[:4])) + f" and {len(lost) - 4} more"
    assert [str(warning.message) for warning in caught] == [
        f"The model never predicts {named}. "
        "Try more epochs, more or wider layers, or more networks."
    ]


def test_balanced_weights_are_recommended_if_they_are_not_used() -> None:
    y = np.repeat(["low", "high", "rare"], [100, 100, 3])
    X = np.linspace(0.0, 1.0, len(y))[:, None]
    message = r"^The model never predicts 'rare'\. Try balanced class weights, more epochs, "
    with pytest.warns(dln.DlnWarning, match=message):
        small(layers=(8, 4), class_weight=None).fit(X, y)


@pytest.mark.parametrize("few_rows", [10**6, 10, 1])
def test_classes_that_win_a_row_or_have_none_give_no_warning(
    iris: Any, monkeypatch: pytest.MonkeyPatch, few_rows: int
) -> None:
    monkeypatch.setattr(fit_warnings, "_FEW_ROWS", few_rows)
    X, y = iris
    assert set(small().fit(X, y).predict(X)) == {0, 1, 2}
    small().fit(X, y, sample_weight=(y != 2).astype(float))
    small(class_weight={2: 0.0}).fit(X, y)


def test_a_model_without_rules_gives_one_warning() -> None:
    with pytest.warns(dln.DlnWarning) as caught:
        model = small(epochs=3).fit(*NO_RULES)
    assert not model.circuit_.rules
    (warning,) = caught
    assert str(warning.message).startswith("The model has no rules, so it predicts the same class")


def fit_directly() -> None:
    small(epochs=3).fit(*NO_RULES)


def fit_in_a_pipeline() -> None:
    make_pipeline(FunctionTransformer(), small(epochs=3)).fit(*NO_RULES)


@pytest.mark.parametrize("fit", [fit_directly, fit_in_a_pipeline])
def test_a_warning_points_at_the_line_that_called_fit(fit: Any) -> None:
    with pytest.warns(dln.DlnWarning) as caught:
        fit()
    (warning,) = caught
    lines, first = inspect.getsourcelines(fit)
    assert (warning.filename, warning.lineno) == (__file__, first + len(lines) - 1)


def test_warnings_can_be_silenced_and_turned_into_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dln.DlnWarning)
        silent = small(epochs=3).fit(*NO_RULES)
    assert caplog.messages == []  # nor are they logged
    model = small(epochs=3)
    with pytest.raises(dln.DlnWarning, match="has no rules"):
        model.fit(*NO_RULES)
    assert model.circuit_ == silent.circuit_  # the model is complete nevertheless
