"""Balanced accuracy at equal size: dln beside other models that people can read.

    DLN_DATA=FOLDER/data python -m benchmarks.equal_size FOLDER --jobs 2 --seeds 3
    … --seconds-limit 400 --fit-seconds-limit 60
    … --report equal-size.svg                                 # fit nothing; draw what is stored

FOLDER has `data/` and `more/`, as for `benchmarks.levels`. For each table and seed: a stratified
75/25 split (HAR and SatIm: the official one), each model at 5, 10, 20 and 40 literals and at as
many rules, balanced accuracy on the test rows. Each result is written to the output file at once,
so a stopped run is resumed by the same command.

What one literal is:

- dln: a test as printed; `x in {a, b}` is one test. One path is fitted; at each size the circuit is
  chosen by cross-validation on training rows (`path_.at`), so it may be smaller.
- CART and FIGS: a split.
- boosted rules: a stump.
- RuleFit: a condition of a rule. The rules are those of imodels' RuleFit. They are taken in the
  order in which they enter the path of an L1 penalty, while they fit, and are refitted without it.
- FasterRisk: a test `x > t` (deciles) or a category, with whole points from -5 to 5.
- EBM: a column, however many steps its curve has. This favours EBM. Four outer bags.

What one rule is: for dln and RuleFit a rule as printed; for the others the same as a literal. So a
tree with 6 leaves counts as 5 rules and a default, although its rules have several tests each.

Models for two classes (FIGS, RuleFit, FasterRisk) become one model for each class, which share the
size equally; the class with the highest score wins. Peers get one-hot categories, medians for
missing numbers, and balanced weights. FasterRisk takes no weights: its scores are compared with the
share of the class. Peers but CART are fitted on at most 20,000 rows, RuleFit on 5,000 and
FasterRisk on 2,000; dln searches on 5,000 at most.

A peer that is stopped by `--fit-seconds-limit` keeps the sizes that it has finished; its larger
sizes count as the largest of these.

FasterRisk 0.1.10 calls a method of arrays, tostring, that NumPy 2.3 removed: install an older
NumPy, or rename the call to tobytes.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.levels import find_tables, read
from benchmarks.resume import add_options, read_results, run_missing, time_limit
from dln import DLNClassifier

SIZES = (5, 10, 20, 40)
UNITS = ("literals", "rules")
MODELS = ("dln", "CART", "FIGS", "RuleFit", "boosted rules", "FasterRisk", "EBM")
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "equal_size.jsonl"

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Tested(NamedTuple):
    """A fitted model: its limit, such as "5 literals", its test accuracy and its size."""

    limit: str
    accuracy: float
    literals: int
    rules: int


class Split(NamedTuple):
    """Encoded training rows and test rows of one table."""

    A: Matrix
    y: Numbers
    A_test: Matrix
    y_test: Numbers
    seed: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(max(self.y.max(), self.y_test.max())) + 1

    @property
    def weight(self) -> Matrix:
        """Balanced weights of the training rows."""
        return np.asarray(compute_sample_weight("balanced", self.y))

    def sample(self, n_rows: int) -> Split:
        """Take some training rows at random, a few of each class at least."""
        if len(self.A) <= n_rows:
            return self
        order = np.random.default_rng(self.seed).permutation(len(self.A))
        few = [order[self.y[order] == k][:50] for k in range(self.n_classes)]
        first = np.concatenate(few)
        rows = np.concatenate([first, np.setdiff1d(order, first, assume_unique=True)])[:n_rows]
        return self._replace(A=self.A[rows], y=self.y[rows])

    def against_rest(self, k: int) -> Split:
        """Ask for one class."""
        return self._replace(y=(self.y == k).astype(np.int64))

    def test(self, scores: Matrix) -> float:
        """Return the balanced accuracy of scores (n_rows, n_classes) of the test rows."""
        return float(balanced_accuracy_score(self.y_test, scores.argmax(axis=1)))


def measure(
    folder: Path, fit_seconds_limit: float, table: str, seed: int, model: str
) -> dict[str, Any]:
    """Fit one model at every size on one split and test it."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = read(folder, table, seed)
    start = time.process_time()
    found: list[Tested] = []
    try:
        with time_limit(fit_seconds_limit):
            for one in _fits(model, X, y, X_test, y_test, seed):
                found.append(one)
    except TimeoutError:
        if not found:
            raise
    return {
        "table": table,
        "seed": seed,
        "model": model,
        "n_rows": len(X),
        "classes": int(y.nunique()),
        "seconds": time.process_time() - start,
        "accuracy": {one.limit: one.accuracy for one in found},
        "literals": {one.limit: int(one.literals) for one in found},
        "rules": {one.limit: int(one.rules) for one in found},
    }


