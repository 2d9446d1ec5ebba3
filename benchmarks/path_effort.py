"""What the faster search above 16 literals costs in accuracy, beside a thorough search throughout.

    DLN_DATA=FOLDER/data python -m benchmarks.path_effort FOLDER --tables german,phoneme

FOLDER has `data/` and `more/`, as for `benchmarks.levels`. For each table: a stratified 75/25
split (seed 0), a fit of at most 40 literals with each search on the training rows, and balanced
accuracy on the test rows: of the largest circuit of at most 24 and 40 literals, and of the one that
the fit chooses. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.levels import read
from dln import DLNClassifier
from dln.paths import beam

LIMITS = (24, 40)
SEARCHES = {"faster": beam.THOROUGH_UP_TO, "thorough": max(LIMITS)}
"""The number of literals up to which each search is thorough."""


def measure(folder: Path, table: str, up_to: int) -> list[float]:
    """Return the accuracies at each limit and of the choice, the largest size and the seconds."""
    X, y, X_test, y_test = read(folder, table, 0)
    started = time.process_time()
    with mock.patch.object(beam, "THOROUGH_UP_TO", up_to):
        model = DLNClassifier(max_literals=max(LIMITS), random_state=0, n_jobs=1).fit(X, y)
    seconds = time.process_time() - started
    path = model.path_
    assert path is not None
    within = [[point for point in path if point.size.n_literals <= limit] for limit in LIMITS]
    circuits = [*(points[-1].circuit for points in within), path.circuit]
    scores = [balanced_accuracy_score(y_test, own.predict(X_test)) for own in circuits]
    return [*(100 * score for score in scores), path[-1].size.n_literals, seconds]


def main() -> None:
    """Measure both searches on each table and print their figures and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument(
        "--tables", default="german,phoneme,Compas,ionosphere", help="comma-separated names"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | search | up to 24 literals | up to 40 | chosen | largest | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    found: dict[str, list[list[float]]] = {name: [] for name in SEARCHES}
    for table in arguments.tables.split(","):
        for name, up_to in SEARCHES.items():
            found[name].append(measure(arguments.folder, table, up_to))
            print(_row(table, name, found[name][-1]), flush=True)
    for name, rows in found.items():
        print(_row("mean", name, np.mean(rows, axis=0).tolist()))


def _row(table: str, search: str, figures: list[float]) -> str:
    *scores, largest, seconds = figures
    shown = [*(f"{score:.1f}" for score in scores), f"{largest:.0f}", f"{seconds:.1f}"]
    return f"| {table} | {search} | {' | '.join(shown)} |"


if __name__ == "__main__":
    main()
