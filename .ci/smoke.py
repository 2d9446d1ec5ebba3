"""Use an installed dln like a new user: train, predict, explain, save, draw, report, export."""

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


def use_dln(folder: Path) -> None:
    """Call each part once; all of them must agree with the model."""
    table = load_iris()
    columns = [name.partition(" (")[0] for name in table.feature_names]
    rows, labels = table.data, [str(table.target_names[each]) for each in table.target]
    model = dln.DLNClassifier(max_rules=4, random_state=0).fit(rows, labels)
    assert model.score(rows, labels) > 0.9
    circuit = model.circuit_
    assert "Most votes win" in str(circuit), columns
    circuit.save(folder / "iris.json")
    loaded = dln.Circuit.load(folder / "iris.json")
    assert list(loaded.predict(rows)) == list(model.predict(rows))
    assert str(circuit.explain(rows[0]))
    assert "<svg" in draw_circuit(circuit).to_svg()
    make_report(circuit, rows, labels).save(folder / "report.html")
    assert (folder / "report.html").stat().st_size > 10_000
    assert dln.export(circuit, to="c")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        use_dln(Path(name))
    versions = f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    print(f"dln {dln.__version__} works: Python {sys.version.split()[0]}, {versions}")
