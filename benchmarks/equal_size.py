"""Balanced accuracy at equal size: dln beside other models that people can read.

    python -m benchmarks.equal_size FOLDER                              # small tables first
    python -m benchmarks.equal_size FOLDER --jobs 16 --seconds-limit 3000 --seeds 3
    python -m benchmarks.equal_size FOLDER --report equal-size.svg

FOLDER has `data/` and `more/`, as for `benchmarks.levels`. For each table and seed: a stratified
75/25 split, each model at 5, 10, 20 and 40 literals, balanced accuracy on the test rows. Each
result is written to the output file at once, so a stopped run is resumed by the same command.

What one literal is:

- dln: a test as printed; `x in {a, b}` is one test. One path is fitted; at each size the circuit is
  chosen by cross-validation on training rows (`path_.at`), so it may be smaller.
- CART and FIGS: a split. FIGS and score cards with several classes: one model for each class, which
  share the literals equally.
- boosted rules: a stump.
- score card: a test `x > t` (deciles) or a category with whole points from -5 to 5, by logistic
  regression with an L1 penalty and rounding. It is like FasterRisk, but not that program.
- EBM: a column, however many steps its curve has. This favours EBM. Four outer bags.

RuleFit is missing: that of imodels 3.0.4 keeps no rules with scikit-learn 1.9.

Peers get one-hot categories, medians for missing numbers, and balanced weights.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.levels import find_tables, read
from benchmarks.resume import add_options, read_results, run_missing
from dln import DLNClassifier

SIZES = (5, 10, 20, 40)
MODELS = ("dln", "CART", "FIGS", "boosted rules", "score card", "EBM")
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "equal_size.jsonl"
_LARGE = 20_000
"""Peers other than CART are fitted on at most this number of rows."""

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]
Scores = dict[int, tuple[float, int, int]]
"""Balanced accuracy, literals and rules of each size."""


def measure(folder: Path, table: str, seed: int, model: str) -> dict[str, Any]:
    """Fit one model at every size on one split and test it."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = read(folder, table, seed)
    start = time.process_time()
    if model == "dln":
        found = _dln(X, y, X_test, y_test, seed)
    else:
        classes, numbers = np.unique(y, return_inverse=True)
        numbers_test = np.searchsorted(classes, y_test)
        rows = np.random.default_rng(seed).permutation(len(X))[:_LARGE]
        A, A_test = _encoded(X.iloc[rows], X_test)
        found = PEERS[model](A, numbers[rows], A_test, numbers_test, seed)
    return {
        "table": table,
        "seed": seed,
        "model": model,
        "rows": len(X),
        "classes": int(y.nunique()),
        "seconds": time.process_time() - start,
        "accuracy": {size: float(score) for size, (score, _, _) in found.items()},
        "literals": {size: int(literals) for size, (_, literals, _) in found.items()},
        "rules": {size: int(rules) for size, (_, _, rules) in found.items()},
    }


def _encoded(X: pd.DataFrame, X_test: pd.DataFrame) -> tuple[Matrix, Matrix]:
    texts = make_column_selector(dtype_exclude="number")
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=64)
    encode = make_pipeline(
        make_column_transformer((one_hot, texts), remainder="passthrough"),
        SimpleImputer(strategy="median"),
    )
    return np.asarray(encode.fit_transform(X), float), np.asarray(encode.transform(X_test), float)


