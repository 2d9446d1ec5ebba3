"""How far to prune a small circuit: size and accuracy on unseen rows for each tolerance.

    DLN_DATA=folder python -m benchmarks.prune_choice

A default fit on 80 % of a table's training rows is pruned on these rows by `dln.prune` and
evaluated on the other 20 %. The test rows are not used. "made-up rows" adds three copies of the
rows in which a fifth of the values come from other rows; the circuit must predict the same
classes there. Differences are paired.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from functools import partial

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from dln import Circuit, DLNClassifier, cost, prune, simplify
from reproduction import datasets
from reproduction.protocol import split_rows
from reproduction.tables.means import geometric_mean

TABLES = "Heart,Liver,HeartFailure,HepatitisC,Diabetes,Cirrhosis,BreastCancer,CreditFraud"
TOLERANCES = (0, 0.0, 0.005, 0.01, 0.02, 0.05)


def made_up(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add three copies of the rows with a fifth of the values taken from other rows."""
    copies = [X.reset_index(drop=True)]
    for _ in range(3):
        columns = {
            name: X[name].where(
                rng.random(len(X)) >= 0.2,
                X[name].sample(frac=1, replace=True, random_state=rng).to_numpy(),
            )
            for name in X
        }
        copies.append(pd.DataFrame(columns).astype(X.dtypes.to_dict()))
    return pd.concat(copies, ignore_index=True)


def measure(dataset: datasets.Dataset, seed: int) -> dict[str, tuple[float, float]]:
    """Return the change of accuracy in points and the ratio of sizes for each setting."""
    rows = split_rows(dataset, seed)[0]
    X, y = dataset.X.iloc[rows], dataset.y.iloc[rows]
    X, X_valid, y, y_valid = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    model = DLNClassifier(random_state=seed, selection_fits=4).fit(X, y)
    whole = simplify(model.circuit_, prove=False)
    more = made_up(X, np.random.default_rng(seed))
    ways = {f"tolerance={tolerance}": partial(prune, whole, X, y, tolerance=tolerance)
            for tolerance in TOLERANCES}  # fmt: skip
    ways["tolerance=0, made-up rows"] = partial(prune, whole, more, whole.predict(more))

    def accuracy(circuit: Circuit) -> float:
        return 100 * float(balanced_accuracy_score(y_valid, circuit.predict(X_valid)))

    def size(circuit: Circuit) -> int:
        return max(1, cost(circuit).gate_operations)

    circuits = {name: way().circuit for name, way in ways.items()}
    return {
        name: (accuracy(circuit) - accuracy(whole), size(circuit) / size(whole))
        for name, circuit in circuits.items()
    }


def main() -> None:
    """Measure all tables and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=TABLES, help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=10, help="number of splits per table")
    arguments = parser.parse_args()
    found = defaultdict(list)
    for name in arguments.names.split(","):
        dataset = datasets.load(name)
        for seed in range(arguments.seeds):
            for way, pair in measure(dataset, seed).items():
                found[way].append(pair)
        print(name, flush=True)
    print("| way | points | ± | size |\n| --- | --- | --- | --- |")
    for way, pairs in found.items():
        points, ratios = np.array(pairs).T
        error = points.std(ddof=1) / np.sqrt(len(points))
        print(f"| {way} | {points.mean():+.2f} | {error:.2f} | ×{geometric_mean(ratios):.2f} |")


if __name__ == "__main__":
    main()
