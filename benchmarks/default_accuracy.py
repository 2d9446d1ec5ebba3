"""The accuracy of `DLNClassifier()` without tuning on the paper's public tables.

    DLN_DATA=folder python -m benchmarks.default_accuracy                # 19 tables x 5 seeds
    DLN_DATA=folder python -m benchmarks.default_accuracy --names Heart,Liver --seeds 2

For each table and seed: a stratified 75/25 split (the official one for HAR and SatIm), a fit with
default parameters, the balanced accuracy on the test rows. Each result is written to the output
file at once, so a stopped run can be resumed. The table at the end shows the means next to the
figures that the paper reports for its tuned DLN.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import subprocess
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from dln import DLNClassifier
from reproduction import datasets
from reproduction.protocol import split_rows
from reproduction.published import figures

FIELDS = ("dataset", "seed", "accuracy", "gates", "literals", "seconds", "cores", "commit")
PAPER = figures("accuracy")
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "default_accuracy.csv"


def measure(dataset: datasets.Dataset, seed: int, measured: str) -> dict[str, object]:
    """Fit with default parameters and test."""
    train, test = split_rows(dataset, seed)
    start = time.perf_counter()
    model = DLNClassifier(random_state=seed).fit(dataset.X.iloc[train], dataset.y.iloc[train])
    seconds = time.perf_counter() - start
    predicted = model.predict(dataset.X.iloc[test])
    return {
        "dataset": dataset.name,
        "seed": seed,
        "accuracy": f"{100 * balanced_accuracy_score(dataset.y.iloc[test], predicted):.3f}",
        "gates": model.circuit_.n_gates,
        "literals": model.circuit_.n_literals,
        "seconds": f"{seconds:.2f}",
        "cores": len(os.sched_getaffinity(0)),
        "commit": measured,
    }


def commit() -> str:
    """Return the commit that is measured; "+" marks uncommitted changes of the package."""
    git = ["git", "-C", str(Path(__file__).parent.parent)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changes = [*git, "status", "--porcelain", "--", "src", "native"]
    dirty = subprocess.run(changes, capture_output=True, text=True).stdout.strip()
    return name.stdout.strip() + ("+" if dirty else "")


def read_results(path: Path) -> list[dict[str, str]]:
    """Read the results of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def summary(results: list[dict[str, str]]) -> str:
    """Format the means over seeds as a Markdown table."""
    lines = [
        "| table | balanced accuracy | ± | paper, tuned | gates | literals | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    means = {}
    for name in dict.fromkeys(row["dataset"] for row in results):
        rows = [row for row in results if row["dataset"] == name]
        column = {key: np.array([float(row[key]) for row in rows]) for key in FIELDS[2:6]}
        means[name] = column["accuracy"].mean()
        error = column["accuracy"].std() / np.sqrt(len(rows))
        lines.append(
            f"| {name} | {means[name]:.1f} | {error:.1f} | {PAPER[name]['DLN']:.1f} "
            f"| {column['gates'].mean():.0f} | {column['literals'].mean():.0f} "
            f"| {column['seconds'].mean():.1f} |"
        )
    paper = np.mean([PAPER[name]["DLN"] for name in means])
    lines.append(
        f"| mean of {len(means)} | {np.mean(list(means.values())):.2f} | | {paper:.1f} | | | |"
    )
    return "\n".join(lines)


def main() -> None:
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=",".join(datasets.NAMES), help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=5, help="number of splits per table")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first split")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="CSV file of results")
    parser.add_argument("--fresh", action="store_true", help="discard earlier results")
    arguments = parser.parse_args()
    output: Path = arguments.output
    output.parent.mkdir(parents=True, exist_ok=True)
    if arguments.fresh:
        output.unlink(missing_ok=True)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    measured = commit()  # now, before the sources change
    done = {(row["dataset"], int(row["seed"])) for row in read_results(output)}
    for name in arguments.names.split(","):
        missing = [seed for seed in seeds if (name, seed) not in done]
        dataset = datasets.load(name) if missing else None
        for seed in missing:
            assert dataset is not None
            result = measure(dataset, seed, measured)
            is_new = not output.exists()
            with output.open("a", newline="") as stream:
                writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
                if is_new:
                    writer.writeheader()
                writer.writerow(result)
            print(" ".join(f"{key}={value}" for key, value in result.items()), flush=True)
    print(f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(summary(read_results(output)))


if __name__ == "__main__":
    main()
