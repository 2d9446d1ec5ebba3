"""Seconds and sizes of reasons, changes and certificates, for default fits of the paper's tables.

    DLN_DATA=folder python -m benchmarks.reasons                          # 19 tables, 50 rows each
    DLN_DATA=folder python -m benchmarks.reasons --names Heart --rows 200
    DLN_DATA=folder python -m benchmarks.reasons --brute 10000            # also by brute force
    DLN_DATA=folder python -m benchmarks.reasons --share 5                # only shares of a box
    python -m benchmarks.reasons --names "" --model m.json --data m.csv   # any model and table

For each table: a fit with default parameters and seed 0 on the training rows of split 0, then for
the first test rows: the time of a minimal reason (`widen="no"`), of a widened one, and of one that
is also checked, as `circuit.reason` does by default. Times are those of one thread on one core, as
the processor counts them, so that other programs do not matter. The time of the first row, which
prepares the circuit, is shown separately. `--models FOLDER` keeps the circuits. `--share` prints
instead how much violates the claim that every row gets the first class.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from dln import Circuit, DLNClassifier, prove_robust, reason_codes, share_rule
from reproduction import datasets
from reproduction.protocol import split_rows

TOLERANCES = {"age": 1, "trestbps": 2, "chol": 3, "thalach": 2, "oldpeak": 0.1}
"""Small changes of the columns of Heart."""


def fitted(name: str, models: Path | None) -> tuple[Circuit, object]:
    """Return the circuit of a table, and its test rows."""
    dataset = datasets.load(name)
    train, test = split_rows(dataset, 0)
    path = None if models is None else models / f"{name}.json"
    if path is not None and path.exists():
        return Circuit.load(path), dataset.X.iloc[test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DLNClassifier(random_state=0).fit(dataset.X.iloc[train], dataset.y.iloc[train])
    if path is not None:
        model.circuit_.save(path)
    return model.circuit_, dataset.X.iloc[test]


def measure(name: str, circuit: Circuit, rows: object, n_rows: int) -> str:
    """Return a line of the table."""
    X = rows.iloc[:n_rows]  # type: ignore[attr-defined]
    start = time.process_time()
    reason_codes(circuit, X.iloc[:1], n_jobs=1, check=True)
    first = time.process_time() - start
    cells, sizes, minimal, checked = [], [], 0, 0
    for widen, check in (("no", False), ("quick", False), ("quick", True)):
        seconds = []
        for place in range(len(X)):
            start = time.process_time()
            (reason,) = reason_codes(
                circuit,
                X.iloc[[place]],
                n_jobs=1,
                widen=widen,
                check=check,  # type: ignore[arg-type]
            )
            seconds.append(1e3 * (time.process_time() - start))
            if check:
                sizes.append(len(reason.parts))
                minimal += reason.minimal
                checked += reason.checked
        cells.append(f"{np.median(seconds):.1f} / {np.quantile(seconds, 0.99):.0f}")
    shares = (f"{100 * count / len(X):.0f} %" for count in (minimal, checked))
    size = f"{circuit.n_gates:,} / {len(circuit.rules):,} / {len(circuit.logic.used_columns)}"
    figures = (name, size, *cells, f"{np.mean(sizes):.1f}", *shares, f"{first:.2f}")
    return f"| {' | '.join(figures)} |"


def by_brute_force(n_checks: int) -> Iterator[str]:
    """Compare reasons and changes of small random circuits with all rows.

    An independent reader of model files evaluates the rows.
    """
    from tests.fuzz.change_options import fuzz_change_options
    from tests.fuzz.reasons import fuzz_reasons

    for what, fuzz in (("reasons", fuzz_reasons), ("changes", fuzz_change_options)):
        n_done = n_rounds = 0
        while n_done < n_checks:
            n_done += fuzz(random.Random(f"{what} {n_rounds}"))
            n_rounds += 1
        yield f"brute force: 0 wrong of {n_done:,} {what}, on {n_rounds:,} random circuits"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=",".join(datasets.NAMES), help="comma-separated tables")
    parser.add_argument("--rows", type=int, default=50, help="test rows of each table")
    parser.add_argument("--models", type=Path, help="folder to keep the circuits in")
    parser.add_argument(
        "--brute", type=int, default=0, help="reasons and changes to check by brute force"
    )
    parser.add_argument("--share", type=float, default=0, help="seconds for a share of a box")
    parser.add_argument("--model", type=Path, help="a model file to measure in addition")
    parser.add_argument("--data", type=Path, help="the rows for --model, with column names")
    arguments = parser.parse_args()
    if (arguments.model is None) != (arguments.data is None):
        parser.error("--model and --data are used together")
    print(
        "| table | gates / rules / columns | ms, minimal: median / 99 % | widened | and checked "
        "| columns | minimal | checked | s, first |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in filter(None, arguments.names.split(",")):
        circuit, rows = fitted(name, arguments.models)
        if arguments.share:
            share = share_rule(circuit, circuit.classes[0], data=rows, time_limit=arguments.share)
            print(
                f"{name}: {len(circuit.rules)} rules, {share} ({share.seconds:.1f} s)", flush=True
            )
            continue
        print(measure(name, circuit, rows, arguments.rows), flush=True)
        if name == "Heart":
            print(f"\nHeart: {prove_robust(circuit, rows, TOLERANCES)}\n", flush=True)
    if arguments.model is not None:
        circuit, rows = Circuit.load(arguments.model), pd.read_csv(arguments.data)
        print(measure(arguments.model.stem, circuit, rows, arguments.rows), flush=True)
    if arguments.brute:
        for line in by_brute_force(arguments.brute):
            print(line, flush=True)


if __name__ == "__main__":
    main()
