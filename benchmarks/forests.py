"""Reasons for trees and random forests, beside PyXAI: seconds, sizes and shares proven minimal.

    python -m benchmarks.forests --pyxai ENVIRONMENT/bin/python
    python -m benchmarks.forests --trees 1,11,25,51 --depth 6 --rows 30     # dln alone

Random forests of scikit-learn (seed 0) on the first 400 rows of its breast cancer table, and for
one tree a decision tree. A forest is a circuit: each leaf is a rule with one vote for its class, so
the class is that of most trees, as in PyXAI. The number of trees is odd: there are no ties. Rows
from 400 on are explained. PyXAI needs an environment of its own, in which `pip install pyxai` was
run. Its reasons are minimal by condition, those of dln by column. dln is measured twice: for a
minimal reason, which is what PyXAI computes, and for one that is also widened to intervals and
checked by other code. Times are seconds of processor time, on one thread. dln reads the row from
an array, PyXAI from a tuple.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dln import Above, Circuit, Column, reason_codes
from dln.core.builder import LogicBuilder, Signal
from dln.core.gates import GATE_BY_NAME
from dln.core.parts import Rule
from dln.core.readout import Votes

SCRIPT = Path(__file__).parent / "pyxai_forest.py"
Tree = Any
"""The class of a leaf, or (feature, threshold, tree if not above, tree if above)."""


def tree_of(tree: Any, node: int = 0) -> Tree:
    """Read a tree of scikit-learn."""
    if tree.children_left[node] < 0:
        return int(np.argmax(tree.value[node][0]))
    children = (tree_of(tree, tree.children_left[node]), tree_of(tree, tree.children_right[node]))
    return (int(tree.feature[node]), float(tree.threshold[node]), *children)


def circuit_of(trees: list[Tree], names: list[str]) -> Circuit:
    """Make the circuit of a forest: a rule for each leaf."""
    builder = LogicBuilder(tuple(Column(name, "number") for name in names))
    both = GATE_BY_NAME["AND"]
    leaves: list[tuple[Signal, int]] = []

    def visit(tree: Tree, path: list[Signal]) -> None:
        if isinstance(tree, int):
            leaves.append((reduce(lambda a, b: builder.gate(both, a, b), path), tree))
            return
        feature, threshold, low, high = tree
        above = builder.literal(Above(feature, threshold))
        visit(low, [*path, above.invert(True)])
        visit(high, [*path, above])

    for tree in trees:
        visit(tree, [])
    logic, wires = builder.build([signal for signal, _ in leaves])
    rules = [Rule(wires[signal], (1 - label, label)) for signal, label in leaves]
    return Circuit(logic=logic, readout=Votes(tuple(rules), (0, 0), (0, 1)))


def fitted_trees(n_trees: int, depth: int, X: Any, y: Any) -> list[Any]:
    """Fit a forest, or a decision tree; return the trees."""
    if n_trees == 1:
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X.to_numpy(), y)
        return [tree]
    forest = RandomForestClassifier(n_trees, max_depth=depth, random_state=0)
    return list(forest.fit(X, y).estimators_)


def measure(
    name: str,
    circuit: Circuit,
    rows: Any,
    n_trees: int,
    size: str,
    time_limit: float,
    widen: Literal["no", "quick"],
) -> str:
    """Return a line for reasons of dln; widened ones are checked too."""
    seconds, columns, minimal = [], [], 0
    table = rows.to_numpy()
    check = widen != "no"
    for place in range(len(rows)):
        start = time.process_time()
        (reason,) = reason_codes(
            circuit,
            table[place : place + 1],
            n_jobs=1,
            widen=widen,
            check=check,
            time_limit=time_limit,
        )
        seconds.append(time.process_time() - start)
        columns.append(len(reason.parts))
        minimal += reason.minimal and (reason.checked or not check)
    rest = [f"{np.mean(columns):.1f}", "", f"{minimal} of {len(rows)}"]
    return line(name, n_trees, size, seconds, rest)


def line(name: str, n_trees: int, size: str, seconds: list[float], rest: list[str]) -> str:
    """Return a line of the table."""
    times = f"{1e3 * np.median(seconds):.1f} / {1e3 * np.quantile(seconds, 0.99):.0f}"
    return f"| {n_trees} | {size} | {name} | {times} | {' | '.join(rest)} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--trees", default="1,11,25,51", help="comma-separated numbers of trees, odd"
    )
    parser.add_argument("--depth", type=int, default=6, help="of each tree")
    parser.add_argument("--rows", type=int, default=30, help="rows to explain")
    parser.add_argument("--pyxai", help="Python of an environment with PyXAI")
    parser.add_argument("--time-limit", type=int, default=60, help="seconds for each reason")
    arguments = parser.parse_args()
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.astype(np.float32).astype(np.float64)  # as scikit-learn compares them
    rows = X.iloc[400 : 400 + arguments.rows]
    print(
        "| trees | rules / gates | program | ms: median / 99 % | columns | conditions | minimal |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n_trees in map(int, arguments.trees.split(",")):
        members = fitted_trees(n_trees, arguments.depth, X.iloc[:400], y.iloc[:400])
        trees = [tree_of(each.tree_) for each in members]
        circuit = circuit_of(trees, list(X.columns))
        votes = sum(each.predict(rows.to_numpy()) for each in members)
        assert (circuit.predict(rows) == (2 * votes > n_trees)).all(), (
            "the circuit is another model"
        )
        size = f"{len(circuit.rules)} / {circuit.n_gates}"
        reason_codes(circuit, rows.iloc[:1], n_jobs=1, check=True)  # prepares the circuit
        print(measure("dln, minimal", circuit, rows, n_trees, size, arguments.time_limit, "no"))
        name = "dln, widened and checked"
        print(measure(name, circuit, rows, n_trees, size, arguments.time_limit, "quick"))
        if arguments.pyxai:
            document = {
                "names": list(X.columns),
                "trees": trees,
                "rows": rows.to_numpy().tolist(),
                "time_limit": arguments.time_limit,
            }
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "forest.json"
                path.write_text(json.dumps(document), "utf-8")
                done = subprocess.run(
                    [arguments.pyxai, SCRIPT, path], capture_output=True, text=True, check=True
                )
            # PyXAI prints more lines.
            answers = json.loads(next(x for x in done.stdout.splitlines() if x.startswith("[{")))
            assert [each["class"] for each in answers] == circuit.predict(rows).tolist()
            found = [each for each in answers if each["found"]]
            rest = [
                f"{np.mean([len(each['columns']) for each in found]):.1f}",
                f"{np.mean([each['n_conditions'] for each in found]):.1f}",
                f"{len(found)} of {len(rows)}",
            ]
            seconds = [each["seconds"] for each in answers]
            print(line("PyXAI", n_trees, size, seconds, rest), flush=True)


if __name__ == "__main__":
    main()
