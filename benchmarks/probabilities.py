"""Probabilities and ties before and after calibration, on test rows.

    python -m benchmarks.probabilities FOLDER                            # ten tables, two seeds
    python -m benchmarks.probabilities FOLDER --tables Heart,vowel --seeds 1 --effort normal

FOLDER has `data/` and `more/`, each with its manifest. For each table and seed: a stratified 75/25
split, a fit with each value of `probabilities` with one thread, and scores on the test rows.
"votes" is a fit without calibration, as in version 0.1. Each result is written to the output file
at once, so a stopped run is resumed by the same command.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from benchmarks.levels import probability_scores, read
from dln import DLNClassifier

TABLES = (
    *("Heart", "HeartFailure", "Diabetes", "Liver", "Cirrhosis"),
    *("saheart", "german", "contraceptive", "vehicle", "phoneme"),
)
KINDS = ("votes", "rows")
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "probabilities.jsonl"


def measure(folder: Path, table: str, seed: int, kind: Any, effort: Any) -> dict[str, Any]:
    """Fit one model on one split and test it."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = read(folder, table, seed)
    start = time.process_time()
    model = DLNClassifier(effort=effort, probabilities=kind, random_state=seed, n_jobs=1).fit(X, y)
    seconds = time.process_time() - start
    evaluation = model.circuit_.evaluate(X_test, wires=())
    truth = np.asarray(y_test)
    scores = probability_scores(truth, evaluation.probabilities, model.classes_)
    most = np.sort(evaluation.votes, axis=1)[:, -2:]
    return {
        "table": table,
        "seed": seed,
        "effort": effort,
        "probabilities": kind,
        "log_loss": scores["log_loss"],
        "brier_score": scores["brier"] / 2,
        "calibration_error": scores["calibration_error"],
        "ties": float((most[:, 0] == most[:, 1]).mean()),
        "balanced_accuracy": balanced_accuracy_score(truth, model.predict(X_test)),
        "seconds": seconds,
    }


def summary(results: list[dict[str, Any]]) -> str:
    """Format the mean over seeds of each table, and the mean over tables."""
    frame = pd.DataFrame(results)
    names = ["log_loss", "brier_score", "calibration_error", "ties", "balanced_accuracy", "seconds"]
    means = frame.pivot_table(index="table", columns="probabilities", values=names)
    means.loc["mean"] = means.mean()
    kinds = set(frame["probabilities"])
    lines = [
        f"| table | {' | '.join(name.replace('_', ' ') for name in names)} |",
        f"| --- |{' --- |' * len(names)}",
    ]
    for table, row in means.iterrows():
        cells = [
            " → ".join(f"{row[name, kind]:.3f}" for kind in ("votes", "rows") if kind in kinds)
            for name in names
        ]
        lines.append(f"| {table} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what the output file does not have yet, and print means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    given = parser.parse_args()
    os.environ["DLN_DATA"] = str(given.folder / "data")  # for `benchmarks.levels.read`
    lines = given.output.read_text().splitlines() if given.output.exists() else []
    results = [json.loads(line) for line in lines]
    key = ("table", "seed", "effort", "probabilities")
    done = {tuple(result[name] for name in key) for result in results}
    for table in given.tables.split(","):
        for seed in range(given.seeds):
            for kind in KINDS:
                if (table, seed, given.effort, kind) in done:
                    continue
                results.append(measure(given.folder, table, seed, kind, given.effort))
                with given.output.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    print(summary([result for result in results if result["effort"] == given.effort]))


if __name__ == "__main__":
    main()
