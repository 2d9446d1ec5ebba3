"""Figures of the report: intervals, ROC curves, calibration, and the choice of rows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import dln.report
from dln import Above, Among, Circuit, Column, Rule
from dln.data.table import read_table
from dln.evaluate.scores import tally
from dln.report import make_report
from dln.report.curves import make_curves, mean_auc
from dln.report.intervals import accuracy, area, balanced_accuracy, proportion
from dln.report.rows import read_rows
from tests.support.tools import find_tool


def content(html: str) -> dict[str, Any]:
    """Return the page's JSON object."""
    found = re.search(r'id="page">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


# -- rounding ---------------------------------------------------------------------------------


def test_the_page_rounds_as_python_does() -> None:
    script = (Path(dln.report.__file__).parent / "page" / "text.js").read_text(encoding="utf-8")
    pairs = "for (let n = 1; n <= 200; n++) for (let k = 0; k <= n; k++) "
    write = "console.log([percent(k / n), fixed(k / n, 2), decimals(k / n)].join())"
    done = subprocess.run(
        [find_tool("node", package="nodejs"), "-e", f"{script}\n{pairs}{write}"],
        capture_output=True,
        check=True,
    )
    expected = [
        f"{100 * (k / n):.1f}\N{NO-BREAK SPACE}%,{k / n:.2f},{k / n:.3f}"
        for n in range(1, 201)
        for k in range(n + 1)
    ]
    assert done.stdout.decode().splitlines() == expected


# -- intervals --------------------------------------------------------------------------------


@given(total=st.integers(1, 10_000), share=st.floats(0, 1))
def test_an_interval_contains_its_figure_and_shrinks_with_rows(total: int, share: float) -> None:
    hits = round(share * total)
    few, many = proportion(hits, total), proportion(100 * hits, 100 * total)
    assert few is not None
    assert many is not None
    assert 0 <= few.low <= few.value <= few.high <= 1
    assert many.high - many.low < few.high - few.low


def test_without_rows_there_is_no_proportion() -> None:
    assert proportion(0, 0) is None


def test_wilson_interval_has_the_published_values() -> None:
    # Newcombe (1998), table I, method 3.
    for hits, total, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        found = proportion(hits, total)
        assert found is not None
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_intervals_of_accuracies_have_their_coverage() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([0.9, 0.7])
    inside = np.zeros(2)
    for _ in range(300):
        target = np.repeat([0, 1], 60)
        right = rng.random(120) < truth[target]
        predicted = np.where(right, target, 1 - target)
        counted = tally(target, predicted, np.eye(2)[predicted])
        for place, found in enumerate((accuracy(counted), balanced_accuracy(counted))):
            inside[place] += found.low <= truth.mean() <= found.high
    assert np.all(inside / 300 > 0.92)


@pytest.mark.parametrize(("n_classes", "n_rows", "truth"), [(30, 10, 0.95), (10, 30, 0.99)])
def test_the_interval_of_balanced_accuracy_covers_the_truth_with_many_classes(
    n_classes: int, n_rows: int, truth: float
) -> None:
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(n_classes), n_rows)
    inside = 0
    for _ in range(100):
        right = rng.random(len(target)) < truth
        predicted = np.where(right, target, (target + 1) % n_classes)
        found = balanced_accuracy(tally(target, predicted, np.eye(n_classes)[predicted]))
        assert found.low <= found.value <= found.high
        inside += found.low <= truth <= found.high
    assert inside > 80


def test_with_rows_of_one_class_accuracy_and_balanced_accuracy_agree() -> None:
    target, predicted = np.zeros(9, dtype=int), np.array([0] * 7 + [1] * 2)
    counted = tally(target, predicted, np.eye(2)[predicted])
    assert accuracy(counted) == balanced_accuracy(counted)


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
def test_the_interval_of_the_auc_has_its_coverage(shift: float) -> None:
    from scipy.stats import norm

    truth = norm.cdf(shift / np.sqrt(2))
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        scores = np.concatenate([rng.normal(size=40), rng.normal(size=30) + shift])
        found = area(roc_auc_score(np.repeat([0, 1], [40, 30]), scores), 30, 40)
        assert 0 <= found.low <= found.value <= found.high <= 1
        inside += found.low <= truth <= found.high
    assert inside / 300 > 0.92


# -- curves -----------------------------------------------------------------------------------


