"""Use an installed dln like a new user: train, predict, explain, save, draw, report, export.

With --predict, nothing is trained: the circuit is built by hand. That is for wheels without the
compiled extension.
"""

from __future__ import annotations

import sys
import tempfile
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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        use(*(build() if "--predict" in sys.argv else train()), Path(name))
    versions = f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    print(f"dln {dln.__version__} works: Python {sys.version.split()[0]}, {versions}")
