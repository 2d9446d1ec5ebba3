"""Seconds and bytes of certificates of reasons, for default fits of the paper's tables.

    DLN_DATA=folder python -m benchmarks.certificates
    DLN_DATA=folder python -m benchmarks.certificates --names Heart,BankChurn --rows 3

For each of the first test rows: a certificate that its reason forces its class. Times are those of
the processor: to write it, and for check_certificate.py to check it. `--models FOLDER` keeps the
circuits.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.reasons import fitted
from dln import Circuit
from dln.core.model_file import circuit_to_json
from dln.explain.why import reason_claim
from dln.prove.certificate import certificate_of
from dln.prove.clock import Clock
from reproduction import datasets

CHECKER = Path(__file__).parents[1] / "check_certificate.py"


def measure(name: str, circuit: Circuit, rows: object, n_rows: int, time_limit: float) -> str:
    """Return a line of the table: medians over the rows, and the largest."""
    spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    model = circuit_to_json(circuit).encode()
    found = []
    for place in range(n_rows):
        claim = reason_claim(circuit, circuit.reason(rows.iloc[place]))  # type: ignore[attr-defined]
        start = time.process_time()
        certificate = certificate_of([claim], model, Clock(time_limit))
        written = time.process_time()
        if certificate is not None:
            text = json.dumps(certificate)
            read = time.process_time()
            checker.check([model], json.loads(text))
            found.append((written - start, time.process_time() - read, len(text) / 1e6))
    if not found:
        return f"| {name} | 0 of {n_rows} | | | |"
    cells = [f"{np.median(own):.2f} / {max(own):.2f}" for own in zip(*found, strict=True)]
    return f"| {name} | {len(found)} of {n_rows} | {' | '.join(cells)} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=",".join(datasets.NAMES), help="comma-separated tables")
    parser.add_argument("--rows", type=int, default=3, help="test rows of each table")
    parser.add_argument("--models", type=Path, help="folder to keep the circuits in")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a certificate")
    arguments = parser.parse_args()
    print("| table | written | s, to write: median / most | s, to check | MB |")
    print("| --- | --- | --- | --- | --- |")
    for name in filter(None, arguments.names.split(",")):
        circuit, rows = fitted(name, arguments.models)
        print(measure(name, circuit, rows, arguments.rows, arguments.time_limit), flush=True)


if __name__ == "__main__":
    main()
