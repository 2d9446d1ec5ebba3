"""Seconds and bytes of certificates of reasons, for default fits of the paper's tables.

    DLN_DATA=folder python -m benchmarks.certificates
    DLN_DATA=folder python -m benchmarks.certificates --names Heart,BankChurn --rows 3
    DLN_DATA=folder python -m benchmarks.certificates --names Heart,BankChurn --equal

For each of the first test rows: a certificate that its reason forces its class. With `--equal`: one
that the circuit equals its simplification with `effort="normal"`. Times are those of
the processor: to write it, and for check_certificate.py to check it. `--models FOLDER` keeps the
circuits.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.reasons import fitted
from dln import Circuit, simplify
from dln.core.model_file import circuit_to_json
from dln.explain.why import reason_claim
from dln.prove.certificate import certificate_of
from dln.prove.claim import Claim
from dln.prove.clock import Clock
from dln.prove.equality import equality_claim
from reproduction import datasets

CHECKER = Path(__file__).parents[1] / "check_certificate.py"


def measure(name: str, circuit: Circuit, claims: Iterable[Claim], time_limit: float) -> str:
    """Return a line of the table for claims about a circuit."""
    return _line(name, [([circuit], claim) for claim in claims], time_limit)


def measure_equal(name: str, circuit: Circuit, time_limit: float) -> str:
    """Return a line of the table for the claim that a circuit equals its simplification."""
    small = simplify(circuit, effort="normal")
    return _line(name, [([circuit, small], equality_claim(circuit, small))], time_limit)


def _line(name: str, asked: Sequence[tuple[list[Circuit], Claim]], time_limit: float) -> str:
    """Return a line of the table: medians over the claims, and the largest."""
    spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    found = []
    for circuits, claim in asked:
        models = [circuit_to_json(own).encode() for own in circuits]
        start = time.process_time()
        certificate = certificate_of([claim], models[0], Clock(time_limit), *models[1:])
        written = time.process_time()
        if certificate is not None:
            text = json.dumps(certificate)
            read = time.process_time()
            checker.check(models, json.loads(text))
            found.append((written - start, time.process_time() - read, len(text) / 1e6))
    if not found:
        return f"| {name} | 0 of {len(asked)} | | | |"
    cells = [f"{np.median(own):.2f} / {max(own):.2f}" for own in zip(*found, strict=True)]
    return f"| {name} | {len(found)} of {len(asked)} | {' | '.join(cells)} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=",".join(datasets.NAMES), help="comma-separated tables")
    parser.add_argument("--rows", type=int, default=3, help="test rows of each table")
    parser.add_argument("--equal", action="store_true", help="prove equality instead of reasons")
    parser.add_argument("--models", type=Path, help="folder to keep the circuits in")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a certificate")
    arguments = parser.parse_args()
    print("| table | written | s, to write: median / most | s, to check | MB |")
    print("| --- | --- | --- | --- | --- |")
    for name in filter(None, arguments.names.split(",")):
        circuit, rows = fitted(name, arguments.models)
        if arguments.equal:
            print(measure_equal(name, circuit, arguments.time_limit), flush=True)
            continue
        claims = (
            reason_claim(circuit, circuit.reason(rows.iloc[place]))  # type: ignore[attr-defined]
            for place in range(arguments.rows)
        )
        print(measure(name, circuit, claims, arguments.time_limit), flush=True)


if __name__ == "__main__":
    main()
