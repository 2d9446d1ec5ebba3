"""How many networks to combine: the accuracy of each number of networks on unseen rows.

    DLN_DATA=folder python -m benchmarks.networks_choice

Fits on 75 % of a table's training rows, with two temperatures, are evaluated on the other 25 %. The
test rows are not used. Differences to three networks are paired.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from dln import DLNClassifier
from reproduction import datasets
from reproduction.protocol import split_rows

TABLES = (
    "HeartFailure,Heart,Liver,Diabetes,Cirrhosis,HepatitisC,BreastCancer,CKD,"
    "Cardiotocography-honest"
)
COUNTS = (3, 1, 9, 15)
TAUS = (4.0, 16.0)


def measure(dataset: datasets.Dataset, seed: int) -> dict[int, float]:
    """Return the balanced accuracy in percent per number of networks, averaged over `TAUS`."""
    rows = split_rows(dataset, seed)[0]
    X, y = dataset.X.iloc[rows], dataset.y.iloc[rows]
    X, X_valid, y, y_valid = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)

    def accuracy(n_networks: int, tau: float) -> float:
        model = DLNClassifier(
            layers=(64, 32), tau=tau, n_networks=n_networks, random_state=seed, simplify=None
        )
        predicted = model.fit(X, y).predict(X_valid)
        return 100 * float(balanced_accuracy_score(y_valid, predicted))

    return {count: float(np.mean([accuracy(count, tau) for tau in TAUS])) for count in COUNTS}


def main() -> None:
    """Measure all tables and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=TABLES, help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=20, help="number of splits per table")
    parser.add_argument("--first-seed", type=int, default=10, help="seed of the first split")
    arguments = parser.parse_args()
    found = defaultdict(list)
    print(f"| table | {' | '.join(map(str, COUNTS))} |\n| --- |{' --- |' * len(COUNTS)}")
    for name in arguments.names.split(","):
        dataset = datasets.load(name)
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        measured = [measure(dataset, seed) for seed in seeds]
        means = [np.mean([accuracies[count] for accuracies in measured]) for count in COUNTS]
        print(f"| {name} | {' | '.join(f'{mean:.2f}' for mean in means)} |", flush=True)
        for accuracies in measured:
            for count in COUNTS[1:]:
                found[count].append(accuracies[count] - accuracies[COUNTS[0]])
    print(f"\n| networks | difference from {COUNTS[0]} | ± |\n| --- | --- | --- |")
    for count, points in found.items():
        error = np.std(points, ddof=1) / np.sqrt(len(points))
        print(f"| {count} | {np.mean(points):+.2f} | {error:.2f} |")


if __name__ == "__main__":
    main()