@given(data=st.data(), n_classes=st.integers(2, 4), n_rows=st.integers(4, 60))
def test_curves_agree_with_scikit_learn(data: st.DataObject, n_classes: int, n_rows: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    votes = rng.integers(0, 6, (n_rows, n_classes))
    proba = np.exp(votes) / np.exp(votes).sum(axis=1, keepdims=True)
    target = rng.integers(0, n_classes, n_rows)
    for number, curve in enumerate(make_curves(proba, target)):
        is_class = target == number
        assert curve.positive.sum() == is_class.sum()
        assert curve.negative.sum() == (~is_class).sum()
        if 0 < is_class.sum() < n_rows:
            assert curve.auc is not None
            exact = roc_auc_score(is_class, np.round(proba[:, number], 12))
            assert curve.auc.value == pytest.approx(exact)
        else:
            assert curve.auc is None
        for level, threshold in enumerate(curve.levels):
            predicted = np.round(proba[:, number], 12) >= threshold
            assert curve.positive[level:].sum() == (predicted & is_class).sum()


def test_many_probabilities_are_grouped_and_every_threshold_stays_exact() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(5000)
    target = (rng.random(5000) < score).astype(int)
    proba = np.stack([1 - score, score], axis=1)
    curve = make_curves(proba, target)[1]
    assert 100 < len(curve.levels) <= 201
    for level, threshold in enumerate(curve.levels):
        predicted = np.round(score, 12) >= threshold
        assert curve.positive[level:].sum() == target[predicted].sum()
        assert curve.negative[level:].sum() == (1 - target[predicted]).sum()
    assert curve.auc is not None
    assert curve.auc.value == pytest.approx(roc_auc_score(target, score))
    assert curve.calibration_error < 0.03
    assert mean_auc(make_curves(proba, target)) == curve.auc


# -- rows -------------------------------------------------------------------------------------


def score_circuit() -> Circuit:
    """Two columns; class "ill" has as many votes as thresholds are passed."""
    cutoffs = (20.5, 40.5, 60.5, 80.5)
    return Circuit(
        columns=(Column("dose", "number"), Column("city", "category", ("Bern", "Basel"))),
        literals=(*(Above(0, cutoff) for cutoff in cutoffs), Among(1, (1,))),
        nodes=(),
        rules=tuple(Rule(wire, (0, 1)) for wire in range(5)),
        base_votes=(2, 0),
        classes=("healthy", "ill"),
    )


def score_rows(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    dose = np.round(rng.random(n_rows) * 100, 3) + 0.00017  # digits to search the file for
    city = rng.choice(["Bern", "Basel", "Genf-unseen"], n_rows)
    noisy = dose + rng.normal(scale=25, size=n_rows)
    return pd.DataFrame({"dose": dose, "city": city}), np.where(noisy > 50, "ill", "healthy")


def test_the_page_opens_on_a_correct_row_with_the_median_margin() -> None:
    circuit, (X, y) = score_circuit(), score_rows(101)
    test = content(make_report(circuit, X, y).html)["test"]
    number = test["rows"][test["start"]][0]
    votes = circuit.votes(X)
    margins = np.abs(votes[:, 0] - votes[:, 1])
    right = circuit.predict(X) == y
    assert right[number - 1]
    assert margins[number - 1] == np.sort(margins[right])[(right.sum() - 1) // 2]


def test_if_every_prediction_is_wrong_the_first_row_opens() -> None:
    circuit, (X, _) = score_circuit(), score_rows(20)
    wrong = np.where(circuit.predict(X) == "ill", "healthy", "ill")
    assert content(make_report(circuit, X, wrong).html)["test"]["start"] == 0


def test_a_sample_keeps_errors_and_other_rows_and_is_always_the_same() -> None:
    circuit, (X, y) = score_circuit(), score_rows(3000)
    target = np.array([circuit.classes.index(label) for label in y])
    rows = read_rows(read_table(X), target, circuit.evaluate(X))
    sample = rows.to_json(20_000)
    numbers = [row[0] for row in sample["rows"]]
    assert 300 < len(numbers) < 3000
    assert numbers == sorted(set(numbers))
    wrong = sum(rows.wrong[number - 1] for number in numbers)
    assert 0 < wrong < len(numbers)
    assert len(json.dumps(sample["rows"], separators=(",", ":"))) < 20_000
    assert rows.to_json(20_000) == sample
    assert len(rows.to_json(10**9)["rows"]) == 3000


def test_without_rows_the_file_has_no_value_of_a_row() -> None:
    circuit, (X, y) = score_circuit(), score_rows(200)
    html = make_report(circuit, X, y, rows=False).html
    assert not [value for value in X["dose"].astype(str) if value in html]
    assert "Genf-unseen" not in html
    found = content(html)
    assert found["test"] == {
        "total": 200,
        "wrong": int((circuit.predict(X) != y).sum()),
        "rows": None,
        "start": None,
        "word": "test row",
    }
    whole = content(make_report(circuit, X, y).html)
    for key in ("confusion", "curves", "rules"):
        assert found[key] == whole[key]


def test_fifty_columns_and_five_thousand_rows_can_be_mailed() -> None:
    rng = np.random.default_rng(0)
    circuit = Circuit(
        columns=tuple(Column(f"column {i}", "number") for i in range(50)),
        literals=tuple(Above(i, 0.5) for i in range(50)),
        nodes=(),
        rules=tuple(Rule(i, (i % 2, 1 - i % 2)) for i in range(50)),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )
    X = rng.random((5000, 50))
    html = make_report(circuit, X, rng.choice(["no", "yes"], 5000)).html
    assert len(html.encode()) < 2_000_000
    test = content(html)["test"]
    assert test["total"] == 5000
    assert 300 < len(test["rows"]) < 5000
