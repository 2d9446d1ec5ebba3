"""How large batches should be if a class is rare: the accuracy of each size on unseen rows.

    DLN_DATA=folder python -m benchmarks.rare_choice

Fits use 75 % of a split's training rows, with one class reduced to a few rows; the other 25 % are
for evaluation. The test rows are not used. A batch without the rare class learns only the other
classes, so larger batches give the rare class its full weight. Differences to batches of 64 rows
(128 from 4,000 rows on) are paired.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from dln import DLNClassifier
from reproduction import datasets
from reproduction.protocol import split_rows

TABLES = "BankChurn,TelcoChurn,Compas,Mushroom,Stroke"
COUNTS = (10, 30)
FACTORS = (0.0, 1.0, 2.0, 4.0)


def measure(dataset: datasets.Dataset, seed: int, count: int) -> list[float]:
    """Return the balanced accuracy in percent per factor: rows of the rare class per batch."""
    rows = split_rows(dataset, seed)[0]
    X, y = dataset.X.iloc[rows], dataset.y.iloc[rows]
    X, X_valid, y, y_valid = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    rare = y.value_counts().index[-1]
    rng = np.random.default_rng(seed)
    few = rng.choice(np.flatnonzero(y == rare), count, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(y != rare), few]))
    X, y = X.iloc[kept], y.iloc[kept]
    usual = 64 if len(y) < 4_000 else 128
    accuracies = []
    for factor in FACTORS:
        wanted = 2 ** int(np.ceil(np.log2(max(1.0, factor * len(y) / count))))
        model = DLNClassifier(
            layers=(64, 32),
            tau=8.0,
            n_networks=3,
            batch_size=max(usual, min(wanted, 4_096)),
            random_state=seed,
            simplify=None,
        )
        predicted = model.fit(X, y).predict(X_valid)
        accuracies.append(100 * float(balanced_accuracy_score(y_valid, predicted)))
    return accuracies


def main() -> None:
    """Measure all tables and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=TABLES, help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=10, help="number of splits per table")
    parser.add_argument("--first-seed", type=int, default=10, help="seed of the first split")
    arguments = parser.parse_args()
    heads = ["usual batch", *(f"{factor:g} rare rows per batch" for factor in FACTORS[1:])]
    print(f"| table | rare rows | {' | '.join(heads)} |\n| --- | --- |{' --- |' * len(heads)}")
    differences = []
    for name in arguments.names.split(","):
        dataset = datasets.load(name)
        for count in COUNTS:
            seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
            found = np.array([measure(dataset, seed, count) for seed in seeds])
            differences.append(found - found[:, :1])
            means = " | ".join(f"{mean:.1f}" for mean in found.mean(axis=0))
            print(f"| {name} | {count} | {means} |", flush=True)
    more = np.concatenate(differences)
    errors = more.std(axis=0, ddof=1) / np.sqrt(len(more))
    cells = [f"{mean:+.2f} ± {error:.2f}" for mean, error in zip(more.mean(0), errors, strict=True)]
    print(f"| difference, all tables | | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
