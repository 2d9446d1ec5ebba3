"""Exposure: counts with an offset are rates with weights, in Python and on the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.linear_model import PoissonRegressor

from dln import Circuit, DLNRegressor, DLNRegressorSearchCV, OptionError, TableError

Run = Callable[..., tuple[int, str, str]]
SMALL: dict[str, Any] = {"layers": (8,), "n_networks": 1, "epochs": 5, "n_trees": 10}


@pytest.fixture(scope="module")
def claims() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"age": rng.integers(18, 80, 400), "years": rng.choice([0.1, 0.5, 1.0, 4.0], 400)}
    )
    rate = np.where(rows["age"] < 30, 2.0, 0.5)
    return rows.assign(claims=rng.poisson(rate * rows["years"]))


@pytest.mark.parametrize("parameters", [SMALL, {"max_rules": 2}], ids=["network", "budget"])
def test_poisson_counts_with_an_exposure_are_weighted_rates(
    claims: pd.DataFrame, parameters: Any
) -> None:
    X, y, years = claims[["age"]], claims["claims"], claims["years"]
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    model = DLNRegressor(loss="poisson", random_state=0, **parameters)
    for own in (None, weight):
        counts = model.fit(X, y, sample_weight=own, exposure=years).circuit_
        rates = model.fit(X, y / years, sample_weight=years if own is None else own * years)
        assert_array_equal(counts.predict(X), rates.predict(X))
        assert counts.number_readout.name == "claims per years"


def test_gamma_amounts_with_an_exposure_are_rates(claims: pd.DataFrame) -> None:
    X, years = claims[["age"]], claims["years"]
    y = np.random.default_rng(2).gamma(3.0, years)
    model = DLNRegressor(loss="gamma", random_state=0, **SMALL)
    amounts = model.fit(X, y, exposure=years).predict(X)
    assert_array_equal(amounts, model.fit(X, y / years).predict(X))


def test_the_rate_of_each_rule_is_that_of_a_poisson_regression(claims: pd.DataFrame) -> None:
    """PoissonRegressor on the same rule, as rates with weights and as counts with an offset."""
    X, y, years = claims[["age"]], claims["claims"], claims["years"]
    model = DLNRegressor(loss="poisson", max_rules=1, random_state=0)
    circuit = model.fit(X, y, exposure=years).circuit_
    fires = circuit.evaluate(X).fired.astype(float)
    linear = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000)
    linear.fit(fires, y / years, sample_weight=years)

    def loss(given: Any) -> float:
        score = given[0] + fires[:, 0] * given[1] + np.log(years)  # the offset
        return float(np.mean(np.exp(score) - y * score))

    offset = minimize(loss, np.zeros(2), tol=1e-12).x
    assert_allclose([linear.intercept_, linear.coef_[0]], offset, atol=1e-4)
    # The circuit's coefficients are shrunk a little and rounded.
    assert_allclose(model.predict(X), linear.predict(fires), rtol=0.06)
    total = model.predict(X, exposure=years).sum()
    assert total == pytest.approx(y.sum(), rel=0.5001 * 10.0**-circuit.number_readout.digits + 1e-3)


def test_predictions_are_for_one_unit_unless_an_exposure_is_given(claims: pd.DataFrame) -> None:
    X, y, years = claims[["age"]], claims["claims"], claims["years"]
    model = DLNRegressor(loss="poisson", max_rules=1, random_state=0).fit(X, y, exposure=years)
    assert_array_equal(model.predict(X), model.circuit_.predict(X))
    assert_array_equal(model.predict(X, exposure=years), model.predict(X) * years)
    assert model.predict(X).max() == pytest.approx(2.0, rel=0.15)


def test_a_search_reads_the_exposure(claims: pd.DataFrame) -> None:
    X, y, years = claims[["age"]], claims["claims"], claims["years"]
    space = {**SMALL, "epochs": [2, 5]}
    search = DLNRegressorSearchCV(loss="poisson", space=space, n_trials=2, cv=2, random_state=0)
    counts = search.fit(X, y, exposure=years)
    rates = DLNRegressorSearchCV(**search.get_params()).fit(X, y / years, sample_weight=years)
    assert counts.trials_ == rates.trials_
    assert_array_equal(counts.predict(X), rates.predict(X))


@pytest.mark.parametrize(
    ("exposure", "loss", "error", "message"),
    [
        (np.ones(4), "squared", OptionError, "exposure is given with loss='squared'; it needs"),
        (np.ones(3), "poisson", TableError, r"exposure has the shape \(3,\), expected one number"),
        ([1, 0, 1, 1], "poisson", TableError, "the exposure of row 1 is 0; expected finite"),
        ([1, np.nan, 1, 1], "gamma", TableError, "the exposure of row 1 is nan"),
        (["a"] * 4, "gamma", TableError, "exposure cannot be used: expected a number"),
    ],
)
def test_a_wrong_exposure_is_one_line(exposure: Any, loss: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        DLNRegressor(loss=loss).fit([[1], [2], [3], [4]], [1, 2, 3, 4], exposure=exposure)
    assert "\n" not in str(caught.value)


# -- the command line -----------------------------------------------------------------------------


def test_commands_divide_by_the_exposure(run: Run, claims: pd.DataFrame, tmp_path: Path) -> None:
    claims.to_csv(tmp_path / "c.csv", index=False)
    command = ("train", "c.csv", "-t", "claims", "--task", "number", "--exposure", "years")
    fit = ("--loss", "poisson", "--max-rules", 2, "-o", "m.json")
    status, shown, said = run(*command, *fit)
    assert status == 0, said
    circuit = Circuit.load(tmp_path / "m.json")
    assert circuit.number_readout.name == "claims per years"
    assert [column.name for column in circuit.columns] == ["age"]
    status, again, _ = run("evaluate", "m.json", "c.csv", "--json")
    assert status == 0
    assert '"rows": 100' in again
    test_r2 = shown.split("R² on 100 test rows: ")[1].split()[0]
    assert f'"value": {float(test_r2):.2g}'[:12] in again  # the same rows and rates
    status, shown, said = run("prune", "m.json", "c.csv", "-o", "s.json", "--tolerance", "0.5")
    assert status == 0, said
    status, shown, said = run("predict", "m.json", "c.csv")
    assert status == 0, said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--exposure", "claims"), "--exposure and --target both name 'claims'"),
        (("--exposure", "none"), "there is no column 'none'"),
        (("--exposure", "years", "--loss", "squared"), "exposure is given with --loss squared"),
        (("--exposure", "zero"), "the exposure column 'zero' has 0 in row 1; expected numbers"),
        (("--exposure", "word"), "expected"),
        (("--exposure", "years", "--task", "classes", "--loss", "squared"), "for numbers, but"),
    ],
)
def test_a_wrong_column_is_one_line(
    run: Run, claims: pd.DataFrame, tmp_path: Path, options: Any, message: str
) -> None:
    claims.assign(zero=0, word="a").to_csv(tmp_path / "c.csv", index=False)
    usual = ("-t", "claims", "--task", "number", "--loss", "poisson", "-o", "m.json", "-q")
    status, _, said = run("train", "c.csv", *usual, *options)
    assert status != 0
    assert message in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "m.json").exists()
