"""Compare the prediction speed of a circuit with other models and with copying the table.

    python -m benchmarks.predict_speed

2M x 20 float32, one core, a circuit of about 40 literals and 100 gates; everything is measured in
this run. Copying the table is the upper limit: no model can be faster than reading its input. The
same circuit is measured with numbers instead of classes: points of 1, 3 and 6 digits, each link.
LightGBM is included if it is installed (`make bench` installs it).
"""

from __future__ import annotations

import os
import time
import timeit
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is loaded
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from dln import GATES, Above, Circuit, Column, Node, Rule, Score  # noqa: E402

N_ROWS, N_COLUMNS, N_LITERALS, N_GATES, N_RULES = 2_000_000, 20, 40, 100, 20
TARGETS = {
    "copy of the table": 0.5,
    "scikit-learn tree, 16 leaves": 10,
    "scikit-learn forest, 100 trees": 200,
    "LightGBM, 100 trees": 300,
}
NUMBER_TARGET = 0.5
"""Rows per second of a circuit that predicts a number, relative to the classifier."""


def random_circuit(rng: np.random.Generator) -> Circuit:
    """Draw a random circuit in which every literal and gate is used."""
    literals = tuple(Above(index % N_COLUMNS, float(rng.random())) for index in range(N_LITERALS))
    useful = [gate for gate in GATES if gate.reads_a and gate.reads_b]
    unread = list(range(N_LITERALS))
    nodes: list[Node] = []
    for index in range(N_GATES):
        wire = N_LITERALS + index
        # Prefer unused wires as sources, but keep enough unused ones for the rules.
        a = unread.pop(0)
        fresh = len(unread) > N_RULES - 1 and rng.random() < 0.6
        b = unread.pop(0) if fresh else int(rng.integers(wire))
        nodes.append(Node(useful[rng.integers(len(useful))], a, b if b != a else wire - 1))
        unread.append(wire)
    rules = tuple(Rule(wire, (1, 0) if place % 2 else (0, 1)) for place, wire in enumerate(unread))
    return Circuit(
        columns=tuple(Column(f"x{index}", "number") for index in range(N_COLUMNS)),
        literals=literals,
        nodes=tuple(nodes),
        rules=rules,
        base_votes=(0, 0),
        classes=(0, 1),
    )


def with_number(circuit: Circuit, digits: int, link: Any, rng: np.random.Generator) -> Circuit:
    """Return the same logic with points of so many digits instead of votes."""
    points = rng.integers(10 ** (digits - 1), 10**digits, len(circuit.rules))
    signs = rng.choice([-1, 1], len(circuit.rules))
    rules = tuple(
        Rule(rule.wire, (int(more),))
        for rule, more in zip(circuit.rules, points * signs, strict=True)
    )
    return Circuit(logic=circuit.logic, readout=Score(rules, (12,), digits, link))


def rows_per_second(run: Callable[[], object], n_rows: int, repeats: int) -> float:
    """Return the rate of the fastest of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return n_rows / best


def main() -> None:
    """Measure and print the rates and their ratios."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, N_COLUMNS), dtype=np.float32)
    circuit = random_circuit(rng)
    y = circuit.predict(X[:20_000])
    print(f"{circuit!r}, {N_ROWS:,} rows x {N_COLUMNS} float32, one core")

    destination = np.empty_like(X)
    part = X[:200_000]
    models: dict[str, tuple[Callable[[], object], int, int]] = {
        "dln": (lambda: circuit.predict(X), N_ROWS, 7),
        "copy of the table": (lambda: np.copyto(destination, X), N_ROWS, 7),
    }
    tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0).fit(X[:20_000], y)
    models["scikit-learn tree, 16 leaves"] = (lambda: tree.predict(X), N_ROWS, 3)
    forest = RandomForestClassifier(100, random_state=0).fit(X[:20_000], y)
    models["scikit-learn forest, 100 trees"] = (lambda: forest.predict(part), len(part), 1)
    mlp = MLPClassifier((50,), max_iter=5, random_state=0)
    with np.errstate(all="ignore"):
        import warnings

        warnings.simplefilter("ignore")
        mlp.fit(X[:20_000], y)
    models["scikit-learn MLP (50)"] = (lambda: mlp.predict(part), len(part), 3)
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        print("LightGBM is not installed: left out")
    else:
        booster = LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1).fit(X[:20_000], y)
        models["LightGBM, 100 trees"] = (lambda: booster.predict(part), len(part), 2)

    rates = {name: rows_per_second(*what) for name, what in models.items()}
    for name, rate in rates.items():
        line = f"  {name:32s} {rate / 1e6:8.2f} M rows/s"
        if name != "dln":
            line += f"   dln is {rates['dln'] / rate:7.2f} times this rate"
        if name in TARGETS:
            line += f" (target {TARGETS[name]})"
        print(line)

    for link in ("identity", "log", "logit"):
        for digits in (1, 3, 6):
            number = with_number(circuit, digits, link, rng)
            rate = rows_per_second(lambda: number.predict(X), N_ROWS, 7)  # noqa: B023
            print(
                f"  {f'a number, {link}, points of {digits} digits':40s} {rate / 1e6:8.2f} M rows/s"
                f"   {rate / rates['dln']:5.2f} times the classes (target {NUMBER_TARGET})"
            )

    for dtype in (np.float32, np.float64):
        row = X[:1].astype(dtype)
        circuit.predict(row)
        micro = min(timeit.repeat(lambda: circuit.predict(row), number=2_000, repeat=7)) / 2e-3  # noqa: B023
        print(f"  one row of {np.dtype(dtype)} through Circuit.predict: {micro:.2f} µs (target 10)")


if __name__ == "__main__":
    main()
