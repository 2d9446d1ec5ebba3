"""DLNRegressor(init=): the rules of an earlier circuit are kept and corrected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dln import DLNClassifier, DLNRegressor, MissingColumnError, OptionError, TableError

Run = Callable[..., tuple[int, str, str]]


def drifted(seed: int, n_rows: int, shift: float) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(20, 80, n_rows), "city": rng.choice([*"abc"], n_rows)})
    y = np.where(X["age"] > 50, 20.0, 10.0) + shift * (X["city"] == "b") + rng.normal(0, 1, n_rows)
    return X, pd.Series(y, name="price")


@pytest.fixture(scope="module")
def old() -> DLNRegressor:
    return DLNRegressor(max_rules=3, random_state=0).fit(*drifted(0, 300, 0.0))


def test_an_earlier_circuit_is_corrected_where_it_errs(old: DLNRegressor) -> None:
    X, y = drifted(1, 300, 8.0)
    test = drifted(2, 300, 8.0)
    model = DLNRegressor(init=old.circuit_, effort="quick", random_state=0).fit(X, y)
    assert model.score(*test) > 0.9 > old.score(*test)
    assert model.validated_score_ > 0.9
    assert model.predict(X).mean() == pytest.approx(y.mean(), abs=0.01)
    again = DLNRegressor(init=old.circuit_, effort="quick", random_state=0).fit(X, y)
    assert again.circuit_ == model.circuit_


@pytest.mark.parametrize("loss", ["squared", "absolute", "quantile", "poisson", "gamma"])
def test_without_trees_only_the_offset_changes(loss: Any) -> None:
    X, y = drifted(0, 200, 0.0)
    first = DLNRegressor(loss=loss, max_rules=2, random_state=0).fit(X, y).circuit_
    columns = X[["city", "age"]]  # in another order
    second = DLNRegressor(loss=loss, init=first, n_trees=0, simplify=None).fit(columns, 2 * y)
    before, after = first.votes(X)[:, 0], second.circuit_.votes(columns)[:, 0]
    assert len(set((after - before).tolist())) == 1
    assert second.circuit_.number_readout.digits == first.number_readout.digits
    assert {column.name for column in second.circuit_.columns} == {"age", "city"}


def test_every_rule_of_the_earlier_circuit_is_kept(old: DLNRegressor) -> None:
    """New scores are old ones plus those of the trees, which change only on the new rows."""
    X, y = drifted(1, 200, 8.0)
    model = DLNRegressor(init=old.circuit_, n_trees=10, simplify=None, random_state=0).fit(X, y)
    readout, known = model.circuit_.number_readout, old.circuit_.number_readout
    factor = 10 ** (readout.digits - known.digits)
    given = [rule.votes[0] for rule in readout.rules]
    assert all(factor * rule.votes[0] in given for rule in known.rules)


def test_a_category_that_the_earlier_circuit_does_not_know_is_added(old: DLNRegressor) -> None:
    X, y = drifted(3, 200, 0.0)
    X.loc[:60, "city"] = "new"
    y[:61] += 30.0
    model = DLNRegressor(init=old.circuit_, effort="quick", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"loss": "poisson"}, OptionError, "init has the link 'identity', but this loss has 'log'"),
        ({"layers": (4,)}, OptionError, "layers is .* but a fit with init trains no network"),
        ({"max_rules": 3}, OptionError, "init is given, but a fit with a budget"),
    ],
)
def test_a_wrong_combination_is_one_line(
    old: DLNRegressor, parameters: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        DLNRegressor(init=old.circuit_, **parameters).fit(*drifted(1, 50, 0.0))
    assert "\n" not in str(caught.value)


def test_rows_that_do_not_fit_are_refused(old: DLNRegressor) -> None:
    X, y = drifted(1, 50, 0.0)
    with pytest.raises(MissingColumnError, match="age"):
        DLNRegressor(init=old.circuit_).fit(X[["city"]], y)
    with pytest.raises(TableError, match="init needs at least three rows or groups"):
        DLNRegressor(init=old.circuit_).fit(X[:2], y[:2])
    classes = DLNClassifier(max_rules=1).fit(X, y > 15).circuit_
    with pytest.raises(OptionError, match="init predicts classes, expected the circuit of a regr"):
        DLNRegressor(init=classes).fit(X, y)


def test_the_command_learns_on(run: Run, old: DLNRegressor, tmp_path: Path) -> None:
    for name, seed in (("old", 0), ("new", 1)):
        X, y = drifted(seed, 200, 8.0 * seed)
        X.assign(price=y).to_csv(tmp_path / f"{name}.csv", index=False)
    status, _, said = run("train", "old.csv", "-t", "price", "-o", "old.json", "--max-rules", 3)
    assert status == 0, said
    command = ("train", "new.csv", "-t", "price", "--init", "old.json", "-o", "new.json")
    status, shown, said = run(*command, "--effort", "quick")
    assert status == 0, said
    assert "R² on 50 test rows: 0.9" in shown
