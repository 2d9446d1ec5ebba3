"""Where a search on a large table should start, and how many rows it should use.

    DLN_DATA=folder python -m benchmarks.large_choice
    DLN_DATA=folder python -m benchmarks.large_choice --engine cuda

Each setting is fitted with three networks on 80 % of a table's training rows and evaluated on the
other 20 %. The test rows are not used. It is fitted in three ways: with all rows and epochs, as in
a final fit; with half the epochs; and with half the epochs on a sample of 4,800 rows, as in the
trials of a search. Differences to the first setting are paired over the splits of a table.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from dln import DLNClassifier
from reproduction import datasets
from reproduction.protocol import split_rows

TABLES = "BankChurn,TelcoChurn,SatIm,EyeMovements,HAR,Letter"
WAYS = ("final fit", "half epochs", "4,800 rows")
FINE = {"n_links": 32, "n_cutoffs": 12}


def settings(n_classes: int) -> dict[str, dict[str, Any]]:
    """List the settings; layers are wider for more classes."""
    narrow, wide = (round(width * (n_classes / 2) ** 0.75) for width in (200, 600))
    two = (wide, -(-wide // 2))
    return {
        "one layer": {"layers": (wide,)},
        "two layers": {"layers": two},
        "two layers, unified": {"layers": two, "phases": "unified"},
        "one layer, narrow": {"layers": (narrow,)},
        "one layer, 32 links, 12 cutoffs": {"layers": (wide,), **FINE},
        "the same, unified": {"layers": (wide,), **FINE, "phases": "unified"},
    }


def measure(dataset: datasets.Dataset, seed: int, engine: Any) -> list[list[float]]:
    """Fit all settings on one split of a table; return accuracies in percent (ways, settings)."""
    rows = split_rows(dataset, seed)[0]
    y = dataset.y.iloc[rows]
    train, valid = train_test_split(rows, test_size=0.2, stratify=y, random_state=seed)

    def fit(params: dict[str, Any], epochs: Any, fitted: NDArray[np.intp]) -> tuple[float, int]:
        model = DLNClassifier(
            **params, tau=8.0, n_networks=3, epochs=epochs, engine=engine, random_state=seed
        ).fit(dataset.X.iloc[fitted], dataset.y.iloc[fitted])
        predicted = model.predict(dataset.X.iloc[valid])
        accuracy = balanced_accuracy_score(dataset.y.iloc[valid], predicted)
        return 100 * accuracy, model.history_["loss"].shape[1]

    found = []
    for params in settings(dataset.y.nunique()).values():
        final, epochs = fit(params, "auto", train)
        half, _ = fit(params, epochs // 2, train)
        few, _ = fit(params, epochs // 2, train[:4_800])  # in random order
        found.append((final, half, few))
    return [list(way) for way in zip(*found, strict=True)]


def report(name: str, way: str, found: NDArray[np.float64]) -> None:
    """Print the means over splits and the differences: accuracies are (splits, settings)."""
    more = found - found[:, :1]
    errors = more.std(axis=0, ddof=1) / np.sqrt(len(more))
    for number, setting in enumerate(settings(2)):
        print(
            f"| {name} | {way} | {setting} | {found[:, number].mean():.2f} "
            f"| {more[:, number].mean():+.2f} ± {errors[number]:.2f} |",
            flush=True,
        )


def main() -> None:
    """Measure and print all tables for each way of training."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=TABLES, help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=10, help="number of splits per table")
    parser.add_argument("--first-seed", type=int, default=10, help="seed of the first split")
    parser.add_argument("--engine", default="native", choices=("native", "torch", "cuda"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print("| table | training | setting | balanced accuracy, % | difference from the first |")
    print("| --- | --- | --- | --- | --- |")
    for name in arguments.names.split(","):
        dataset = datasets.load(name)
        found = np.array([measure(dataset, seed, arguments.engine) for seed in seeds])
        for number, way in enumerate(WAYS):
            report(name, way, found[:, number])


if __name__ == "__main__":
    main()
