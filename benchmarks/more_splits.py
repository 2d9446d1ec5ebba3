r"""The default search on more splits of small tables than the four of the experiment.

    DLN_DATA=folder python -m reproduction run --models dln \
        --seeds 4,5,6,7,8,9,10,11,12,13 --results cells \
        --datasets BreastCancer,CKD,Cirrhosis,Diabetes,Heart,HeartFailure,HepatitisC,Liver
    python -m benchmarks.more_splits --cells cells --write
    python -m benchmarks.more_splits

The first command runs the searches; results of dln-small come from the same searches. (The stored
ones were made with `--engine cuda`.) The second prints the means and stores the splits in
`results/more_splits.csv`. The third prints the means of the stored splits. The standard error
of a mean over tables treats the means of the tables as independent.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from reproduction.datasets import NAMES
from reproduction.experiment import RESULTS
from reproduction.protocol import SEEDS
from reproduction.run.results import read_results

KEPT = Path(__file__).parent / "results" / "more_splits.csv"
FIELDS = (
    "dataset", "model", "seed", "accuracy", "validation", "gate_operations", "engine", "commit",
)  # fmt: skip
MODELS = ("dln", "dln-small")

Split = Mapping[str, str]
"""One cell: its `FIELDS` as a CSV file has them."""


def read_cells(folder: Path) -> list[Split]:
    """Read the cells of dln and dln-small in a folder of results, in the order of their seeds."""
    found = [result for result in read_results(folder) if result.model in MODELS]
    found.sort(key=lambda result: (result.dataset, result.model, result.seed))
    return [{name: str(getattr(result, name)) for name in FIELDS} for result in found]


def read_kept(path: Path) -> list[Split]:
    """Read the splits of a CSV file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_kept(splits: Iterable[Split], path: Path) -> None:
    """Write splits as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(splits)


def mean_of_table(splits: Iterable[Split], dataset: str, model: str) -> tuple[float, float, int]:
    """Return mean accuracy, its standard error and the number of splits of a model on a table."""
    own = [x for x in splits if (x["dataset"], x["model"]) == (dataset, model)]
    accuracies = np.array([float(split["accuracy"]) for split in own])
    error = accuracies.std(ddof=1) / np.sqrt(len(accuracies))
    return float(accuracies.mean()), float(error), len(accuracies)


def show(published: list[Split], further: list[Split]) -> None:
    """Print the means over the first four splits and over all, per table and over tables."""
    columns = [(part, model) for model in MODELS for part in (published, published + further)]
    by_column = [[mean_of_table(part, name, model) for name in NAMES] for part, model in columns]
    heads = [f"{model}, {which}" for model in MODELS for which in ("published", "all splits")]
    print(f"{'':16}" + "".join(f"{head:>23}" for head in heads))
    for name, row in zip(NAMES, zip(*by_column, strict=True), strict=True):
        print(f"{name:16}" + "".join(f"{m:11.2f} ± {e:4.2f} ({n:2})" for m, e, n in row))
    overall = ""
    for means in by_column:
        error = np.hypot.reduce([error for _, error, _ in means]) / len(NAMES)
        overall += f"{np.mean([mean for mean, _, _ in means]):11.2f} ± {error:4.2f}     "
    print(f"{f'mean over {len(NAMES)}':16}{overall}".rstrip())


def main() -> None:
    """Read the arguments and show the means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=Path, help="a folder of cells; default: the stored splits")
    parser.add_argument("--write", action="store_true", help=f"keep the cells in {KEPT.name}")
    arguments = parser.parse_args()
    if arguments.write and arguments.cells is None:
        parser.error("--write stores the cells of a folder; name it with --cells")
    further = read_kept(KEPT) if arguments.cells is None else read_cells(arguments.cells)
    if arguments.write:
        write_kept(further, KEPT)
    published = [x for x in read_cells(RESULTS) if int(x["seed"]) in SEEDS]
    show(published, [split for split in further if int(split["seed"]) not in SEEDS])


if __name__ == "__main__":
    main()
