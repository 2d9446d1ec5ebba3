"""New rows for an existing model: `DLNClassifier(init=circuit)` beside other choices.

    python -m benchmarks.learn_on FOLDER

FOLDER has `data/` and `more/`, as for `benchmarks.levels`. Two thirds of the training rows of the
first split are old rows, the others are new. Balanced accuracy and log loss on the test rows, with
seed 0 and `effort="quick"`, of four models:

- old: fitted on old rows.
- learned on: the old circuit as `init`, fitted on new rows.
- new: fitted on new rows.
- all: fitted on all rows. It needs the old rows.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from benchmarks.levels import read
from dln import DLNClassifier

TABLES = "Heart,crx,vowel,tic-tac-toe,phoneme,BankChurn"
MODELS = ("old", "learned on", "new", "all")


def measure(folder: Path, table: str) -> dict[str, tuple[float, float, int]]:
    """Return the balanced accuracy, log loss and gates of each model."""
    X, y, X_test, y_test = read(folder, table, 0)
    X_old, X_new, y_old, y_new = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)

    def fit(X: Any, y: Any, **options: Any) -> DLNClassifier:
        return DLNClassifier(effort="quick", random_state=0, **options).fit(X, y)

    old = fit(X_old, y_old)
    found = (old, fit(X_new, y_new, init=old.circuit_), fit(X_new, y_new), fit(X, y))
    return {
        name: (
            100 * balanced_accuracy_score(y_test, model.predict(X_test)),
            log_loss(y_test, model.predict_proba(X_test), labels=model.classes_),
            model.circuit_.n_gates,
        )
        for name, model in zip(MODELS, found, strict=True)
    }


def main() -> None:
    """Measure the tables and print means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument("--tables", default=TABLES, help="comma-separated names")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ["DLN_DATA"] = str(given.folder / "data")  # for `benchmarks.levels.read`
    print(f"| table | {' | '.join(MODELS)} |")
    print("| --- " * (1 + len(MODELS)) + "|")
    every = []
    for table in given.tables.split(","):
        found = measure(given.folder, table)
        every.append(list(found.values()))
        cells = [f"{score:.1f} ({loss:.3f}), {gates:,}" for score, loss, gates in found.values()]
        print(f"| {table} | {' | '.join(cells)} |", flush=True)
    means = np.mean(every, axis=0)
    print(f"| mean | {' | '.join(f'{score:.1f} ({loss:.3f})' for score, loss, _ in means)} |")


if __name__ == "__main__":
    main()
