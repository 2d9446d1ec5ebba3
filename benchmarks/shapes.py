"""Tables of unusual shapes: a million rows, thousands of columns. Beside HistGradientBoosting.

    python -m benchmarks.shapes                          # all shapes, about ten minutes on one core
    python -m benchmarks.shapes --shapes rows --models boosting,quick

- rows: 1,000,000 rows of 20 columns. The class is `(x0 > 0 and x1 > 0.3) or x2 * x3 > 0.5`, a
  smooth interaction and a rule.
- wide: 400 rows of 2,000 columns. The class is `x0 + x1 > 0`; the others are noise.
- widest: the same with 20,000 columns.

Columns are normally distributed, seed 0. Models have one thread and are tested on 100,000 other
rows (rows) or 4,000 (the others). Seconds are processor time of the fit. Each result is written to
the output file at once, so the same command resumes a stopped run.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score

from benchmarks.resume import Result, add_options, run_missing
from dln import DLNClassifier

DEFAULT_OUTPUT = Path(__file__).parent / "results" / "shapes.jsonl"
MODELS = ("boosting", "quick", "normal")


class Shape(NamedTuple):
    """The size of a table, and the number of test rows."""

    n_rows: int
    n_columns: int
    n_test_rows: int


SHAPES = {
    "wide": Shape(400, 2_000, 4_000),
    "widest": Shape(400, 20_000, 4_000),
    "rows": Shape(1_000_000, 20, 100_000),
}


def draw(name: str, seed: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Draw the training rows and then the test rows of a shape, and their classes."""
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    size = (shape.n_rows + shape.n_test_rows, shape.n_columns)
    X = rng.standard_normal(size, dtype=np.float32)
    if name == "rows":
        return X, ((X[:, 0] > 0) & (X[:, 1] > 0.3)) | (X[:, 2] * X[:, 3] > 0.5)
    return X, X[:, 0] + X[:, 1] > 0


def measure(name: str, seed: int, model_name: str) -> Result:
    """Fit one model on one table and test it."""
    warnings.simplefilter("ignore")
    X, y = draw(name, seed)
    n_rows = SHAPES[name].n_rows
    model: Any
    if model_name == "boosting":
        model = HistGradientBoostingClassifier(random_state=seed)
    else:
        model = DLNClassifier(effort=model_name, random_state=seed, n_jobs=1)  # type: ignore[arg-type]
    start = time.process_time()
    model.fit(X[:n_rows], y[:n_rows])
    seconds = time.process_time() - start
    accuracy = balanced_accuracy_score(y[n_rows:], model.predict(X[n_rows:]))
    circuit = getattr(model, "circuit_", None)
    return {
        "table": name,
        "seed": seed,
        "model": model_name,
        "accuracy": accuracy,
        "seconds": seconds,
        "gates": None if circuit is None else circuit.n_gates,
    }


def summary(results: list[Result]) -> str:
    """Format the results as a Markdown table."""
    lines = ["| table | model | balanced accuracy | seconds | gates |", "| --- " * 5 + "|"]
    for one in sorted(results, key=lambda one: (list(SHAPES).index(one["table"]), one["model"])):
        shape = SHAPES[one["table"]]
        gates = "" if one["gates"] is None else f"{one['gates']:,}"
        lines.append(
            f"| {shape.n_rows:,} × {shape.n_columns:,} | {one['model']} "
            f"| {100 * one['accuracy']:.2f} | {one['seconds']:.1f} | {gates} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated shapes")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated models")
    add_options(parser, DEFAULT_OUTPUT)
    given = parser.parse_args()
    cells = [
        (name, 0, model) for name in given.shapes.split(",") for model in given.models.split(",")
    ]
    print(summary(run_missing(measure, cells, given)))


if __name__ == "__main__":
    main()
