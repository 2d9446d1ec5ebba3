"""Time of a fit with a budget and of a path, beside a default fit.

    DLN_DATA=FOLDER/data python -m benchmarks.budget_speed FOLDER --tables Heart,BankChurn

FOLDER has `data/` and `more/`, as for `benchmarks.levels`. All rows of a table are used. Seconds
are those of a clock; with a loaded machine, compare the seconds of the processor instead, which
count all threads. The goals: a ratio of at most 3, the path of Heart in seconds, that of BankChurn
in less than a minute on two cores.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.levels import read
from dln import DLNClassifier

FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "max_rules=8": {"max_rules": 8},
    "path": {"max_rules": 60},
}


def main() -> None:
    """Time each fit and print the ratio to the default fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument("--tables", default="Heart,BankChurn", help="comma-separated names")
    parser.add_argument("--fits", default=",".join(FITS), help="fits to time, comma-separated")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads of a fit")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | fit | seconds | processor | ratio to default | of the processor |")
    print("| --- | --- | --- | --- | --- | --- |")
    for table in arguments.tables.split(","):
        X, y, X_rest, y_rest = read(arguments.folder, table, 0)
        X, y = pd.concat([X, X_rest]), pd.concat([y, y_rest])
        default: tuple[float, float] | None = None
        for name in arguments.fits.split(","):
            clock, processor = time.perf_counter(), time.process_time()
            DLNClassifier(random_state=0, n_jobs=arguments.n_jobs, **FITS[name]).fit(X, y)
            taken = time.perf_counter() - clock, time.process_time() - processor
            default = taken if name == "default" else default
            ratios = [
                f"{own / usual:.2f}" for own, usual in zip(taken, default or (), strict=False)
            ]
            figures = [*(f"{own:.1f}" for own in taken), *(ratios or ("", ""))]
            print(f"| {table} | {name} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    main()
