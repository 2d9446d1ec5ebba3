"""Seconds and sizes of reasons, changes and certificates, for default fits of the paper's tables.

    DLN_DATA=folder python -m benchmarks.reasons                          # 19 tables, 50 rows each
    DLN_DATA=folder python -m benchmarks.reasons --names Heart --rows 200
    DLN_DATA=folder python -m benchmarks.reasons --brute 10000            # also by brute force
    DLN_DATA=folder python -m benchmarks.reasons --share 5                # only shares of a box
    python -m benchmarks.reasons --names "" --model m.json --data m.csv   # any model and table
    python -m benchmarks.reasons --models models --output lines.md        # resumes after a stop

For each table: a fit with default parameters and seed 0 on the training rows of split 0, then for
the first test rows: the time of a minimal reason (`widen="no"`), of a widened one, and of one that
is also checked, as `circuit.reason` does by default. Times are those of one thread on one core, as
the processor counts them, so that other programs do not matter. Reasons that are only minimal may
take longer than the default limit; "minimal" is the share proven within 1 s of processor time. The
time of the first row, which prepares the circuit, is shown separately. `--models FOLDER` keeps the
circuits, and `--output FILE` the lines: tables that are in it are not measured again. `--share`
prints instead how much violates the claim that every row gets the first class.
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

_LONG = 5.0
"""Seconds for a reason that is not widened: more than `_MOST_MS`, for machines with other work."""
_MOST_MS = 1000.0
"""Milliseconds of processor time in which a reason must be proven minimal."""
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
    for widen, check, limit in (("no", False, _LONG), ("quick", False, 1), ("quick", True, 1)):
        seconds = []
        for place in range(len(X)):
            start = time.process_time()
            (reason,) = reason_codes(
                circuit,
                X.iloc[[place]],
                n_jobs=1,
                widen=widen,
                check=check,  # type: ignore[arg-type]
                time_limit=limit,
            )
            seconds.append(1e3 * (time.process_time() - start))
            if widen == "no":
                sizes.append(len(reason.parts))
                minimal += reason.minimal and seconds[-1] <= _MOST_MS
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


def _lines_of(path: Path | None) -> dict[str, str]:
    """Read the lines of an earlier run, by the name of the table."""
    if path is None or not path.exists():
        return {}
    lines = path.read_text("utf-8").splitlines()
    return {line.split("|")[1].strip(): line for line in lines}


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=",".join(datasets.NAMES), help="comma-separated tables")
    parser.add_argument("--rows", type=int, default=50, help="test rows of each table")
    parser.add_argument("--models", type=Path, help="folder to keep the circuits in")
    parser.add_argument("--output", type=Path, help="file to keep the lines of the table in")
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
    known = _lines_of(arguments.output)
    for name in filter(None, arguments.names.split(",")):
        if name in known and not arguments.share:
            print(known[name], flush=True)
            continue
        circuit, rows = fitted(name, arguments.models)
        if arguments.share:
            share = share_rule(circuit, circuit.classes[0], data=rows, time_limit=arguments.share)
            print(
                f"{name}: {len(circuit.rules)} rules, {share} ({share.seconds:.1f} s)", flush=True
            )
            continue
        line = measure(name, circuit, rows, arguments.rows)
        print(line, flush=True)
        if arguments.output is not None:
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
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
