"""A circuit moved to another table gives the same votes; a fit keeps its rules and corrects it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, log_loss

from dln import GATE_BY_NAME, Above, Among, Circuit, Column, DLNClassifier, Missing, Node, Rule
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.errors import ColumnTypeError, DlnError, MissingColumnError, OptionError, TableError
from dln.train.earlier import find_earlier
from tests.support.strategies import law

CIRCUIT = Circuit(
    columns=(
        Column("age", "integer"),
        Column("hue", "category", ("blue", "red")),
        Column("unread", "number"),
        Column("size", "number"),
    ),
    literals=(Above(0, 50.0), Among(1, (1,)), Missing(3), Above(3, 0.5)),
    nodes=(Node(GATE_BY_NAME["AND"], 0, 1), Node(GATE_BY_NAME["OR"], 2, 3)),
    rules=(Rule(4, (3, 0)), Rule(5, (0, 2)), Rule(0, (1, 0))),
    base_votes=(0, 1),
    classes=("ill", "well"),
    temperature=2.0,
)


def rows(n_rows: int, seed: int) -> pd.DataFrame:
    """Draw rows with categories that the circuit does not know, and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "hue": rng.choice(["red", "green", "blue", "amber"], n_rows),
            "size": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows)),
            "age": rng.integers(20, 90, n_rows),
            "other": rng.normal(size=n_rows),
        }
    )
    return frame[list(rng.permutation(frame.columns))]


def truth(X: pd.DataFrame) -> Any:
    """Return classes that the circuit predicts only in part."""
    is_ill = (X["age"] > 50) & (X["hue"] == "red") | (X["other"] > 0.3)
    return np.where(is_ill, "ill", "well")


@law
@given(seed=st.integers(0, 1000), factor=st.integers(1, 5), swapped=st.booleans())
def test_a_moved_circuit_gives_the_same_votes_times_the_factor(
    seed: int, factor: int, swapped: bool
) -> None:
    X = rows(40, seed)
    classes = ("well", "ill") if swapped else ("ill", "well")
    table = read_table(X)
    earlier = find_earlier(CIRCUIT, table, classes)
    target, weight = np.arange(40, dtype=np.int32) % 2, np.ones(40, dtype=np.float32)
    encoder, cells = fit_encoder(table, target, weight, EncodeOptions())
    extended = earlier.extend(encoder, cells)
    assert_array_equal(extended.encode(table), cells)
    moved = earlier.move(extended.columns, factor)
    order = [1, 0] if swapped else [0, 1]
    assert moved.classes == classes
    assert_array_equal(moved.votes(X), factor * CIRCUIT.votes(X)[:, order])
    assert_allclose(earlier.points(table), moved.votes(X) / moved.temperature)


def test_without_trees_and_calibration_the_winners_stay() -> None:
    X = rows(60, 0)
    model = DLNClassifier(init=CIRCUIT, n_trees=0, probabilities="votes", random_state=0)
    circuit = model.fit(X, truth(X)).circuit_
    new = rows(500, 1)
    own, old = circuit.votes(new), CIRCUIT.votes(new)
    lead, old_lead = own[:, 0] - own[:, 1], old[:, 0] - old[:, 1]
    factor = lead[old_lead != 0][0] // old_lead[old_lead != 0][0]
    assert_array_equal(lead, factor * old_lead)


def test_trees_correct_what_the_circuit_gets_wrong() -> None:
    X = rows(400, 0)
    new = rows(1000, 1)[X.columns]
    model = DLNClassifier(init=CIRCUIT, random_state=0).fit(X, truth(X))
    before = balanced_accuracy_score(truth(new), CIRCUIT.predict(new))
    after = balanced_accuracy_score(truth(new), model.predict(new))
    assert after > before + 0.1
    # Unknown categories, a column that init lacks and other orders of columns are all fine.
    assert model.circuit_.columns[list(X.columns).index("hue")].categories == (
        "blue",
        "red",
        "amber",
        "green",
    )
    assert model.selection_ == []
    assert model.history_["loss"].shape == (0, 0)
    again = clone(model).fit(X, truth(X))
    assert again.circuit_ == model.circuit_


def test_probabilities_are_calibrated_on_the_new_rows() -> None:
    X = rows(400, 0)
    new = rows(1000, 1)[X.columns]
    y = CIRCUIT.predict(X)
    y[::4] = np.where(y[::4] == "ill", "well", "ill")  # the circuit is right in three of four rows
    sure = replace(CIRCUIT, temperature=0.3)
    model = DLNClassifier(init=sure, n_trees=0, random_state=0).fit(X, y)
    y_new = CIRCUIT.predict(new)
    y_new[::4] = np.where(y_new[::4] == "ill", "well", "ill")
    assert log_loss(y_new, model.predict_proba(new)) < 0.65
    assert log_loss(y_new, sure.predict_proba(new)) > 1


def test_a_column_without_values_is_that_of_the_circuit() -> None:
    X = rows(80, 0).assign(size=None, hue=np.nan)
    model = DLNClassifier(init=CIRCUIT, n_trees=10, random_state=0).fit(X, truth(X))
    kinds = {column.name: column.kind for column in model.circuit_.columns}
    assert kinds["hue"] == "category"
    assert kinds["size"] == "number"


def with_rare_class(y: Any) -> Any:
    return np.where(np.arange(len(y)) < 2, "ill", "well")


@pytest.mark.parametrize(
    ("change", "y", "error", "message"),
    [
        (lambda X: X.drop(columns="age"), truth, MissingColumnError, "the circuit reads"),
        (lambda X: X.assign(age="old"), truth, ColumnTypeError, "'age' holds 'old'"),
        (lambda X: X, lambda X: X["age"] > 50, TableError, "init predicts the classes 'ill'"),
        (lambda X: X, with_rare_class, TableError, "at least three rows or groups"),
    ],
)
def test_other_tables_are_refused(change: Any, y: Any, error: type[DlnError], message: str) -> None:
    X = rows(60, 0)
    with pytest.raises(error, match=message):
        DLNClassifier(init=CIRCUIT, random_state=0).fit(change(X), y(X))


def test_numbers_where_the_circuit_has_categories_are_refused() -> None:
    numbers = Circuit(
        columns=(Column("x", "category", (1, 2)),),
        literals=(Among(0, (0,)),),
        nodes=(),
        rules=(Rule(0, (1, 0)),),
        base_votes=(0, 0),
        classes=("ill", "well"),
    )
    X = pd.DataFrame({"x": np.arange(40) % 3})
    with pytest.raises(ColumnTypeError, match="column 'x' holds numbers, but init"):
        DLNClassifier(init=numbers, random_state=0).fit(X, np.where(X["x"] > 0, "ill", "well"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "old.json"}, "init is 'old.json', expected"),
        ({"init": CIRCUIT, "layers": (4, 2)}, "a fit with init trains no network"),
        ({"init": CIRCUIT, "preset": "paper"}, "preset is .* leave out one of the two"),
        ({"init": CIRCUIT, "max_rules": 3}, "leave out one of the two"),
    ],
)
def test_options_that_contradict_init_are_refused(options: dict[str, Any], message: str) -> None:
    X = rows(60, 0)
    with pytest.raises(OptionError, match=message):
        DLNClassifier(**options).fit(X, truth(X))
