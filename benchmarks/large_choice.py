"""Where a search on a large table should start, and how many rows it should use.

    DLN_DATA=folder python benchmarks/large_choice.py
    DLN_DATA=folder python benchmarks/large_choice.py --engine cuda    # minutes on a GPU

Three networks are trained with each setting on 80 % of a table's training rows and evaluated on the
other 20 %. The test rows are not used. Each setting is trained in three ways: with all rows and
epochs, as in a final fit; with half the epochs; and with half the epochs on a sample of 4,800 rows,
as in the trials of a search. Differences to the first setting
are paired over the splits of a table.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln import DLNClassifier, datasets
from dln.bench.protocol import Task
from dln.cores import count_threads
from dln.planning import plan_fit
from dln.search.folds import Fold, hold_out
from dln.search.presets import find_preset
from dln.search.tasks import encode_fold
from dln.search.votes import balanced_accuracy, count_votes
from dln.train.engines import find_engine
from dln.train.jobs import Engine, Job

TABLES = "BankChurn,TelcoChurn,SatIm,EyeMovements,HAR,Letter"
N_NETWORKS = 3
WAYS = {"final fit": (1.0, 10**9), "half epochs": (0.5, 10**9), "4,800 rows": (0.5, 4_800)}
_FINE = {"n_links": 32, "n_cutoffs": 12}
SETTINGS: dict[str, dict[str, Any]] = {
    "one layer": {"n_layers": 1, "width": 600},
    "two layers": {"n_layers": 2, "width": 600},
    "two layers, unified": {"n_layers": 2, "width": 600, "phases": "unified"},
    "one layer, narrow": {"n_layers": 1, "width": 200},
    "one layer, 32 links, 12 cutoffs": {"n_layers": 1, "width": 600, **_FINE},
    "the same, unified": {"n_layers": 1, "width": 600, **_FINE, "phases": "unified"},
}


@dataclass(frozen=True)
class Judged:
    """Networks whose votes are added on validation rows."""

    jobs: list[Job]
    cells: NDArray[np.float32]
    target: NDArray[np.int32]

    def accuracy(self) -> float:
        """Return the balanced accuracy in percent; the jobs must be trained."""
        threshold = self.jobs[0].options.vote_threshold
        votes = count_votes([job.network for job in self.jobs], self.cells, threshold)
        return 100 * balanced_accuracy(self.target, votes.argmax(axis=1))


def prepare(
    dataset: datasets.Dataset, seed: int, epochs_part: float, max_rows: int
) -> list[Judged]:
    """Create the networks of all settings for one split of a table."""
    problem = Task(dataset, seed).problem
    whole = hold_out(problem.target, 0.2, seed)
    rng = np.random.default_rng(seed)
    fold = Fold(np.sort(rng.permutation(whole.train)[:max_rows]), whole.valid)
    n_classes = len(problem.classes)
    judged = []
    preset = find_preset("default", problem)
    for values in SETTINGS.values():
        model = DLNClassifier(**preset.parameters({**values, "tau": 8.0}))
        plan = plan_fit(model, problem)
        recipe, encoded = plan.candidates.usual, encode_fold(problem, fold, plan.encode)
        epochs = round(epochs_part * recipe.options.epochs)
        jobs = []
        for start in rng.integers(2**63, size=N_NETWORKS).tolist():
            network = recipe.draw_network(encoded.encoder.literals, n_classes, start)
            options = replace(recipe.options, epochs=epochs, seed=start)
            jobs.append(Job(network, encoded.data, fold.train, options))
        judged.append(Judged(jobs, encoded.data.cells[fold.valid], problem.target[fold.valid]))
    return judged


def measure(
    dataset: datasets.Dataset, seeds: range, engine: Engine, way: tuple[float, int]
) -> NDArray[np.float64]:
    """Train all splits of a table as one population; return accuracies (splits, settings)."""
    splits = [prepare(dataset, seed, *way) for seed in seeds]
    engine(
        [job for split in splits for one in split for job in one.jobs],
        n_threads=count_threads(None),
    )
    return np.array([[one.accuracy() for one in split] for split in splits])


def main() -> None:
    """Measure and print all tables for each way of training."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", default=TABLES, help="comma-separated tables")
    parser.add_argument("--seeds", type=int, default=10, help="number of splits per table")
    parser.add_argument("--first-seed", type=int, default=10, help="seed of the first split")
    parser.add_argument("--engine", default="native", choices=("native", "torch", "cuda"))
    arguments = parser.parse_args()
    engine = find_engine(arguments.engine)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print("| table | training | setting | balanced accuracy, % | difference from the first |")
    print("| --- | --- | --- | --- | --- |")
    for name in arguments.names.split(","):
        dataset = datasets.load(name)
        for way, values in WAYS.items():
            found = measure(dataset, seeds, engine, values)
            more = found - found[:, :1]
            errors = more.std(axis=0, ddof=1) / np.sqrt(len(more))
            for number, setting in enumerate(SETTINGS):
                print(
                    f"| {name} | {way} | {setting} | {found[:, number].mean():.2f} "
                    f"| {more[:, number].mean():+.2f} ± {errors[number]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
