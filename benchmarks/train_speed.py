"""Measure the training speed of the native engine.

    python -m benchmarks.train_speed            # steps, cores and rows: about two minutes
    python -m benchmarks.train_speed --memory   # and the memory of a fit on 1M x 50 float32

Prints microseconds per training step for two networks on the Wisconsin breast cancer data, next to
recorded times of the authors' PyTorch program; the time of a step that learns a number, relative to
one that learns two classes; the speed-up of two cores over one; and the time per row as the table
grows. Everything except the authors' times is measured in this run.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_breast_cancer

from dln import DLNClassifier
from dln.data.table import read_table
from dln.encode.bits import LiteralSet
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.train.jobs import Job, TrainingRows
from dln.train.losses import CROSS_ENTROPY, LOSSES, Loss
from dln.train.native import train_population
from dln.train.network import Shape, build_network, layer_sizes
from dln.train.options import TrainOptions

# Milliseconds per step of the authors' program, one core, batch 64, alternating epochs, 8 links and
# 8 gates, as recorded (fastest and slowest run): layers 50-31-19-12 and 200-159-126-100.
AUTHORS_MS = {(50, 0.25): (6.3, 8.0), (200, 0.5): (12.5, 15.4)}
TARGET = {(50, 0.25): 200, (200, 0.5): 150}


def encoded_table(n_cutoffs: int = 4) -> tuple[TrainingRows, LiteralSet]:
    """Encode the breast cancer table: 569 rows, 30 columns, 120 thresholds."""
    X, y = load_breast_cancer(return_X_y=True)
    target, weight = y.astype(np.int32), np.ones(len(y), dtype=np.float32)
    options = EncodeOptions(n_cutoffs=n_cutoffs, n_knots=2)
    encoder, cells = fit_encoder(read_table(X), target, weight, options)
    return TrainingRows(cells, target, weight), encoder.literals


def make_job(
    data: TrainingRows,
    literals: LiteralSet,
    shape: Shape,
    options: TrainOptions,
    n_classes: int | None = 2,
    loss: Loss = CROSS_ENTROPY,
) -> Job:
    """Create one untrained network; with n_classes=None, one that predicts a number."""
    network = build_network(
        literals,
        shape,
        n_classes=n_classes,
        slope=20.0,
        vote_threshold=0.8,
        vote_density=0.4,
        rng=np.random.default_rng(options.seed),
    )
    return Job(network, data, np.arange(len(data.target), dtype=np.int64), options, loss=loss)


def best_seconds(make_jobs: Callable[[], list[Job]], n_threads: int, repeats: int) -> float:
    """Train new jobs several times; return the shortest time."""
    best = float("inf")
    for _ in range(repeats):
        jobs = make_jobs()
        start = time.perf_counter()
        train_population(jobs, n_threads=n_threads)
        best = min(best, time.perf_counter() - start)
    return best


def measure_steps(epochs: int = 100) -> None:
    """Print the time of one step for the two recorded shapes."""
    data, literals = encoded_table()
    steps = epochs * -(-len(data.target) // 64)
    print(f"One step, one core, batch 64 ({len(literals)} thresholds a layer, phases by epochs):")
    for (first, ratio), (fastest, slowest) in AUTHORS_MS.items():
        layers = layer_sizes(first, ratio, 4, 2)
        options = TrainOptions(epochs=epochs, phases="epochs")
        shape = Shape(layers, n_links=8, n_gates=8)
        seconds = best_seconds(lambda: [make_job(data, literals, shape, options)], 1, 7)  # noqa: B023
        micro = seconds / steps * 1e6
        print(
            f"  {sum(layers)} gates {layers}: {micro:.1f} µs; the authors' program on record "
            f"{fastest}-{slowest} ms, {1e3 * fastest / micro:.0f} to {1e3 * slowest / micro:.0f} "
            f"times longer (target {TARGET[first, ratio]})"
        )


def measure_numbers(epochs: int = 60, rounds: int = 9) -> None:
    """Print the time of a step that learns a number, relative to one that learns two classes."""
    classes, literals = encoded_table()
    numbers = replace(classes, target=classes.target.astype(np.float32))
    options = TrainOptions(epochs=epochs)
    print("A step that learns a number, relative to one that learns two classes (target 1.2):")
    for layers in ((64, 32), (300, 150)):
        seconds = dict.fromkeys(LOSSES, float("inf"))
        for _ in range(rounds):  # in turn, so that a slow moment of the machine hits all losses
            for name, loss in LOSSES.items():
                is_class = loss.readout == "votes"
                data, n_classes = (classes, 2) if is_class else (numbers, None)
                job = make_job(data, literals, Shape(layers, n_links=16), options, n_classes, loss)
                seconds[name] = min(seconds[name], best_seconds(lambda: [job], 1, 1))  # noqa: B023
        base = seconds.pop(CROSS_ENTROPY.name)
        ratios = [f"{name} {value / base:.2f}" for name, value in seconds.items()]
        print(f"  layers {layers}: {', '.join(ratios)}")


def measure_cores(n_jobs: int = 24) -> None:
    """Print the speed-up of a population on two cores over one."""
    data, literals = encoded_table()

    def jobs() -> list[Job]:
        shape = Shape((64, 32), n_links=16)
        return [
            make_job(data, literals, shape, TrainOptions(epochs=60, seed=seed))
            for seed in range(n_jobs)
        ]

    one, two = best_seconds(jobs, 1, 3), best_seconds(jobs, 2, 3)
    print(
        f"A population of {n_jobs} networks of 96 gates: {one:.2f} s on one core, {two:.2f} s on "
        f"two, {one / two:.2f} times faster (target 1.8)"
    )


def measure_rows() -> None:
    """Print the time per row and epoch as the table grows."""
    print("Time per row and epoch, one core, 20 columns, layers (128, 64), 16 links, batch 128:")
    first = 0.0
    for n_rows in (1_000, 10_000, 100_000, 1_000_000):
        rng = np.random.default_rng(0)
        cells = rng.random((n_rows, 20), dtype=np.float32)
        target = (cells[:, 0] + cells[:, 1] * cells[:, 2] > 0.8).astype(np.int32)
        data = TrainingRows(cells, target, np.ones(n_rows, dtype=np.float32))
        literals = LiteralSet(
            np.zeros(120, dtype=np.uint8),
            np.repeat(np.arange(20), 6).astype(np.int32),
            np.tile(np.linspace(0.1, 0.9, 6, dtype=np.float32), 20),
        )
        epochs = max(1, 200_000 // n_rows)
        options = TrainOptions(epochs=epochs, batch_size=128)
        seconds = best_seconds(
            lambda: [make_job(data, literals, Shape((128, 64), n_links=16), options)],  # noqa: B023
            1,
            3 if n_rows < 1_000_000 else 1,
        )
        micro = seconds / epochs / n_rows * 1e6
        first = first or micro
        print(f"  {n_rows:>9,} rows: {micro:.3f} µs ({micro / first:.2f} of the first)")


def measure_memory() -> None:
    """Print how much memory a fit needs in addition to its table."""
    rng = np.random.default_rng(0)
    X = rng.random((1_000_000, 50), dtype=np.float32)
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start = time.perf_counter()
    model = DLNClassifier(epochs=1, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(
        f"A fit of 1M x 50 float32 ({X.nbytes / 1e6:.0f} MB), one epoch, {seconds:.0f} s: "
        f"{extra / 1e6:.0f} MB beside the table, {extra / X.nbytes:.2f} times the table "
        f"(target below 2); training accuracy {model.score(X[:10_000], y[:10_000]):.3f}"
    )


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memory", action="store_true", help="also measure the memory of a fit")
    arguments = parser.parse_args()
    if arguments.memory:
        measure_memory()  # first, because the peak of memory only grows
    measure_steps()
    measure_numbers()
    measure_cores()
    measure_rows()


if __name__ == "__main__":
    main()
