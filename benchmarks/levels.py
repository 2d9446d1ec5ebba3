"""Accuracy, probabilities, size and time of `DLNClassifier` at each `effort`, and of peers.

    python -m benchmarks.levels FOLDER                                   # all tables, four seeds
    … --tables Heart,vowel --models quick,normal --seeds 1
    … --models ebm,high --jobs 16 --seconds-limit 500

FOLDER has `data/` (the paper's 19 tables, as `reproduction` prepares them) and `more/` (16 further
tables). For each table and seed: a stratified 75/25 split (HAR and SatIm: the official one), a fit
on the training rows with one thread, and scores on the test rows. A level chooses on training rows
only. Models are measured in the order given. Each result is written to the output file at once, so
the same command resumes a stopped run. Peers have their default parameters and balanced class
weights; their probabilities are corrected for the class frequencies of the training rows. The
tables at the end have the splits that every model has finished.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.resume import Cell, add_options, run_missing
from benchmarks.same_circuits import load
from dln import DLNClassifier
from reproduction import datasets
from reproduction.protocol import split_rows

LEVELS = ("quick", "normal", "high", "best")
PEERS = ("ebm", "lightgbm", "forest", "boosting")
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "levels.jsonl"
N_BINS = 10
"""Number of bins of the calibration error."""


def find_tables(folder: Path) -> dict[str, str]:
    """Return the path in the folder of every table with classes, by name."""
    files = [*(folder / "data").glob("*.csv*"), *(folder / "more/classification").glob("*.csv*")]
    return {file.name.split(".")[0]: str(file.relative_to(folder)) for file in sorted(files)}


def read(folder: Path, name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return X and y of the training rows, and X and y of the test rows."""
    if name in datasets.NAMES:
        dataset = datasets.load(name)
        train, test = split_rows(dataset, seed)
        X, y = dataset.X, dataset.y
        return X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    X, y = load(folder, find_tables(folder)[name])
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    return X, y, X_test, y_test


def make_model(name: str, seed: int) -> Any:
    """Return a classifier: a level of `effort`, or a peer with its default parameters."""
    if name in LEVELS:
        return DLNClassifier(effort=name, random_state=seed, n_jobs=1)  # type: ignore[arg-type]
    if name == "ebm":
        from interpret.glassbox import ExplainableBoostingClassifier

        return ExplainableBoostingClassifier(random_state=seed, n_jobs=1)
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        model: Any = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    elif name == "forest":
        model = RandomForestClassifier(300, random_state=seed)
    else:
        model = HistGradientBoostingClassifier(random_state=seed)
    texts = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=64), texts),
        remainder="passthrough",
    )
    return make_pipeline(encode, SimpleImputer(), model)


def fit(model: Any, name: str, X: Any, y: Any) -> Any:
    """Fit a model; peers get balanced weights."""
    if name in LEVELS:
        return model.fit(X, y)
    weight = compute_sample_weight("balanced", y)
    if name == "ebm":
        return model.fit(X, y, sample_weight=weight)
    return model.fit(X, y, **{f"{model.steps[-1][0]}__sample_weight": weight})


