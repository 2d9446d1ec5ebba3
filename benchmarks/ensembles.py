"""Single, summed, bagged and boosted networks: accuracy, size and time on unseen rows.

    DLN_DATA=folder python -m benchmarks.ensembles            # run what is missing, then print
    python -m benchmarks.ensembles --no-run                   # only print the stored results

Fits on 75 % of a table's training rows are evaluated on the other 25 %; test rows are not used.
Ensembles have five networks of two layers of 64 and 32 gates. A single network is also trained five
times as long (equal time) and five times as wide (equal size). Results are appended to
benchmarks/results/ensembles.csv, one line for each fit, so a stopped run continues.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from dln import DLNClassifier, cost
from reproduction import datasets
from reproduction.protocol import split_rows

TABLES = "HeartFailure,Heart,Liver,Diabetes,Cirrhosis,HepatitisC,BreastCancer,CKD"
RESULTS = Path(__file__).parent / "results" / "ensembles.csv"
FIELDS = ("table", "seed", "variant", "accuracy", "gate_operations", "seconds")
N_NETWORKS = 5
EPOCHS = 100
VARIANTS: dict[str, dict[str, Any]] = {
    "summed": {"n_networks": N_NETWORKS},
    "bagged": {"n_networks": N_NETWORKS, "ensemble": "bagging"},
    "boosted": {"n_networks": N_NETWORKS, "ensemble": "boosting"},
    "single": {"n_networks": 1},
    "single, five times as long": {"n_networks": 1, "epochs": N_NETWORKS * EPOCHS},
    "single, five times as wide": {"n_networks": 1, "layers": (64 * N_NETWORKS, 32 * N_NETWORKS)},
}


def measure(dataset: datasets.Dataset, seed: int, variant: str) -> dict[str, Any]:
    """Fit one variant on one split."""
    rows = split_rows(dataset, seed)[0]
    X, y = dataset.X.iloc[rows], dataset.y.iloc[rows]
    X, X_valid, y, y_valid = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    usual = {"layers": (64, 32), "tau": 8.0, "epochs": EPOCHS, "n_cutoffs": 6}
    model = DLNClassifier(**{**usual, **VARIANTS[variant]}, random_state=seed, n_jobs=1)
    start = process_time()
    model.fit(X, y)
    return {
        "seed": seed,
        "variant": variant,
        "accuracy": round(100 * float(balanced_accuracy_score(y_valid, model.predict(X_valid))), 4),
        "gate_operations": cost(model.circuit_).gate_operations,
        "seconds": round(process_time() - start, 3),
    }


def read_results() -> list[dict[str, str]]:
    """Read the stored lines."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def run(names: list[str], seeds: range) -> None:
    """Run what is not stored yet."""
    done = {(one["table"], int(one["seed"]), one["variant"]) for one in read_results()}
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        for seed in seeds:
            for name in names:
                for variant in VARIANTS:
                    if (name, seed, variant) not in done:
                        found = measure(datasets.load(name), seed, variant)
                        writer.writerow({"table": name, **found})
                        stream.flush()


def report() -> str:
    """Compare the variants on the splits that all of them have."""
    found: defaultdict[tuple[str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for one in read_results():
        found[one["table"], one["seed"]][one["variant"]] = one
    whole = [row for row in found.values() if len(row) == len(VARIANTS)]
    lines = [
        f"{len(whole)} splits. Differences from five summed networks, in points on unseen rows.",
        "",
        "| variant | accuracy | difference | ± | gate-level operations | processor seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    first = next(iter(VARIANTS))
    for variant in VARIANTS:
        accuracy = np.array([float(row[variant]["accuracy"]) for row in whole])
        points = accuracy - np.array([float(row[first]["accuracy"]) for row in whole])
        sizes = [float(row[variant]["gate_operations"]) for row in whole]
        base = [float(row[first]["gate_operations"]) for row in whole]
        ratio = np.exp(np.mean(np.log(np.maximum(1, sizes)) - np.log(np.maximum(1, base))))
        seconds = np.mean([float(row[variant]["seconds"]) for row in whole])
        error = np.std(points, ddof=1) / np.sqrt(len(points))
        lines.append(
            f"| {variant} | {accuracy.mean():.1f} | {points.mean():+.2f} | {error:.2f} | "
            f"×{ratio:.2f} | {seconds:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=TABLES, help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=4, help="number of splits per table")
    parser.add_argument("--first-seed", type=int, default=10, help="seed of the first split")
    parser.add_argument("--no-run", action="store_true", help="only print the stored results")
    arguments = parser.parse_args()
    if not arguments.no_run:
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        run(arguments.names.split(","), seeds)
    print(report())


if __name__ == "__main__":
    main()