def _dln(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> Scores:
    model = DLNClassifier(max_literals=max(SIZES), random_state=seed, n_jobs=1).fit(X, y)
    found = {}
    for size in SIZES:
        point = model.path_.at(max_literals=size)  # type: ignore[union-attr]
        predicted = model.classes_[point.circuit.winners(X_test)]
        score = balanced_accuracy_score(y_test, predicted)
        found[size] = (score, point.size.n_literals, point.size.n_rules)
    return found


def _cart(A: Matrix, y: Numbers, A_test: Matrix, y_test: Numbers, seed: int) -> Scores:
    found = {}
    for size in SIZES:
        tree = DecisionTreeClassifier(
            max_leaf_nodes=size + 1, class_weight="balanced", random_state=seed
        ).fit(A, y)
        leaves = tree.get_n_leaves()
        score = balanced_accuracy_score(y_test, tree.predict(A_test))
        found[size] = (score, leaves - 1, leaves)
    return found


def _one_for_each_class(fit: Any, A: Matrix, y: Numbers, A_test: Matrix, size: int) -> Any:
    """Return the scores of all classes, the literals and the rules."""
    n_classes = int(y.max()) + 1
    if n_classes == 2:
        chance, literals, rules = fit(A, y, A_test, size)
        return np.stack([1 - chance, chance], axis=1), literals, rules
    parts = [fit(A, y == k, A_test, max(1, size // n_classes)) for k in range(n_classes)]
    chances, literals, rules = zip(*parts, strict=True)
    return np.stack(chances, axis=1), sum(literals), sum(rules)


def _by_class(fit: Any, A: Matrix, y: Numbers, A_test: Matrix, y_test: Numbers) -> Scores:
    found = {}
    for size in SIZES:
        scores, literals, rules = _one_for_each_class(fit, A, y, A_test, size)
        accuracy = balanced_accuracy_score(y_test, scores.argmax(axis=1))
        found[size] = (accuracy, literals, rules)
    return found


def _figs(A: Matrix, y: Numbers, A_test: Matrix, y_test: Numbers, seed: int) -> Scores:
    from imodels import FIGSClassifier

    def fit(A: Matrix, y: Any, A_test: Matrix, size: int) -> Any:
        model = FIGSClassifier(max_rules=size, random_state=seed)
        model.fit(A, y.astype(int), sample_weight=compute_sample_weight("balanced", y))
        return model.predict_proba(A_test)[:, 1], model.complexity_, model.complexity_

    return _by_class(fit, A, y, A_test, y_test)


def _boosted(A: Matrix, y: Numbers, A_test: Matrix, y_test: Numbers, seed: int) -> Scores:
    weight = compute_sample_weight("balanced", y)
    found = {}
    for size in SIZES:
        stump = DecisionTreeClassifier(max_depth=1)
        model = AdaBoostClassifier(stump, n_estimators=size, random_state=seed)
        model.fit(A, y, sample_weight=weight)
        score = balanced_accuracy_score(y_test, model.predict(A_test))
        found[size] = (score, len(model.estimators_), len(model.estimators_))
    return found


def _card(A: Matrix, y: Numbers, A_test: Matrix, y_test: Numbers, seed: int) -> Scores:
    cutoffs = [np.unique(np.quantile(column, np.linspace(0.1, 0.9, 9))) for column in A.T]
    cutoffs = [
        own if len(np.unique(col)) > 2 else [0.5] for own, col in zip(cutoffs, A.T, strict=True)
    ]

    def bits(B: Matrix) -> Matrix:
        return np.column_stack(
            [B[:, place] > cut for place, own in enumerate(cutoffs) for cut in own]
        ).astype(float)

    def fit(A: Matrix, y: Any, A_test: Matrix, size: int) -> Any:
        best = (np.full(len(A_test), 0.5), 0, 0)
        for strength in np.logspace(-3.5, 1, 19):
            model = LogisticRegression(
                l1_ratio=1.0, C=strength, solver="liblinear", class_weight="balanced"
            )
            model.fit(A, y)
            kept = np.flatnonzero(model.coef_[0])
            if len(kept) > size:
                break
            if len(kept) == 0:
                continue
            again = LogisticRegression(class_weight="balanced").fit(A[:, kept], y)
            points = np.round(again.coef_[0] * 5 / np.abs(again.coef_).max())
            total = (A[:, kept] @ points)[:, None]
            scale = LogisticRegression(class_weight="balanced").fit(total, y)
            chance = scale.predict_proba((A_test[:, kept] @ points)[:, None])[:, 1]
            used = int(np.count_nonzero(points))
            best = (chance, used, used)
        return best

    rows = np.random.default_rng(seed).permutation(len(A))[:5_000]
    return _by_class(fit, bits(A[rows]), y[rows], bits(A_test), y_test)


def _ebm(A: Matrix, y: Numbers, A_test: Matrix, y_test: Numbers, seed: int) -> Scores:
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(interactions=0, outer_bags=4, random_state=seed, n_jobs=1)
    model.fit(A, y, sample_weight=compute_sample_weight("balanced", y))
    order = np.argsort(-model.term_importances())
    terms = model.eval_terms(A_test)
    found = {}
    for size in SIZES:
        kept = order[:size]
        scores = terms[:, kept].sum(axis=1) + model.intercept_
        if scores.ndim == 1:
            scores = np.stack([np.zeros(len(scores)), scores], axis=1)
        accuracy = balanced_accuracy_score(y_test, scores.argmax(axis=1))
        found[size] = (accuracy, len(kept), len(kept))
    return found


PEERS = {
    "CART": _cart,
    "FIGS": _figs,
    "boosted rules": _boosted,
    "score card": _card,
    "EBM": _ebm,
}


def summary(results: list[dict[str, Any]]) -> str:
    """Format means over the tables that every model has finished, with standard errors."""
    scores = _scores(results)
    tables = scores.index.get_level_values("table").nunique()
    lines = [
        f"{tables} tables, {len(scores) // max(1, len(SIZES))} splits. In brackets: standard error "
        "over tables of the difference to dln.",
        "",
        "| model | " + " | ".join(f"{size} literals" for size in SIZES) + " |",
        "| --- |" + " --- |" * len(SIZES),
    ]
    for model in scores.columns:
        cells = []
        for size in SIZES:
            own = 100 * scores.xs(size, level="size").groupby("table").mean()
            behind = own[model] - own["dln"]
            error = behind.std() / np.sqrt(len(behind))
            cells.append(f"{own[model].mean():.1f}" + ("" if model == "dln" else f" ({error:.1f})"))
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _scores(results: list[dict[str, Any]]) -> pd.DataFrame:
    """Return accuracies by table, seed and size (rows) and model, where no model is missing."""
    rows = [
        (own["table"], own["seed"], int(size), own["model"], accuracy)
        for own in results
        for size, accuracy in own["accuracy"].items()
    ]
    frame = pd.DataFrame(rows, columns=["table", "seed", "size", "model", "accuracy"])
    wide = frame.pivot_table(index=["table", "seed", "size"], columns="model", values="accuracy")
    return wide[[model for model in MODELS if model in wide]].dropna()


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Plot mean balanced accuracy against the number of literals."""
    from matplotlib.figure import Figure

    means = 100 * _scores(results).groupby(["size", "table"]).mean().groupby("size").mean()
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for model in means.columns:
        width = 2.5 if model == "dln" else 1.2
        axes.plot(means.index, means[model], marker="o", linewidth=width, label=model)
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES, [str(size) for size in SIZES])
    axes.set_xlabel("literals")
    axes.set_ylabel("balanced accuracy on test rows (%)")
    axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument("--tables", default="", help="comma-separated names; all by default")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated models")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits per table")
    add_options(parser, DEFAULT_OUTPUT)
    parser.add_argument("--report", type=Path, help="fit nothing; draw the results to this file")
    arguments = parser.parse_args()
    if arguments.report is not None:
        results = read_results(arguments.output)
        draw(results, arguments.report)
        print(summary(results))
        return
    files = find_tables(arguments.folder)
    names = arguments.tables.split(",") if arguments.tables else list(files)
    names.sort(key=lambda name: (arguments.folder / files[name]).stat().st_size)
    cells = [
        (name, seed, model)
        for seed in range(arguments.seeds)
        for name in names
        for model in arguments.models.split(",")
    ]
    print(summary(run_missing(partial(measure, arguments.folder), cells, arguments)))


if __name__ == "__main__":
    main()
