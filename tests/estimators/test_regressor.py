"""DLNRegressor: what it learns, what it promises, and what it refuses."""

from __future__ import annotations

import datetime
from inspect import signature
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dln import (
    DLNClassifier,
    DLNRegressor,
    DlnWarning,
    Freezing,
    OptionError,
    Pruning,
    TableError,
    measure_size,
)
from dln._util.option import options_of
from dln.estimators.parameters import NumberParameters

SMALL: dict[str, Any] = {"layers": (16,), "n_networks": 1, "epochs": 20, "n_trees": 25}


def small(**parameters: Any) -> DLNRegressor:
    return DLNRegressor(**{"random_state": 0, **SMALL, **parameters})


def table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Make columns of every kind with missing values, and a target that three of them decide."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "dose": rng.normal(size=n_rows),
            "ward": rng.choice(["north", "south", "west"], n_rows),
            "admitted": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n_rows), "D"),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "dose"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "ward"] = None
    y = 3.0 * (frame["age"] > 50) - 2.0 * (frame["ward"] == "north") + 10.0
    y = y + np.where(frame["ward"].isna(), 1.0, 0.0)
    return frame, y.rename("stay")


# -- parameters -----------------------------------------------------------------------------------


def test_the_constructor_has_the_names_types_and_defaults_of_the_table() -> None:
    expected = get_type_hints(NumberParameters)
    hints = get_type_hints(DLNRegressor.__init__)
    found = signature(DLNRegressor).parameters
    assert set(found) == set(options_of(NumberParameters))
    for name, own in options_of(NumberParameters).items():
        assert found[name].default == own.default, name
        assert hints[name] == expected[name], name


@pytest.mark.parametrize("quantile", [0.0, 1.0, (), (0.9, 0.1), "half", (0.5, 0.5), True])
def test_invalid_levels_are_refused(quantile: Any) -> None:
    with pytest.raises(OptionError, match=r"quantile is .* expected a number between 0 and 1"):
        small(loss="quantile", quantile=quantile).fit([[0.0], [1.0]], [0.0, 1.0])


def test_invalid_losses_are_refused() -> None:
    with pytest.raises(OptionError, match="loss is 'log', expected one of 'squared'"):
        small(loss="log").fit([[0.0], [1.0]], [0.0, 1.0])


OTHER_VALUES: list[tuple[str, Any]] = [
    ("layers", (10,)),
    ("layers", "auto"),
    ("n_networks", 2),
    ("n_trees", 10),
    ("n_cutoffs", 1),
    ("scaling", "range"),
    ("n_links", 2),
    ("link_drawing", "repeated"),
    ("n_gates", 4),
    ("gates", "readable"),
    ("concatenation", "shared"),
    ("epochs", 3),
    ("epochs", "auto"),
    ("batch_size", 16),
    ("last_batch", "drop"),
    ("learning_rate", 0.2),
    ("final_rate", 1.0),
    ("threshold_rate", 1.0),
    ("slope", 2.0),
    ("phases", "unified"),
    ("gate_gradient", "mixture"),
    ("temperature", 0.5),
    ("freezing", Freezing(0.3)),
    ("pruning", Pruning(0.3, 0.6, convergence=0.9)),
    ("simplify", None),
    ("loss", "absolute"),
    ("monotone", {"x0": "-"}),
    ("interactions", []),
    ("forbidden_pairs", [("x0", "x1")]),
    ("unused_columns", ["x1"]),
    ("max_columns_per_rule", 1),
    ("random_state", 1),
]
"""For every parameter of networks, a value that gives another circuit."""


@pytest.fixture(name="usual", scope="module")
def usual_circuit() -> Any:
    return _networks().fit(*_numbers()).circuit_


def _numbers() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    return X, X[:, 0] * (X[:, 1] > 0) + rng.normal(size=90) * 0.1


def _networks(**parameters: Any) -> DLNRegressor:
    own = {"layers": (24, 12), "n_networks": 1, "epochs": 8, "n_trees": 0, "random_state": 0}
    return DLNRegressor(**{**own, **parameters})


@pytest.mark.parametrize(("name", "value"), OTHER_VALUES)
def test_parameters_have_an_effect(name: str, value: Any, usual: Any) -> None:
    model = _networks(**{name: value}).fit(*_numbers())
    assert model.circuit_ != usual
    assert np.isfinite(model.predict(_numbers()[0])).all()


