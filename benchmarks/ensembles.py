"""Single, summed, bagged and boosted networks: accuracy, size and time on unseen rows.

    python -m benchmarks.ensembles FOLDER --jobs 4     # run what is missing, then print
    python -m benchmarks.ensembles FOLDER --no-run     # only print the stored results
    … --tables Heart,vowel,airfoil --seeds 1

FOLDER has `data/` (the paper's 19 tables) and `more/` (16 further tables with classes, 12 with
numbers). Fits on at most 1,500 of a table's training rows are evaluated on at most 2,000 others, by
balanced accuracy or R² in percent; test rows of the reported splits are not used. Ensembles have
five networks of two layers of 64 and 32 gates. A single network is also trained five times as long
(equal time) and five times as wide (equal size). No trees are grown. Each result is written to the
output file at once, so the same command resumes a stopped run. The tables at the end have the
splits that every variant has finished.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from benchmarks import levels, regression
from benchmarks.resume import Result, add_options, run_missing
from dln import DLNClassifier, DLNRegressor, cost

DEFAULT_OUTPUT = Path(__file__).parent / "results" / "ensembles.jsonl"
FIRST_SEED = 10
"""Other figures in the docs are of seeds 0 to 3."""

N_ROWS, N_UNSEEN = 1_500, 2_000
N_NETWORKS, EPOCHS, LAYERS = 5, 100, (64, 32)
WIDE = tuple(N_NETWORKS * width for width in LAYERS)
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "summed": {"n_networks": N_NETWORKS},
    "bagged": {"n_networks": N_NETWORKS, "ensemble": "bagging"},
    "boosted by weights": {"n_networks": N_NETWORKS, "ensemble": "boosting"},
    "boosted by residual points": {"n_networks": N_NETWORKS, "ensemble": "residuals"},
    "single": {"n_networks": 1},
    "single, five times as long": {"n_networks": 1, "epochs": N_NETWORKS * EPOCHS},
    "single, five times as wide": {"n_networks": 1, "layers": WIDE},
}
FIRST, *_ = VARIANTS


def variants_of(is_number: bool) -> list[str]:
    """List the variants of a task; weights are for classes only."""
    return [name for name in VARIANTS if not (is_number and name == "boosted by weights")]


def split(folder: Path, table: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return X and y of the rows to train on, and X and y of unseen rows, all training rows."""
    numbers = regression.find_tables(folder)
    if table in numbers:
        rows = pd.read_csv(numbers[table]).sample(frac=1, random_state=0)
        X, y = rows.drop(columns="y"), rows["y"]
        X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=seed)
        kind = None
    else:
        X, y, _, _ = levels.read(folder, table, seed)
        kind = y
    X, X_unseen, y, y_unseen = train_test_split(
        X, y, test_size=0.25, stratify=kind, random_state=seed
    )
    return X[:N_ROWS], y[:N_ROWS], X_unseen[:N_UNSEEN], y_unseen[:N_UNSEEN]


def measure(folder: Path, table: str, seed: int, variant: str) -> Result:
    """Fit one variant on one split."""
    warnings.simplefilter("ignore")
    X, y, X_unseen, y_unseen = split(folder, table, seed)
    usual = {"layers": LAYERS, "epochs": EPOCHS, "n_cutoffs": 6, "random_state": seed, "n_jobs": 1}
    is_number = table in regression.find_tables(folder)
    model: Any = (
        DLNRegressor(**{**usual, **VARIANTS[variant]})
        if is_number
        else DLNClassifier(**{**usual, "tau": 8.0, **VARIANTS[variant]})
    )
    start = process_time()
    model.fit(X, y)
    seconds = process_time() - start
    score = r2_score if is_number else balanced_accuracy_score
    return {
        "table": table,
        "seed": seed,
        "model": variant,
        "task": "numbers" if is_number else "classes",
        "accuracy": round(100 * float(score(y_unseen, model.predict(X_unseen))), 4),
        "gate_operations": cost(model.circuit_).gate_operations,
        "seconds": round(seconds, 3),
    }


def report(results: Sequence[Result]) -> str:
    """Compare the variants of each task on the splits that all of them have."""
    parts = []
    for task in ("classes", "numbers"):
        found: defaultdict[tuple[str, int], dict[str, Result]] = defaultdict(dict)
        for one in results:
            if one["task"] == task:
                found[one["table"], one["seed"]][one["model"]] = one
        names = variants_of(task == "numbers")
        whole = {key: row for key, row in found.items() if len(row) == len(names)}
        if whole:
            parts.append(_table(task, names, whole))
    return "\n\n".join(parts)


def _table(
    task: str, names: Sequence[str], whole: Mapping[tuple[str, int], Mapping[str, Result]]
) -> str:
    tables = sorted({table for table, _ in whole})
    measured = "balanced accuracy" if task == "classes" else "R²"
    lines = [
        f"{len(tables)} tables with {task}, {len(whole)} splits. Differences from five summed "
        "networks, in points on unseen rows; every table has the same weight.",
        "",
        f"| variant | {measured}, % | difference | ± | gate-level operations | processor seconds |",
        "| --- " * 6 + "|",
    ]

    def means(variant: str, of: str) -> np.ndarray:
        """Average over the splits of each table."""
        own = [
            [float(row[variant][of]) for (name, _), row in whole.items() if name == table]
            for table in tables
        ]
        return np.array([np.mean(values) for values in own])

    for variant in names:
        accuracy = means(variant, "accuracy")
        points = accuracy - means(FIRST, "accuracy")
        sizes = [np.maximum(1, means(each, "gate_operations")) for each in (variant, FIRST)]
        ratio = np.exp(np.mean(np.log(sizes[0]) - np.log(sizes[1])))
        error = np.std(points, ddof=1) / np.sqrt(len(points)) if len(points) > 1 else np.nan
        lines.append(
            f"| {variant} | {accuracy.mean():.1f} | {points.mean():+.2f} | {error:.2f} | "
            f"×{ratio:.2f} | {means(variant, 'seconds').mean():.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", help="comma-separated tables; default: all")
    parser.add_argument("--seeds", type=int, default=2, help="number of splits of each table")
    add_options(parser, DEFAULT_OUTPUT)
    given = parser.parse_args()
    numbers = regression.find_tables(given.folder)
    tables = (
        given.tables.split(",") if given.tables else [*levels.find_tables(given.folder), *numbers]
    )
    cells = [
        (table, seed, variant)
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
        for table in tables
        for variant in variants_of(table in numbers)
    ]
    if not given.no_run:
        os.environ["DLN_DATA"] = str(given.folder / "data")
    print(report(run_missing(partial(measure, given.folder), cells, given)))


if __name__ == "__main__":
    main()
