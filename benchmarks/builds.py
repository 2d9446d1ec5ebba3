"""Compare the training steps of two builds of the native extension, alternating, on one core.

    taskset -c 1 python -m benchmarks.builds OLD.so NEW.so --rounds 7

Each round trains the same networks with both builds, each in a new process. Prints the shortest and
the median processor time per step and gate, their ratio, and whether the trained parameters are the
same, bit for bit. A build is the file `_native.*.so` of an installed dln.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import importlib.util
import json
import statistics
import subprocess
import sys
import time

import dln

# Layers, cutoffs per column, batch size and epochs; 16 links, 16 functions, phases by batches.
CASES = {
    "585 gates": ((200, 159, 126, 100), 4, 64, 30),
    "4,000 gates": ((1_600, 1_200, 800, 400), 4, 64, 6),
    "1,024-512, 24 cutoffs": ((1_024, 512), 24, 64, 12),
    "1,024-512, batch 128": ((1_024, 512), 24, 128, 12),
}


def load_build(path: str) -> None:
    """Use a build of the extension instead of the installed one, which must not be loaded yet."""
    loader = importlib.machinery.ExtensionFileLoader("dln._native", path)
    spec = importlib.util.spec_from_file_location("dln._native", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules["dln._native"] = module
    dln.__dict__["_native"] = module


def measure(level: str) -> dict[str, tuple[float, str]]:
    """Return the seconds of a step and a digest of the trained parameters, by case."""
    from benchmarks.train_speed import encoded_table, make_job
    from dln.train.native import train_population
    from dln.train.network import Shape
    from dln.train.options import TrainOptions

    found = {}
    for name, (layers, n_cutoffs, batch_size, epochs) in CASES.items():
        data, literals = encoded_table(n_cutoffs)
        seconds = []
        for n_epochs in (1, 1 + epochs):  # the difference excludes the set-up
            best = float("inf")
            for _ in range(2):
                options = TrainOptions(epochs=n_epochs, batch_size=batch_size)
                job = make_job(data, literals, Shape(layers), options)
                start = time.process_time()
                train_population([job], level=level)
                best = min(best, time.process_time() - start)
            seconds.append(best)
        digest = hashlib.sha256()
        for parameters in job.network.parameters():
            digest.update((parameters + 0.0).tobytes())  # without the sign of a zero
        n_steps = epochs * -(-len(data.target) // batch_size)
        found[name] = ((seconds[1] - seconds[0]) / n_steps, digest.hexdigest())
    return found


def main() -> None:
    """Measure both builds in turn and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", nargs="+", help="files of the extension: old and new")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--level", default="", help="instruction set, by default the fastest")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        load_build(arguments.builds[0])
        print(json.dumps(measure(arguments.level)))
        return
    rounds = []
    for _ in range(arguments.rounds):
        row = []
        for build in arguments.builds:
            command = ["-m", "benchmarks.builds", build, "--once", "--level", arguments.level]
            run = subprocess.run([sys.executable, *command], capture_output=True, check=True)
            row.append(json.loads(run.stdout))
        rounds.append(row)
    print("ns per gate and step: shortest (median)")
    for name, (layers, *_) in CASES.items():
        texts, shortest, medians = [], [], []
        for place in range(len(arguments.builds)):
            times = [row[place][name][0] / sum(layers) * 1e9 for row in rounds]
            shortest.append(min(times))
            medians.append(statistics.median(times))
            texts.append(f"{shortest[-1]:6.1f} ({medians[-1]:6.1f})")
        digests = {row[place][name][1] for row in rounds for place in range(len(row))}
        print(
            f"{name:24} {'  '.join(texts)}  {shortest[0] / shortest[-1]:.2f} "
            f"({medians[0] / medians[-1]:.2f}) times faster, "
            f"{'same bits' if len(digests) == 1 else 'DIFFERENT BITS'}"
        )


if __name__ == "__main__":
    main()