def measure(folder: Path, table: str, seed: int, name: str) -> dict[str, object]:
    """Fit one model on one split and test it."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = read(folder, table, seed)
    labels = np.unique(y)  # as numbers, since EBM turns labels into text
    y, y_test = np.searchsorted(labels, y), np.searchsorted(labels, y_test)
    start = time.process_time()  # of one core, so other fits on the machine matter less
    model = fit(make_model(name, seed), name, X, y)
    seconds = time.process_time() - start
    probabilities = np.asarray(model.predict_proba(X_test), dtype=np.float64)
    if name in PEERS:  # trained with equal class weights; restore the class frequencies
        shares = [float((y == label).mean()) for label in model.classes_]
        probabilities = probabilities * shares
        probabilities /= probabilities.sum(axis=1, keepdims=True)
    result: dict[str, object] = {
        "table": table,
        "seed": seed,
        "model": name,
        "rows": len(X),
        "accuracy": balanced_accuracy_score(y_test, model.predict(X_test)),
        "seconds": seconds,
        **probability_scores(y_test, probabilities, model.classes_),
    }
    if name in LEVELS:
        result |= {"gates": model.circuit_.n_gates, "literals": model.circuit_.n_literals}
    return result


def probability_scores(
    y: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any]
) -> dict[str, float]:
    """Return AUC (one class against the rest), log loss, Brier score and calibration error."""
    truth = (y[:, None] == classes[None, :]).astype(np.float64)
    top = probabilities.argmax(axis=1)
    sure = probabilities[np.arange(len(y)), top]
    right = truth[np.arange(len(y)), top]
    bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
    apart = [abs((right - sure)[bins == number].sum()) for number in range(N_BINS)]
    auc = [
        roc_auc_score(truth[:, number], probabilities[:, number])
        for number in range(len(classes))
        if 0 < truth[:, number].sum() < len(y)
    ]
    return {
        "auc": float(np.mean(auc)),
        "log_loss": float(log_loss(y, probabilities, labels=classes)),
        "brier": float(((probabilities - truth) ** 2).sum(axis=1).mean()),
        "calibration_error": float(sum(apart) / len(y)),
    }


def summary(results: list[dict[str, Any]], models: list[str], tables: Iterable[str]) -> str:
    """Format means over tables, of means over seeds, as a Markdown table."""
    frame = pd.DataFrame(results)
    frame = frame[frame["model"].isin(models) & frame["table"].isin(list(tables))]
    cells = frame.groupby(["table", "seed"])["model"].nunique()
    complete = cells[cells == len(models)].index
    frame = frame.set_index(["table", "seed"]).loc[complete].reset_index()
    if frame.empty:
        return "no split that all models have finished"
    means = frame.groupby(["model", "table"]).mean(numeric_only=True)
    ranks = means["accuracy"].unstack("model").rank(axis=1, ascending=False)
    lines = [
        f"{frame['table'].nunique()} tables, {len(complete)} splits",
        "",
        "| model | balanced accuracy | against the first model | wins : losses | rank | AUC | "
        "log loss | Brier | calibration error | gates (median) | seconds | slowest |",
        "| --- " * 12 + "|",
    ]
    for name in models:
        own = means.loc[name]
        apart = 100 * (own["accuracy"] - means.loc[models[0]]["accuracy"])
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        gates = f"{own['gates'].median():,.0f}" if name in LEVELS else ""
        versus = f"{apart.mean():+.2f} ± {error:.2f}" if name != models[0] else ""
        score = f"{(apart > 0).sum()} : {(apart < 0).sum()}" if name != models[0] else ""
        lines.append(
            f"| {name} | {100 * own['accuracy'].mean():.2f} | {versus} | {score} "
            f"| {ranks[name].mean():.2f} | {own['auc'].mean():.3f} | {own['log_loss'].mean():.3f} "
            f"| {own['brier'].mean():.3f} | {own['calibration_error'].mean():.3f} | {gates} "
            f"| {own['seconds'].mean():.1f} | {own['seconds'].max():.0f} |"
        )
    return "\n".join(lines)


def details(results: list[dict[str, Any]], models: list[str]) -> str:
    """Format the accuracy on each table as a Markdown table; in brackets: the splits, if not 4."""
    frame = pd.DataFrame(results)
    means = 100 * frame.pivot_table(index="table", columns="model", values="accuracy")
    counts = frame.pivot_table(index="table", columns="model", values="seed", aggfunc="count")
    lines = [f"| table | {' | '.join(models)} |", f"| --- |{' --- |' * len(models)}"]
    for table in sorted(means.index, key=str.lower):
        cells = []
        for model in models:
            count = counts[model].get(table, 0) if model in counts else 0
            few = "" if count == 4 else f" ({count:.0f})"
            cells.append(f"{means[model][table]:.1f}{few}" if count > 0 else "")
        lines.append(f"| {table} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cells_of(arguments: argparse.Namespace) -> list[Cell]:
    """List what to measure: model by model, seed by seed, and tables as given or largest first.

    If a run is stopped, the first models have the most splits.
    """
    files = find_tables(arguments.folder)
    size = {name: (arguments.folder / path).stat().st_size for name, path in files.items()}
    largest_first = sorted(files, key=lambda name: -size[name])
    names = arguments.tables.split(",") if arguments.tables else largest_first
    names = [name for name in names if name not in arguments.without.split(",")]
    models, seeds = arguments.models.split(","), range(arguments.seeds)
    return [(name, seed, model) for model in models for seed in seeds for name in names]


def groups(wanted: list[Cell]) -> dict[str, list[str]]:
    """Return the tables of each summary."""
    names = sorted({name for name, _, _ in wanted})
    return {
        "All": names,
        "Of the paper": [name for name in names if name in datasets.NAMES],
        "Further": [name for name in names if name not in datasets.NAMES],
    }


def main() -> None:
    """Run the missing fits and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument(
        "--tables",
        default="",
        help="comma-separated names, in their order; default: all, the largest file first",
    )
    parser.add_argument("--without", default="", help="comma-separated names to leave out")
    parser.add_argument("--models", default=",".join((*LEVELS, *PEERS)), help="comma-separated")
    parser.add_argument("--seeds", type=int, default=4, help="number of splits per table")
    add_options(parser, DEFAULT_OUTPUT)
    arguments = parser.parse_args()
    os.environ["DLN_DATA"] = str(arguments.folder / "data")  # for `reproduction`, in all workers
    wanted = cells_of(arguments)
    results = run_missing(partial(measure, arguments.folder), wanted, arguments)
    models = arguments.models.split(",")
    print(f"\n{details(results, models)}")
    for title, tables in groups(wanted).items():
        print(f"\n{title}: {summary(results, models, tables)}")


if __name__ == "__main__":
    main()
