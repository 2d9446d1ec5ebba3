"""Compare the paper's search on a GPU with the same search on the CPU, cell by cell.

    DLN_DATA=folder python -m reproduction run --models paper --engine cuda --jobs 16 --results new
    python -m benchmarks.gpu_search [new]

The first command runs the search (docs/guides/cuda.md explains how processes share a GPU). The
second compares its results, or the stored ones, with those of the CPU for the cells that both have.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from reproduction.experiment import RESULTS
from reproduction.models.outcome import EngineName
from reproduction.run.results import Result, read_results


def read_cells(folder: Path, engine: EngineName) -> dict[tuple[str, int], Result]:
    """Read the results of model `paper` for one engine, by dataset and seed."""
    results = (x for x in read_results(folder) if (x.model, x.engine) == ("paper", engine))
    return {(result.dataset, result.seed): result for result in results}


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def show_difference(name: str, by_dataset: Mapping[str, Sequence[float]]) -> None:
    """Print the mean of paired differences with two kinds of standard error.

    The first treats cells as independent. The second is computed over dataset means, because the
    seeds of a dataset share most of their rows.
    """
    cells = [x for differences in by_dataset.values() for x in differences]
    means = [float(np.mean(differences)) for differences in by_dataset.values()]
    print(
        f"{name}: {np.mean(cells):+.2f} points, standard error {standard_error(cells):.2f} over "
        f"{len(cells)} cells, {standard_error(means):.2f} over {len(means)} datasets"
    )


def compare(on_gpu: Path, on_cpu: Path) -> None:
    """Print mean accuracies by dataset, and the differences over all cells."""
    gpu, cpu = read_cells(on_gpu, "cuda"), read_cells(on_cpu, "native")
    shared = sorted(gpu.keys() & cpu.keys())
    by_dataset: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for cell in shared:
        by_dataset[cell[0]].append((gpu[cell].accuracy, cpu[cell].accuracy))
    print(f"{len(gpu)} cells on the GPU, {len(cpu)} on the CPU, {len(shared)} on both")
    print(f"{'':24} {'cells':>5} {'GPU':>6} {'CPU':>6} {'difference':>10}")
    for dataset, pairs in by_dataset.items():
        left, right = np.mean(pairs, axis=0)
        print(f"{dataset:24} {len(pairs):5} {left:6.1f} {right:6.1f} {left - right:+10.1f}")
    for name in ("accuracy", "validation"):
        differences = defaultdict(list)
        for cell in shared:
            difference = getattr(gpu[cell], name) - getattr(cpu[cell], name)
            differences[cell[0]].append(difference)
        show_difference(f"{name}, GPU minus CPU", differences)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS.with_name("results_cuda"))
    compare(parser.parse_args().folder, RESULTS)
