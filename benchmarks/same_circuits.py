"""Check that a change of the code leaves every trained circuit as it was.

Fits ten tables with two seeds and effort="quick", one table with more effort, and with
other options on each engine, and compares a digest of every circuit with the recorded one.

    python -m benchmarks.same_circuits ../shared            # compare with the recorded digests
    python -m benchmarks.same_circuits ../shared --record   # record them again

The digests hold for the library versions in the file: scikit-learn places the first cutoffs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from dln import Alternating, Annealing, Circuit, DLNClassifier, Freezing, Pruning

RECORD = Path(__file__).parent / "results" / "same_circuits.json"
TABLES = (
    "data/Heart.csv",
    "data/Liver.csv",
    "data/Diabetes.csv",
    "data/HepatitisC.csv",
    "data/BreastCancer.csv",
    "data/Cirrhosis.csv",
    "data/CKD.csv",
    "more/classification/german.csv.gz",
    "more/classification/tic-tac-toe.csv.gz",
    "more/classification/vowel.csv.gz",
)
SMALL: dict[str, Any] = {"layers": (32, 16), "n_networks": 2, "epochs": 12, "tau": 2.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "epochs": {"phases": "epochs", "gate_gradient": "mixture", "scaling": "range"},
    "batches": {"phases": "batches", "concatenation": "shared", "n_links": None},
    "alternating": {"phases": Alternating(2), "freezing": Freezing(0.4), "vote_density": 0.0},
    "pruned": {"pruning": Pruning(), "n_gates": 8, "concatenation": "none", "grad_factor": 1.5},
    "annealed": {"temperature": Annealing(2.0, 0.5), "validation_fraction": 0.2},
    "weighted": {"class_weight": "balanced", "vote_threshold": 0.7, "threshold_rate": 0.0},
    "unsimplified": {"simplify": None, "final_rate": 1.0, "slope": 4.0, "batch_size": 32},
    "torch": {"engine": "torch", "epochs": 4},
    "torch soft": {"engine": "torch", "relaxation": "soft", "epochs": 4},
    "torch gumbel": {"engine": "torch", "relaxation": "gumbel", "epochs": 4, "phases": "epochs"},
}


def digest(circuit: Circuit) -> str:
    """Return a short digest of everything that decides a prediction."""
    nodes = [(node.gate.name, node.a, node.b) for node in circuit.nodes]
    rules = [(rule.wire, tuple(rule.votes)) for rule in circuit.rules]
    columns = [(column.name, column.kind, column.categories) for column in circuit.columns]
    parts = (columns, circuit.literals, nodes, rules, tuple(circuit.base_votes), circuit.classes)
    text = repr((parts, circuit.temperature))
    return f"{len(nodes)} gates {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def load(folder: Path, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table and its target, which a manifest in the folder names."""
    file = folder / path
    data = json.loads((folder / "data" / "manifest.json").read_text())["datasets"]
    more = json.loads((folder / "more" / "manifest.json").read_text())["classification"]
    targets = {entry["name"]: entry["target"] for entry in data}
    targets |= {name: entry["target"] for name, entry in more.items()}
    target = targets[file.name.split(".")[0]]
    table = pd.read_csv(file)
    table = table.dropna(subset=[target])
    return table.drop(columns=target), table[target]


def fits() -> Iterator[tuple[str, str, DLNClassifier]]:
    """List what is fitted: its name, the file of the table, and the classifier."""
    for path in TABLES:
        for seed in (0, 1):
            model = DLNClassifier(effort="quick", random_state=seed)
            yield f"{Path(path).name} seed {seed}", path, model
    for effort in ("normal", "high"):
        yield f"Heart.csv {effort}", TABLES[0], DLNClassifier(effort=effort, random_state=0)
    for name, options in VARIANTS.items():
        model = DLNClassifier(**{**SMALL, **options}, random_state=0)
        yield f"Heart.csv {name}", TABLES[0], model


def main() -> None:
    """Fit, compare with the record, and exit with 1 if a circuit differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument("--record", action="store_true", help="write the digests")
    parser.add_argument("--only", default="", help="fit only names that contain this text")
    arguments = parser.parse_args()
    old = json.loads(RECORD.read_text()) if RECORD.exists() else {"circuits": {}}
    new: dict[str, str] = {}
    differ = 0
    warnings.simplefilter("ignore")  # a small network may miss a class; the circuit still counts
    for name, path, model in fits():
        if arguments.only not in name:
            continue
        new[name] = digest(model.fit(*load(arguments.folder, path)).circuit_)
        same = new[name] == old["circuits"].get(name)
        differ += not same
        print(f"{name:32} {new[name]} {'same' if same else 'DIFFERS'}", flush=True)
    if arguments.record:
        versions = {package: version(package) for package in ("numpy", "scikit-learn", "torch")}
        RECORD.write_text(json.dumps({"versions": versions, "circuits": new}, indent=1) + "\n")
    elif differ:
        raise SystemExit(f"{differ} of {len(new)} circuits differ from the record")


if __name__ == "__main__":
    main()
