"""Measure the result and speed of `dln.simplify`, also compared with SymPy.

    python -m benchmarks.simplify                       # random circuits of 100 to 100,000 gates
    DLN_DATA=folder python -m benchmarks.simplify       # also circuits of the paper's tables
    DLN_DATA=folder python -m benchmarks.simplify --sympy   # also SymPy, up to 60 seconds a rule

Prints gates, literals and gate-level operations (the paper's count) before and after
`dln.simplify`, and its seconds, including the proof for trained circuits. Trained circuits come
from `DLNClassifier(random_state=0, simplify=None)` on all rows.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from typing import Any

import numpy as np

from dln import GATES, Above, Circuit, Column, DLNClassifier, Node, Rule, cost, simplify
from reproduction import datasets

SYMPY_SECONDS = 60.0


def random_circuit(n_gates: int, seed: int = 0) -> Circuit:
    """Draw a circuit; a gate reads wires of the quarter before it, and a fifth of them vote."""
    rng = np.random.default_rng(seed)
    n_columns = max(4, int(n_gates**0.5) // 2)
    columns = tuple(Column(f"x{i}", "number") for i in range(n_columns))
    wanted = min(5 * n_columns, max(8, n_gates // 4))
    drawn = (Above(int(rng.integers(n_columns)), float(rng.integers(20))) for _ in range(wanted))
    literals = tuple(dict.fromkeys(drawn))
    n_wires = len(literals)
    codes = [gate.code for gate in GATES if gate.reads_a and gate.reads_b]
    nodes = []
    for place in range(n_gates):
        first = max(0, n_wires + place - max(50, n_gates // 4)) if place > n_wires else 0
        a, b = rng.integers(first, n_wires + place, 2)
        nodes.append(Node(GATES[int(rng.choice(codes))], int(a), int(b)))
    last = range(n_wires + n_gates - max(4, n_gates // 5), n_wires + n_gates)
    rules = tuple(Rule(wire, (0, 1) if rng.random() < 0.5 else (1, 0)) for wire in last)
    return Circuit(columns, literals, tuple(nodes), rules, (0, 0), ("a", "b"))


def measure(name: str, circuit: Circuit, *, prove: bool) -> Circuit:
    """Simplify a circuit and print a row of the table."""
    start = time.perf_counter()
    smaller = simplify(circuit, prove=prove, time_limit=None)
    seconds = time.perf_counter() - start
    before, after = cost(circuit), cost(smaller)
    proof = smaller.proof.method if smaller.proof else "-"
    print(
        f"| {name} | {circuit.n_gates} | {smaller.n_gates} | {circuit.n_literals} | "
        f"{smaller.n_literals} | {before.gate_operations} | {after.gate_operations} | "
        f"{before.logic.gate_operations} | {after.logic.gate_operations} | {seconds:.2f} | "
        f"{proof} |",
        flush=True,
    )
    return smaller


def compare_with_sympy(name: str, circuit: Circuit) -> tuple[int, int, int, int]:
    """Simplify each rule separately, with dln and with SymPy.

    Returns the number of rules that both finished, the number of rules where ours is larger, and
    both total numbers of gates.
    """
    n_rules = n_larger = ours = theirs = 0
    for rule in circuit.rules:
        single = Circuit(
            circuit.columns,
            circuit.literals,
            circuit.nodes,
            (rule,),
            (0,) * circuit.n_classes,
            circuit.classes,
        )
        counted = _run_sympy(single)
        if counted is None:
            continue
        own = cost(simplify(single, prove=False)).logic.gate_operations
        n_rules += 1
        n_larger += own > counted
        ours += own
        theirs += counted
    print(
        f"| {name} | {len(circuit.rules)} | {n_rules} | {ours} | {theirs} | {n_larger} |",
        flush=True,
    )
    return n_rules, n_larger, ours, theirs


def _run_sympy(circuit: Circuit) -> int | None:
    """Return SymPy's number of gates for a circuit with one rule; None if it takes too long."""
    if cost(circuit).operations == 0:
        return None
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_sympy_worker, args=(circuit, writer))
    process.start()
    found = reader.recv() if reader.poll(SYMPY_SECONDS) else None
    process.kill()
    process.join()
    return found


def _sympy_worker(circuit: Circuit, writer: Any) -> None:
    from sympy import simplify_logic

    writer.send(_operations(simplify_logic(circuit.rules[0].to_sympy(circuit), force=True)))


def _operations(expression: Any) -> int:
    """Count gates as the paper does: m - 1 for an AND or OR of m parts, 3 (m - 1) for an XOR."""
    if not expression.args or expression.is_Relational:
        return 0
    below = sum(_operations(part) for part in expression.args)
    each = {"And": 1, "Or": 1, "Xor": 3, "Not": 0}[type(expression).__name__]
    return below + each * (len(expression.args) - 1)


HEAD = (
    "| circuit | gates | after | literals | after | gate-level operations | after | of logic "
    "| after | seconds | proof |"
)


def main() -> None:
    """Run the chosen measurements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=",".join(datasets.NAMES), help="comma-separated tables")
    parser.add_argument("--sympy", action="store_true", help="compare with SymPy, rule by rule")
    parser.add_argument("--no-random", action="store_true", help="skip random circuits")
    arguments = parser.parse_args()
    trained = {}
    print(HEAD)
    print("| --- " * 11 + "|")
    if os.environ.get("DLN_DATA"):
        for name in arguments.names.split(","):
            table = datasets.load(name)
            model = DLNClassifier(random_state=0, simplify=None).fit(table.X, table.y)
            trained[name] = model.circuit_
            measure(name, model.circuit_, prove=True)
    if not arguments.no_random:
        for n_gates in (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000):
            measure(f"random, {n_gates:,} gates", random_circuit(n_gates), prove=False)
    if arguments.sympy:
        import sympy  # noqa: F401  (once, before processes are made of this one)

        print("\n| circuit | rules | SymPy finished | gates here | gates SymPy | larger here |")
        print("| --- " * 6 + "|")
        for name, circuit in trained.items():
            compare_with_sympy(name, circuit)


if __name__ == "__main__":
    main()