def test_pytorch_learns_as_much(usual: Any) -> None:
    pytest.importorskip("torch")
    X, y = _numbers()
    model = _networks(engine="torch").fit(X, y)
    assert np.corrcoef(model.predict(X), usual.predict(X))[0, 1] > 0.8


def test_histories_and_traces_are_kept() -> None:
    model = _networks(n_networks=2, trace_every=4).fit(*_numbers())
    assert set(model.history_) == {"loss", "train_score", "valid_score", "gates"}
    assert model.history_["loss"].shape == (2, 8)
    assert len(model.traces_) == 2
    assert -1 <= model.validated_score_ <= 1


# -- what it learns -------------------------------------------------------------------------------


def test_a_formula_of_rules_is_found_in_a_table_of_every_kind() -> None:
    X, y = table(300)
    model = DLNRegressor(max_rules=5, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.circuit_.number_readout.name == "stay"
    whole = small(n_trees=100).fit(X, y)
    new, truth = table(200, seed=1)
    assert whole.score(new, truth) > 0.97
    assert model.score(new, truth) > 0.97


def test_two_rules_are_recovered_exactly() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 3))
    y = 1.5 + 2.0 * (X[:, 0] > 0.5) - 3.0 * ((X[:, 1] > 0.3) & (X[:, 2] > 0.6))
    circuit = DLNRegressor(max_rules=2, random_state=0).fit(X, y).circuit_
    assert measure_size(circuit).n_literals == 3
    assert_allclose(circuit.predict(X), y, atol=0.1)


def test_interactions_are_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] * X[:, 1]
    model = small(n_trees=100).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.5


def test_noise_is_not_learned() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    with pytest.warns(DlnWarning, match="predicts the same number for every row"):
        model = DLNRegressor(effort="quick", random_state=0).fit(X, y)
    assert model.predict(X[:3]) == pytest.approx(y.mean(), abs=0.05)


@pytest.mark.parametrize("parameters", [{}, {"max_literals": 3}], ids=["whole", "budget"])
def test_poisson_predicts_rates_with_an_exposure(parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 2))
    exposure = rng.uniform(0.5, 5.0, 400)
    rate = np.where(X[:, 0] > 0.5, 4.0, 1.0)
    counts = rng.poisson(rate * exposure)
    model = (
        small(loss="poisson", **parameters)
        if not parameters
        else DLNRegressor(loss="poisson", random_state=0, **parameters)
    )
    model.fit(X, counts / exposure, sample_weight=exposure)
    assert model.circuit_.number_readout.link == "log"
    predicted = model.predict(X)
    assert predicted.min() > 0
    assert predicted[X[:, 0] > 0.5].mean() == pytest.approx(4.0, rel=0.1)
    assert predicted[X[:, 0] <= 0.5].mean() == pytest.approx(1.0, rel=0.1)


def test_gamma_predicts_positive_means() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (600, 2))
    mean = np.where(X[:, 1] > 0.5, 100.0, 10.0)
    model = DLNRegressor(loss="gamma", effort="quick", random_state=0).fit(
        X, rng.gamma(3.0, mean / 3.0)
    )
    predicted = model.predict(X)
    assert predicted[X[:, 1] > 0.5].mean() == pytest.approx(100.0, rel=0.15)
    assert predicted[X[:, 1] <= 0.5].mean() == pytest.approx(10.0, rel=0.15)


