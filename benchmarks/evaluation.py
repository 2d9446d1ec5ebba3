"""Compare what describes rows with one pass over them: rule tables, reports, explanations, pruning.

    python -m benchmarks.evaluation

A default model of 10,000 rows of 20 columns and three classes, and 100,000 other rows; everything
is measured in this run, on one core. A pass is `circuit.evaluate(X)`, which reads the rows and
computes every wire. Rules are written once for each circuit, so circuits are made again where that
counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is loaded
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402

from dln import Circuit, DLNClassifier, prune, rule_table  # noqa: E402
from dln.report import make_report  # noqa: E402

N_TRAIN, N_ROWS, N_PRUNED, N_EXPLAINED = 10_000, 100_000, 5_000, 20


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the time of the fastest of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Measure and print the times, and how many passes over the rows they are."""
    cells, y = make_classification(
        N_TRAIN + N_ROWS, 20, n_informative=10, n_classes=3, random_state=0
    )
    X = cells.astype(np.float32)
    fitted = DLNClassifier(random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN]).circuit_
    X, y = X[N_TRAIN:], y[N_TRAIN:]
    print(f"{fitted!r}, {N_ROWS:,} rows x {X.shape[1]} float32, one core")

    def fresh() -> Circuit:
        return Circuit(logic=fitted.logic, readout=fitted.readout)

    def explain() -> None:
        for row in X[:N_EXPLAINED]:
            fitted.explain(row)

    one_pass = seconds(lambda: fitted.evaluate(X))
    times = {
        "evaluate: all wires and votes": one_pass,
        "votes alone": seconds(lambda: fitted.votes(X)),
        "rule_table without rows": seconds(lambda: rule_table(fresh())),
        "rule_table with rows": seconds(lambda: rule_table(fresh(), X, y)),
        "make_report": seconds(lambda: make_report(fresh(), X, y), 3),
        "explain, one row of the same circuit": seconds(explain) / N_EXPLAINED,
        f"prune on {N_PRUNED:,} rows": seconds(
            lambda: prune(fitted, X[:N_PRUNED], y[:N_PRUNED], tolerance=0.01), 1
        ),
    }
    for name, time_taken in times.items():
        print(f"  {name:38s} {1e3 * time_taken:9.2f} ms {time_taken / one_pass:9.2f} passes")


if __name__ == "__main__":
    main()
