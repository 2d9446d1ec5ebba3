"""Use an installed dln like a new user: train, predict, explain, save, draw, report, export.

With --predict, nothing is trained: the circuit is built by hand. That is for wheels without the
compiled extension.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import sklearn
from sklearn.datasets import load_iris

import dln
from dln.draw import draw_circuit
from dln.report import make_report


def train() -> tuple[dln.Circuit, list[list[float]], list[str]]:
    """Train on the iris table; the circuit must predict what the estimator does."""
    table = load_iris()
    rows, labels = table.data.tolist(), [str(table.target_names[each]) for each in table.target]
    model = dln.DLNClassifier(max_rules=4, random_state=0).fit(rows, labels)
    assert model.score(rows, labels) > 0.9
    assert list(model.circuit_.predict(rows)) == list(model.predict(rows))
    return model.circuit_, rows, labels


def build() -> tuple[dln.Circuit, list[list[float]], list[str]]:
    """Write a circuit: age > 54 and pulse > 80 is ill."""
    circuit = dln.Circuit(
        (dln.Column("age", "integer"), dln.Column("pulse", "number")),
        (dln.Above(0, 54.0), dln.Above(1, 80.0)),
        (dln.Node(dln.GATE_BY_NAME["AND"], 0, 1),),
        (dln.Rule(2, (0, 1)),),
        (0, 0),
        ("healthy", "ill"),
    )
    rows = [[60.0, 90.0], [60.0, 70.0], [30.0, 90.0], [70.0, 81.0]]
    labels = ["ill", "healthy", "healthy", "ill"]
    assert list(circuit.predict(rows)) == labels
    return circuit, rows, labels


def use(circuit: dln.Circuit, rows: list[list[float]], labels: list[str], folder: Path) -> None:
    """Call each part once; a saved circuit must predict the same."""
    assert "Most votes win" in str(circuit)
    circuit.save(folder / "model.json")
    assert dln.Circuit.load(folder / "model.json") == circuit
    assert str(circuit.explain(rows[0]))
    assert "<svg" in draw_circuit(circuit).to_svg()
    make_report(circuit, rows, labels).save(folder / "report.html")
    assert (folder / "report.html").stat().st_size > 10_000
    assert dln.export(circuit, to="c")


def use_in_threads(circuit: dln.Circuit, rows: list[list[float]]) -> None:
    """Several threads that share a circuit get the same answers."""

    def answers(_: int) -> tuple[list[object], str]:
        return circuit.evaluate(rows).answers.tolist(), str(circuit.reason(rows[0]))

    with ThreadPoolExecutor(8) as threads:
        first, *others = threads.map(answers, range(64))
    assert all(each == first for each in others)


if __name__ == "__main__":
    circuit, rows, labels = build() if "--predict" in sys.argv else train()
    with tempfile.TemporaryDirectory() as name:
        use(circuit, rows, labels, Path(name))
    use_in_threads(circuit, rows)
    python = f"Python {sys.version.split()[0]} ({platform.machine()})"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        python += " without the global lock"
    versions = f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    print(f"dln {dln.__version__} works: {python}, {versions}")