@pytest.mark.parametrize("loss", ["squared", "poisson", "gamma"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"layers": (16,), "n_networks": 1, "epochs": 20, "n_trees": 25},
        {"effort": "quick", "n_trees": 10},
        {"max_rules": 2},
    ],
    ids=["network and trees", "quick", "budget"],
)
def test_the_mean_prediction_is_the_mean_target(loss: Any, parameters: Any) -> None:
    """The balance property, up to half a unit of the last decimal."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (300, 2))
    y = rng.gamma(3.0, np.where(X[:, 1] > 0.5, 100.0, 10.0) / 3.0)
    weight = rng.integers(1, 4, 300)
    model = DLNRegressor(loss=loss, random_state=0, **parameters).fit(X, y, sample_weight=weight)
    readout = model.circuit_.number_readout
    mean, predicted = (np.average(own, weights=weight) for own in (y, model.predict(X)))
    ahead = np.log(mean / predicted) if readout.link == "log" else mean - predicted
    assert abs(ahead) <= 0.5001 * 10.0**-readout.digits


def test_absolute_errors_ignore_outliers() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 2))
    clean = np.where(X[:, 0] > 0.5, 2.0, 0.0)
    y = clean + np.where(rng.random(400) < 0.1, 1_000.0, 0.0)
    for parameters in (SMALL, {"max_literals": 2}):
        model = DLNRegressor(loss="absolute", random_state=0, **parameters).fit(X, y)
        assert np.median(np.abs(model.predict(X) - clean)) < 0.5


# -- intervals ------------------------------------------------------------------------------------


def noisy(n_rows: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n_rows, 2))
    return X, rng.normal(size=n_rows) * np.where(X[:, 0] > 0.5, 3.0, 0.5) + 4.0 * X[:, 1]


def test_an_interval_covers_its_share_of_new_rows_and_never_crosses() -> None:
    model = small(loss="quantile", quantile=(0.05, 0.5, 0.95)).fit(*noisy(800, 0))
    X, y = noisy(2_000, 1)
    low, middle, high = model.predict_interval(X).T
    assert np.all((low <= middle) & (middle <= high))
    assert 0.85 < np.mean((low <= y) & (y <= high)) < 0.95
    wide = X[:, 0] > 0.5
    assert (high - low)[wide].mean() > 2 * (high - low)[~wide].mean()
    assert len(model.circuits_) == 3
    assert model.circuit_ is model.circuits_[1]
    assert_array_equal(model.predict(X), model.circuits_[1].predict(X))


def test_an_interval_may_have_a_budget() -> None:
    X, y = noisy(150, 0)
    model = DLNRegressor(loss="quantile", quantile=(0.1, 0.9), max_literals=3, random_state=0)
    model.fit(X, y)
    assert all(len(circuit.rules) <= 3 for circuit in model.circuits_)
    assert np.mean(np.diff(model.predict_interval(X), axis=1) >= 0) == 1


def test_one_level_is_no_interval() -> None:
    model = small(loss="quantile", quantile=0.9).fit(*noisy(200, 0))
    with pytest.raises(OptionError, match="this model has no interval; fit with"):
        model.predict_interval([[0.5, 0.5]])


# -- promises -------------------------------------------------------------------------------------


def test_one_seed_gives_one_circuit_on_any_number_of_threads() -> None:
    X, y = table(150)
    first = small(n_jobs=1).fit(X, y).circuit_
    assert clone(small(n_jobs=3)).fit(X, y).circuit_ == first
    assert small(random_state=1).fit(X, y).circuit_ != first


def test_rows_of_weight_0_are_ignored() -> None:
    X, y = table(120)
    weight = np.ones(120)
    weight[100:] = 0
    few = small().fit(X[:100], y[:100]).circuit_
    assert small().fit(X, y, sample_weight=weight).circuit_.rules == few.rules


def test_rows_of_a_group_stay_together() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    X = np.column_stack([group + rng.normal(size=300) * 0.01, rng.normal(size=300)])
    y = rng.normal(size=30)[group]
    separate = small().fit(X, y).validated_score_
    together = small().fit(X, y, groups=group).validated_score_
    assert together < 0.5 < separate


@settings(max_examples=5, deadline=None)
@given(
    limits=st.fixed_dictionaries(
        {},
        optional={
            "max_rules": st.integers(1, 2),
            "max_literals": st.integers(1, 4),
            "max_literals_per_rule": st.integers(1, 3),
            "max_columns": st.integers(1, 3),
        },
    ).filter(bool),
    loss=st.sampled_from(["squared", "absolute", "poisson"]),
    seed=st.integers(0, 100),
)
@pytest.mark.filterwarnings("ignore:The model has no rules:dln.DlnWarning")
def test_budgets_are_kept(limits: dict[str, int], loss: Any, seed: int) -> None:
    X, y = table(60, seed)
    model = DLNRegressor(loss=loss, random_state=seed, **limits).fit(X, y)
    sizes = [measure_size(model.circuit_), *(point.size for point in model.path_ or ())]
    for size in sizes:
        assert size.n_rules <= limits.get("max_rules", 99)
        assert size.n_literals <= limits.get("max_literals", 99)
        assert size.longest <= limits.get("max_literals_per_rule", 99)
        assert size.n_columns <= limits.get("max_columns", 99)


def test_a_path_is_saved_and_chosen_from(tmp_path: Any) -> None:
    from dln import load_path

    X, y = table(80)
    model = DLNRegressor(max_literals=3, random_state=0).fit(X, y)
    assert len(model.at(max_rules=1).rules) == 1
    assert "R², cross-validated" in str(model.path_)
    model.path_.save(tmp_path / "path.json")
    assert load_path(tmp_path / "path.json") == model.path_
    both = small(path=True).fit(X[:40], y[:40])
    assert both.path_ is not None
    assert both.path_.circuit is both.circuit_
    with pytest.raises(OptionError, match="this model has no path"):
        small().fit(X, y).at(max_rules=1)


# -- bad input ------------------------------------------------------------------------------------

BAD_TARGETS: list[tuple[Any, dict[str, Any], str]] = [
    ([1.0, None, 2.0, 3.0], {}, "the target is missing in 1 of 4 rows, first in row 1"),
    ([1.0, np.inf, 2.0, 3.0], {}, "contains infinity: the target of row 1 is inf"),
    (["a", "b", "c", "d"], {}, "the target holds 'a', expected numbers; use DLNClassifier"),
    ([1.0, "b", 2.0, 3.0], {}, "the target holds 'b', expected numbers"),
    ([2.0, 2.0, 2.0, 2.0], {}, "the target is 2 in every row"),
    ([datetime.date(2020, 1, n) for n in (1, 2, 3, 4)], {}, "the target holds dates such as"),
    (pd.date_range("2020-01-01", periods=4), {}, "the target holds dates such as '2020-01-01"),
    ([1.0, -2.0, 0.0, 3.0], {"loss": "poisson"}, "the target holds -2, but loss='poisson' needs"),
    ([1.0, 0.0, 2.0, 3.0], {"loss": "gamma"}, "the target holds 0, but loss='gamma' needs"),
    ([1.0, 2.0], {}, "the table has 4 rows, but the target has 2"),
    (None, {}, "the target y is None"),
]


@pytest.mark.parametrize(("y", "parameters", "message"), BAD_TARGETS)
def test_bad_targets_get_one_clear_line(y: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        small(**parameters).fit([[0.0], [1.0], [2.0], [3.0]], y)
    assert "\n" not in str(caught.value)


def test_a_target_that_hardly_varies_for_its_size_is_refused() -> None:
    y = 1e12 + np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(TableError, match=r"varies too little around 1e\+12 .* subtract a constant"):
        small().fit(np.arange(6.0)[:, None], y)


def test_a_classifier_refuses_measurements_and_names_the_regressor() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(170, 10, 100).round(1)
    with pytest.raises(TableError, match="use DLNRegressor"):
        DLNClassifier().fit(X, y)
    with pytest.raises(TableError, match="use DLNRegressor"):
        DLNClassifier().fit(X, np.arange(100))
    with pytest.raises(TableError, match="the target has 50 different numbers, such as 18 and 67"):
        DLNClassifier().fit(X, 18 + np.arange(100) % 50)


@pytest.mark.parametrize(
    "insist",
    [
        pytest.param(lambda y: pd.Series(y).astype("category"), id="categories"),
        pytest.param(lambda y: y.astype(str), id="text"),
        pytest.param(lambda y: y - 18, id="codes from 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:The model (never|has no):dln.DlnWarning")
def test_a_classifier_can_be_made_to_learn_numbers_as_classes(insist: Any) -> None:
    y = 18 + np.arange(100) % 22
    model = DLNClassifier(layers=(4,), n_networks=1, epochs=1, tau=1.0, random_state=0)
    assert len(model.fit(y[:, None], insist(y)).classes_) == 22


def test_an_interrupted_fit_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("dln.train.number_fit.grow_number", interrupt)
    X, y = table(100)
    with pytest.raises(KeyboardInterrupt):
        small().fit(X, y)
    with pytest.warns(DlnWarning, match="The fit was interrupted"):
        model = small(on_interrupt="keep").fit(X, y)
    assert model.score(X, y) > 0
