"""Compare the speed of the engines.

    python -m benchmarks.engines                  # native and torch, one core, two shapes
    python -m benchmarks.engines --device cuda    # torch, one network of 64,000 gates on a GPU
    python -m benchmarks.engines --cuda           # the cuda engine, populations on a GPU

The first prints microseconds per training step for the two networks of the Wisconsin breast cancer
data that `train_speed.py` times. The second prints the time of a step, the bytes that it must move
between kernels and memory, and the speed of a plain copy on the same device in the same run. The
third prints microseconds per step and network for populations, compared with the native engine on
one core and with the limits of the GPU's shared memory, cache and barriers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.train_speed import AUTHORS_MS, encoded_table, make_job
from dln.core.literals import LiteralKind
from dln.encode.bits import LiteralSet
from dln.train.engines import find_engine
from dln.train.jobs import Engine, Job, TrainingRows
from dln.train.network import Shape, layer_sizes
from dln.train.options import Phases, TrainOptions

PHASES: tuple[Phases, ...] = ("batches", "unified")


def seconds_per_step(engine: Engine, make: Callable[[int], Job], epochs: int) -> float:
    """Time a long and a short training; the difference excludes the set-up."""
    times = []
    for n in (1, 1 + epochs):
        best = float("inf")
        for _ in range(3):
            job = make(n)
            start = time.perf_counter()
            engine([job], n_threads=1)
            best = min(best, time.perf_counter() - start)
        times.append(best)
    job = make(1)
    steps = epochs * -(-len(job.rows) // job.options.batch_size)
    return (times[1] - times[0]) / steps


def compare_on_one_core() -> None:
    """Compare native with torch for the two shapes of `train_speed.py`."""
    data, literals = encoded_table()
    print("microseconds per step, one core, batch 64, 8 links, 8 gate functions")
    print(f"{'layers':>18} {'phases':>8} {'native':>9} {'torch':>9} {'torch / native':>15}")
    for first, ratio in AUTHORS_MS:
        shape = Shape(layer_sizes(first, ratio, 4, 2), n_links=8, n_gates=8)
        for phases in PHASES:

            def make(epochs: int, shape: Shape = shape, phases: Phases = phases) -> Job:
                options = TrainOptions(epochs=epochs, batch_size=64, phases=phases)
                return make_job(data, literals, shape, options)

            native = seconds_per_step(find_engine("native"), make, 100)
            torch = seconds_per_step(find_engine("torch"), make, 5)
            layers = "-".join(map(str, shape.layers))
            print(
                f"{layers:>18} {phases!s:>8} {native * 1e6:9.1f} {torch * 1e6:9.0f} "
                f"{torch / native:15.0f}"
            )


def large_table(n_rows: int = 65_536, n_columns: int = 64) -> tuple[TrainingRows, LiteralSet]:
    """Make a table of random numbers with ten classes and eight thresholds per column."""
    rng = np.random.default_rng(0)
    cells = rng.random((n_rows, n_columns), dtype=np.float32)
    target = (10 * cells[:, :4].mean(axis=1)).astype(np.int32).clip(0, 9)
    columns = np.repeat(np.arange(n_columns), 8).astype(np.int32)
    literals = LiteralSet(
        np.full(len(columns), LiteralKind.ABOVE, dtype=np.uint8),
        columns,
        np.tile(np.linspace(0.1, 0.9, 8), n_columns).astype(np.float32),
    )
    return TrainingRows(cells, target, np.ones(n_rows, dtype=np.float32)), literals


def bytes_of_step(n_gates: int, n_links: int, batch: int, *, links: bool) -> int:
    """Return the float32 bytes that a step must read and write, without any cache.

    In the forward pass, a gate reads a and b and writes y. In the backward pass, it reads its
    gradient, a and b. If links are trained, it also writes the gradients of a and b, reads the
    values of every candidate for the candidate's logit, and reads every reader's gradient for the
    candidate's own gradient, which is written once. Otherwise it adds the two gradients to those of
    its source wires.
    """
    numbers = 3 + 3 + (2 + 2 * n_links + 2 * n_links + 1 if links else 6)
    return 4 * n_gates * batch * numbers


def measure_device(device: str, n_links: int = 8, batch: int = 1_024) -> None:
    """Print the step time of one large network and the bytes that it must move."""
    import torch

    data, literals = large_table()
    shape = Shape((16_000,) * 4, n_links=n_links, n_gates=16)
    bandwidth = copy_bandwidth(device)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    print(f"{name}, PyTorch {torch.__version__}: a copy moves {bandwidth / 1e12:.2f} TB/s")
    print(f"one network of 64,000 gates (4 layers), {n_links} links, 16 functions, batch {batch}")
    print(f"{'phases':>8} {'ms a step':>10} {'GB it must move':>16} {'ms at copy speed':>17} ratio")
    for phases in PHASES:

        def make(epochs: int, phases: Phases = phases) -> Job:
            options = TrainOptions(epochs=epochs, batch_size=batch, phases=phases, tau=200.0)
            return make_job(data, literals, shape, options, n_classes=10)

        step = seconds_per_step(find_engine("torch", device), make, 2)
        turns = [True] if phases == "unified" else [False, True]
        moved = np.mean([bytes_of_step(64_000, n_links, batch, links=links) for links in turns])
        floor = float(moved) / bandwidth
        print(
            f"{phases!s:>8} {step * 1e3:10.2f} {moved / 1e9:16.2f} {floor * 1e3:17.2f} "
            f"{step / floor:5.1f}"
        )


def copy_bandwidth(device: str, n: int = 2**28) -> float:
    """Measure the bytes per second, read and written, of copying float32."""
    import torch

    source = torch.zeros(n, device=device)
    target = torch.empty_like(source)
    best = float("inf")
    for _ in range(10):
        _wait(device)
        start = time.perf_counter()
        target.copy_(source)
        _wait(device)
        best = min(best, time.perf_counter() - start)
    return 2 * 4 * n / best


def _wait(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


CROWDS = {
    layer_sizes(50, 0.25, 4, 2): (1, 132, 1_320, 10_000),
    layer_sizes(200, 0.5, 4, 2): (1, 132, 1_320, 10_000),
    (1_600, 1_200, 800, 400): (1, 132, 1_320, 10_000),
}
"""Population sizes by layers; 10,000 of the largest networks need 70 GB of GPU memory."""

WORK = 200_000_000
"""Approximate number of gates x steps in one GPU measurement."""


def measure_gpu() -> None:
    """Print the time per step and network for several network and population sizes."""
    from benchmarks.gpu_floors import measure_floors
    from dln.train.cuda.gpu import device_name

    data, literals = encoded_table()
    floors = measure_floors()
    print(f"{device_name()}, batch 64, 8 links, 8 gate functions, phases by batches")
    print(
        f"shared memory {floors.shared_bandwidth / 1e12:.1f} TB/s, cache (L2) "
        f"{floors.cache_bandwidth / 1e12:.1f} TB/s, a barrier {floors.barrier * 1e9:.0f} ns"
    )
    print(
        f"{'layers':>20} {'networks':>9} {'µs a step':>10} {'steps/s':>12} {'x native':>9} "
        f"{'shared':>8} {'cache':>8} {'barriers':>9}"
    )
    for layers, crowds in CROWDS.items():
        shape = Shape(layers, n_links=8, n_gates=8)

        def make(epochs: int, shape: Shape = shape) -> Job:
            return make_job(data, literals, shape, TrainOptions(epochs=epochs, batch_size=64))

        native = seconds_per_step(find_engine("native"), make, max(4, 20_000 // sum(layers)))
        steps = -(-len(data.target) // 64)
        for crowd in crowds:
            epochs = max(2, min(400, WORK // (crowd * sum(layers) * steps)))
            seconds = population_seconds(make(epochs), crowd) / (crowd * epochs * steps)
            shared, cache, barriers = floors.of_step(make(1), crowd)
            print(
                f"{'-'.join(map(str, layers)):>20} {crowd:>9} {seconds * 1e6:>10.4f} "
                f"{1 / seconds:>12,.0f} {times(native / seconds):>9} {shared * 1e6:>8.4f} "
                f"{cache * 1e6:>8.4f} {barriers * 1e6:>9.4f}"
            )
        print(f"{'':>20} native on one core: {native * 1e6:.1f} µs a step")


def times(ratio: float) -> str:
    """Format a ratio; small ratios get one decimal."""
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def population_seconds(job: Job, crowd: int) -> float:
    """Train copies of a network with different seeds; return the shorter time of two runs.

    Only the training counts, not the work before and after it.
    """
    from dln.train.cuda.engine import Run
    from dln.train.cuda.gpu import import_cupy
    from dln.train.cuda.memory import GpuMemory
    from dln.train.cuda.pack import pack

    cupy = import_cupy()
    jobs = [
        replace(job, network=job.network.copy(), options=replace(job.options, seed=seed))
        for seed in range(crowd)
    ]
    seconds = []
    for _ in range(2):
        population = pack(jobs)
        run = Run(cupy, 0, population, GpuMemory(cupy, population))
        start = time.perf_counter()
        run.train(None)
        cupy.cuda.Device(0).synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", help="device for one large network, for example cuda")
    parser.add_argument("--cuda", action="store_true", help="train populations on a GPU")
    arguments = parser.parse_args()
    if arguments.cuda:
        measure_gpu()
    elif arguments.device:
        measure_device(arguments.device)
    else:
        compare_on_one_core()
