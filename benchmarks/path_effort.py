"""What the faster search above 16 literals costs in accuracy, beside a thorough search throughout.

    DLN_DATA=FOLDER/data python -m benchmarks.path_effort FOLDER --tables german,phoneme

FOLDER has `data/` and `more/`, as for `benchmarks.levels`. For each table: a stratified 75/25
split (seed 0), one search of each kind on the training rows, and the balanced accuracy on the test
rows of the largest circuit of at most 24 and of at most 40 literals. Nothing is cross-validated,
as no size is chosen. Seconds are those of the processor.
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
from dln.paths import beam, fit

LIMITS = (24, 40)
SEARCHES = {"faster": beam.THOROUGH_UP_TO, "thorough": max(LIMITS)}
"""The number of literals up to which each search is thorough."""


def measure(folder: Path, table: str, up_to: int) -> list[float]:
    """Return the accuracy at each limit, the number of literals there, and the seconds."""
    X, y, X_test, y_test = read(folder, table, 0)
    started = time.process_time()
    with (
        mock.patch.object(beam, "THOROUGH_UP_TO", up_to),
        mock.patch.object(fit, "make_folds", return_value=[]),
    ):
        model = DLNClassifier(max_literals=max(LIMITS), random_state=0, n_jobs=1).fit(X, y)
    seconds = time.process_time() - started
    path = model.path_
    assert path is not None
    found: list[float] = []
    for limit in LIMITS:
        largest = [point for point in path if point.size.n_literals <= limit][-1]
        score = balanced_accuracy_score(y_test, largest.circuit.predict(X_test))
        found += [100 * score, largest.size.n_literals]
    return [*found, seconds]


def main() -> None:
    """Measure both searches on each table and print their figures and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument(
        "--tables", default="german,phoneme,Compas,BankChurn,vowel", help="comma-separated names"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = [f"up to {limit} literals | literals" for limit in LIMITS]
    print(f"| table | search | {' | '.join(heads)} | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    found: dict[str, list[list[float]]] = {name: [] for name in SEARCHES}
    for table in arguments.tables.split(","):
        for name, up_to in SEARCHES.items():
            found[name].append(measure(arguments.folder, table, up_to))
            print(_row(table, name, found[name][-1]), flush=True)
    for name, rows in found.items():
        print(_row("mean", name, np.mean(rows, axis=0).tolist()))


def _row(table: str, search: str, figures: list[float]) -> str:
    few, n_few, many, n_many, seconds = figures
    return (
        f"| {table} | {search} | {few:.1f} | {n_few:.0f} | {many:.1f} | {n_many:.0f} "
        f"| {seconds:.1f} |"
    )


if __name__ == "__main__":
    main()