def _fits(model: str, X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> Iterator[Tested]:
    if model == "dln":
        return _dln(X, y, X_test, y_test, seed)
    classes, numbers = np.unique(y, return_inverse=True)
    A, A_test = _encoded(X, X_test)
    return PEERS[model](Split(A, numbers, A_test, np.searchsorted(classes, y_test), seed))


def _encoded(X: pd.DataFrame, X_test: pd.DataFrame) -> tuple[Matrix, Matrix]:
    texts = make_column_selector(dtype_exclude="number")
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=64)
    encode = make_pipeline(
        make_column_transformer((one_hot, texts), remainder="passthrough"),
        SimpleImputer(strategy="median"),
    )
    return np.asarray(encode.fit_transform(X), float), np.asarray(encode.transform(X_test), float)


def _dln(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> Iterator[Tested]:
    model = DLNClassifier(max_rules=max(SIZES), random_state=seed, n_jobs=1).fit(X, y)
    for unit in UNITS:
        for size in SIZES:
            point = model.path_.at(**{f"max_{unit}": size})  # type: ignore[union-attr]
            predicted = model.classes_[point.circuit.winners(X_test)]
            score = float(balanced_accuracy_score(y_test, predicted))
            yield Tested(f"{size} {unit}", score, point.size.n_literals, point.size.n_rules)


def _both(size: int, accuracy: float, n_used: int) -> Iterator[Tested]:
    """Yield a model whose rules are its literals."""
    for unit in UNITS:
        yield Tested(f"{size} {unit}", accuracy, n_used, n_used)


# -- models for any number of classes ---------------------------------------------------------


def _cart(split: Split) -> Iterator[Tested]:
    for size in SIZES:
        tree = DecisionTreeClassifier(
            max_leaf_nodes=size + 1, class_weight="balanced", random_state=split.seed
        ).fit(split.A, split.y)
        score = balanced_accuracy_score(split.y_test, tree.predict(split.A_test))
        yield from _both(size, float(score), tree.get_n_leaves() - 1)


def _boosted(split: Split) -> Iterator[Tested]:
    from imodels import BoostedRulesClassifier

    split = split.sample(20_000)
    for size in SIZES:
        model = BoostedRulesClassifier(n_estimators=size, random_state=split.seed)
        model.fit(split.A, split.y, sample_weight=split.weight)
        score = balanced_accuracy_score(split.y_test, model.predict(split.A_test))
        yield from _both(size, float(score), len(model.estimators_))


def _ebm(split: Split) -> Iterator[Tested]:
    from interpret.glassbox import ExplainableBoostingClassifier

    split = split.sample(20_000)
    model = ExplainableBoostingClassifier(
        interactions=0, outer_bags=4, random_state=split.seed, n_jobs=1
    )
    model.fit(split.A, split.y, sample_weight=split.weight)
    order = np.argsort(-model.term_importances())
    terms = model.eval_terms(split.A_test)
    for size in SIZES:
        kept = order[:size]
        scores = terms[:, kept].sum(axis=1) + model.intercept_
        if scores.ndim == 1:
            scores = np.stack([np.zeros(len(scores)), scores], axis=1)
        yield from _both(size, split.test(scores), len(kept))


# -- models for two classes -------------------------------------------------------------------


class Scored(NamedTuple):
    """Scores (n_rows,) of test rows for one class, positive if it is likelier, and the size."""

    scores: Matrix
    literals: int
    rules: int


FitTwo = Callable[[Split, int, str], Scored]
"""From a split of two classes, a size and its unit."""


def _all_classes(split: Split, make: Callable[[Split], FitTwo]) -> Iterator[Tested]:
    """Fit one model, or one for each of several classes. `make` prepares what all sizes share."""
    parts = [split] if split.n_classes == 2 else []
    parts = parts or [split.against_rest(k) for k in range(split.n_classes)]
    fits = [make(part) for part in parts]
    for size in SIZES:
        for unit in UNITS:
            own_size = max(1, size // len(parts))
            made = [fit(part, own_size, unit) for fit, part in zip(fits, parts, strict=True)]
            scores = [one.scores for one in made]
            if len(scores) == 1:
                scores.insert(0, np.zeros_like(scores[0]))
            yield Tested(
                f"{size} {unit}",
                split.test(np.stack(scores, axis=1)),
                sum(one.literals for one in made),
                sum(one.rules for one in made),
            )


def _remembered(fit: Callable[[Split, int], Scored]) -> FitTwo:
    """Fit each size once, where rules and literals are the same."""
    known: dict[int, Scored] = {}

    def fit_once(split: Split, size: int, unit: str) -> Scored:
        if size not in known:
            known[size] = fit(split, size)
        return known[size]

    return fit_once


def _figs(split: Split) -> Iterator[Tested]:
    from imodels import FIGSClassifier

    def fit(split: Split, size: int) -> Scored:
        model = FIGSClassifier(max_rules=size, random_state=split.seed)
        model.fit(split.A, split.y, sample_weight=split.weight)
        chance = model.predict_proba(split.A_test)[:, 1]
        return Scored(chance - 0.5, model.complexity_, model.complexity_)

    return _all_classes(split.sample(20_000), lambda _: _remembered(fit))


def _fasterrisk(split: Split) -> Iterator[Tested]:
    from fasterrisk.fasterrisk import RiskScoreOptimizer

    def fit(split: Split, size: int) -> Scored:
        # A wide beam of 40 terms takes minutes on small tables.
        width = 10 if size <= 10 else 3 if size <= 20 else 1
        sign = np.where(split.y == 1, 1.0, -1.0)
        search = RiskScoreOptimizer(
            split.A, sign, k=min(size, split.A.shape[1]), parent_size=width, maxAttempts=10
        )
        search.optimize()
        multiplier, base, points = search.get_models(model_index=0)
        share = float((split.y == 1).mean())
        scores = (base + split.A_test @ points) / multiplier - np.log(share / (1.0 - share))
        used = int(np.count_nonzero(points))
        return Scored(scores, used, used)

    split = split.sample(2_000)
    bits, bits_test = _decile_bits(split)
    split = split._replace(A=bits, A_test=bits_test)
    return _all_classes(split, lambda _: _remembered(fit))


def _decile_bits(split: Split) -> tuple[Matrix, Matrix]:
    steps = np.linspace(0.1, 0.9, 9)
    tests = [
        (place, cutoff)
        for place, column in enumerate(split.A.T)
        for cutoff in (np.unique(np.quantile(column, steps)) if len(set(column)) > 2 else [0.5])
        if 0 < (column > cutoff).mean() < 1
    ]
    return tuple(  # type: ignore[return-value]
        np.column_stack([rows[:, place] > cutoff for place, cutoff in tests]).astype(np.float64)
        for rows in (split.A, split.A_test)
    )


def _rulefit(split: Split) -> Iterator[Tested]:
    return _all_classes(split.sample(5_000), _make_rulefit)


def _make_rulefit(split: Split) -> FitTwo:
    """Find the rules and the path of an L1 penalty, which all sizes share."""
    from imodels.util.extract import extract_rulefit

    names = [f"X{place}" for place in range(split.A.shape[1])]
    rules = extract_rulefit(
        split.A, split.y, feature_names=names, n_estimators=100, random_state=split.seed
    )
    fires, fires_test = (
        np.column_stack([_holds(rule, rows) for rule in rules]).astype(np.float64)
        for rows in (split.A, split.A_test)
    )
    lengths = np.array([rule.count(" and ") + 1 for rule in rules])
    order: dict[int, None] = {}  # rules as they enter the path, the strongest first
    for strength in np.logspace(-3.5, 0.5, 25):
        lasso = LogisticRegression(
            l1_ratio=1.0, C=strength, solver="liblinear", class_weight="balanced"
        ).fit(fires, split.y)
        strongest = np.argsort(-np.abs(lasso.coef_[0]), kind="stable").tolist()
        order |= dict.fromkeys(rule for rule in strongest if lasso.coef_[0][rule])
        if len(order) > 2 * max(SIZES):
            break

    def fit(split: Split, size: int, unit: str) -> Scored:
        kept: list[int] = []
        left = size
        for rule in order:
            price = int(lengths[rule]) if unit == "literals" else 1
            if price <= left:
                kept.append(rule)
                left -= price
        if not kept:
            return Scored(np.zeros(len(fires_test)), 0, 0)
        again = LogisticRegression(class_weight="balanced").fit(fires[:, kept], split.y)
        scores = again.decision_function(fires_test[:, kept])
        return Scored(scores, int(lengths[kept].sum()), len(kept))

    return fit


def _holds(rule: str, rows: Matrix) -> NDArray[np.bool_]:
    """Evaluate a rule such as "X3 <= 2.5 and X1 > 0"."""
    held = np.ones(len(rows), dtype=bool)
    for condition in str(rule).split(" and "):
        name, sign, value = condition.split()
        column = rows[:, int(name[1:])]
        held &= column <= float(value) if sign == "<=" else column > float(value)
    return held


PEERS: dict[str, Callable[[Split], Iterator[Tested]]] = {
    "CART": _cart,
    "FIGS": _figs,
    "RuleFit": _rulefit,
    "boosted rules": _boosted,
    "FasterRisk": _fasterrisk,
    "EBM": _ebm,
}


# -- summary ----------------------------------------------------------------------------------


def summary(results: list[dict[str, Any]]) -> str:
    """Format means over the splits that every model has finished, with standard errors."""
    scores = _scores(results)
    splits = scores.groupby(["table", "seed"]).ngroups
    lines = [
        f"{scores.index.get_level_values('table').nunique()} tables, {splits} splits. In brackets: "
        "difference to dln ± its standard error over tables.",
    ]
    for unit in UNITS:
        lines += [
            "",
            "| model | " + " | ".join(f"{size} {unit}" for size in SIZES) + " |",
            "| --- |" + " --- |" * len(SIZES),
        ]
        for model in scores.columns:
            cells = [_cell(scores, f"{size} {unit}", model) for size in SIZES]
            lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(scores: pd.DataFrame, limit: str, model: str) -> str:
    own = 100 * scores.xs(limit, level="limit").groupby("table").mean()
    mean = f"{own[model].mean():.1f}"
    if model == "dln" or "dln" not in own:
        return mean
    ahead = own[model] - own["dln"]
    return f"{mean} ({ahead.mean():+.1f} ± {ahead.std() / np.sqrt(len(ahead)):.1f})"


def _scores(results: list[dict[str, Any]]) -> pd.DataFrame:
    """Return accuracies by table, seed and limit (rows) and model, where no model is missing."""
    rows = [
        (own["table"], own["seed"], f"{size} {unit}", own["model"], _accuracy(own, size, unit))
        for own in results
        for size in SIZES
        for unit in UNITS
    ]
    frame = pd.DataFrame(rows, columns=["table", "seed", "limit", "model", "accuracy"])
    wide = frame.pivot_table(index=["table", "seed", "limit"], columns="model", values="accuracy")
    return wide[[model for model in MODELS if model in wide]].dropna()


def _accuracy(result: dict[str, Any], size: int, unit: str) -> float:
    """Return the accuracy at a size, or at the largest smaller one that was finished."""
    limits = [f"{own} {unit}" for own in SIZES if own <= size]
    known = [result["accuracy"][limit] for limit in limits if limit in result["accuracy"]]
    return known[-1] if known else float("nan")


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Plot mean balanced accuracy against the number of literals and of rules."""
    from matplotlib.figure import Figure

    scores = _scores(results)
    means = 100 * scores.groupby(["limit", "table"]).mean().groupby("limit").mean()
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, unit in zip(figure.subplots(1, 2, sharey=True), UNITS, strict=True):
        for model in means.columns:
            width = 2.5 if model == "dln" else 1.2
            heights = [means.loc[f"{size} {unit}", model] for size in SIZES]
            axes.plot(SIZES, heights, marker="o", linewidth=width, label=model)
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.set_xlabel(unit)
    axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("balanced accuracy on test rows (%)")
    figure.savefig(path)


def main() -> None:
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument("--tables", default="", help="comma-separated names; all by default")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated models")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits per table")
    parser.add_argument(
        "--fit-seconds-limit", type=float, default=600.0, help="stop a model on a split after this"
    )
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
    names.sort(key=lambda name: -(arguments.folder / files[name]).stat().st_size)
    cells = [
        (name, seed, model)
        for seed in range(arguments.seeds)
        for name in names  # large ones first, so that no long fit is left at the end
        for model in arguments.models.split(",")
    ]
    fit = partial(measure, arguments.folder, arguments.fit_seconds_limit)
    print(summary(run_missing(fit, cells, arguments)))


if __name__ == "__main__":
    main()
