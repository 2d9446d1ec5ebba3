"""Which settings raise accuracy on Letter, HAR and SatIm: slope, width, links, thresholds, depth.

    DLN_DATA=folder python -m benchmarks.gap

Each setting is fitted on 80 % of the training rows and evaluated on the other 20 %. The test rows
are not used. Each setting, table and seed is one line of the results file, so a stopped run can be
resumed. The table at the end shows means over the seeds.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from dln import DLNClassifier
from reproduction import datasets
from reproduction.protocol import split_rows
from reproduction.run.provenance import provenance

OUTPUT = Path(__file__).parent / "results" / "gap.csv"
FIELDS = ("dataset", "setting", "seed", "accuracy", "gates", "literals", "seconds", "commit")
TABLES = {"Letter": 26, "HAR": 6, "SatIm": 6}

# The paper's options at a medium size of its space; 300 epochs at a constant learning rate.
PAPER = {
    "n_cutoffs": 4, "n_links": 8, "n_gates": 8, "slope": 2.0, "threshold_rate": 1.0,
    "final_rate": 1.0, "phases": "epochs", "gate_gradient": "mixture", "learning_rate": 0.05,
    "epochs": 300, "scaling": "range",
}  # fmt: skip
OURS = {"n_cutoffs": 6, "n_links": 16, "n_gates": 16, "epochs": 60}


def settings(n_classes: int) -> dict[str, dict[str, Any]]:
    """List the settings: from the paper's to ours, then ours with one change each."""
    narrow, usual, wide = (round(width * (n_classes / 2) ** 0.75) for width in (40, 300, 600))
    small, middle, large = ((first, -(-first // 2)) for first in (narrow, usual, wide))
    return {
        "paper's options, narrow": {**PAPER, "layers": small},
        "steep slopes, narrow": {**PAPER, "slope": 20.0, "threshold_rate": 0.1, "layers": small},
        "our training, narrow": {**OURS, "layers": small},
        "paper's options, wide": {**PAPER, "epochs": 60, "layers": middle},
        "our training, wide": {**OURS, "layers": middle},
        "twice as wide": {**OURS, "layers": large},
        "8 links": {**OURS, "layers": middle, "n_links": 8},
        "32 links": {**OURS, "layers": middle, "n_links": 32},
        "3 cutoffs": {**OURS, "layers": middle, "n_cutoffs": 3},
        "12 cutoffs": {**OURS, "layers": middle, "n_cutoffs": 12},
        "one layer": {**OURS, "layers": (usual,)},
        "three layers": {**OURS, "layers": (usual, usual, -(-usual // 2))},
        "one layer, twice as wide, 32 links, 12 cutoffs": {
            **OURS,
            "layers": (wide,),
            "n_links": 32,
            "n_cutoffs": 12,
        },
    }


def measure(dataset: datasets.Dataset, name: str, params: dict[str, Any], seed: int) -> list[Any]:
    """Fit one setting and evaluate it on validation rows."""
    rows = split_rows(dataset, seed)[0]
    train, valid = train_test_split(
        rows, test_size=0.2, stratify=dataset.y.iloc[rows], random_state=seed
    )
    taus = (8.0, 16.0)
    start = time.perf_counter()
    best: tuple[float, Any] = (-1.0, None)
    for tau in taus:
        model = DLNClassifier(**params, tau=tau, n_networks=1, selection_fits=0, random_state=seed)
        model.fit(dataset.X.iloc[train], dataset.y.iloc[train])
        predicted = model.predict(dataset.X.iloc[valid])
        accuracy = 100 * balanced_accuracy_score(dataset.y.iloc[valid], predicted)
        best = max(best, (accuracy, model.circuit_), key=lambda found: found[0])
    seconds = (time.perf_counter() - start) / len(taus)
    accuracy, circuit = best
    sizes = [circuit.n_gates, circuit.n_literals]
    return [dataset.name, name, seed, f"{accuracy:.2f}", *sizes, f"{seconds:.1f}",
            provenance()["commit"]]  # fmt: skip


def read(path: Path) -> list[dict[str, str]]:
    """Read the results of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def summary(rows: list[dict[str, str]]) -> str:
    """Format means over seeds as a Markdown table."""
    lines = ["| setting | " + " | ".join(TABLES) + " |", "| --- " * (len(TABLES) + 1) + "|"]
    for name in settings(2):
        cells = []
        for table in TABLES:
            found = [row for row in rows if (row["dataset"], row["setting"]) == (table, name)]
            if not found:
                cells.append("–")
                continue
            mean = np.mean([float(row["accuracy"]) for row in found])
            gates = np.mean([float(row["gates"]) for row in found])
            cells.append(f"{mean:.1f} ({gates:.0f} gates, {len(found)} seeds)")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="number of splits per table")
    arguments = parser.parse_args()
    done = {(row["dataset"], row["setting"], int(row["seed"])) for row in read(OUTPUT)}
    for seed in range(arguments.seeds):
        for table in ("SatIm", "Letter", "HAR"):
            dataset = datasets.load(table)
            for name, params in settings(TABLES[table]).items():
                if (table, name, seed) in done:
                    continue
                result = measure(dataset, name, params, seed)
                is_new = not OUTPUT.exists()
                with OUTPUT.open("a", newline="") as stream:
                    writer = csv.writer(stream, lineterminator="\n")
                    if is_new:
                        writer.writerow(FIELDS)
                    writer.writerow(result)
                print(*result, flush=True)
    print(summary(read(OUTPUT)))


if __name__ == "__main__":
    main()
