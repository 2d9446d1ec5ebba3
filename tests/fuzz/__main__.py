"""Run the fuzzers for some minutes: `python -m tests.fuzz --minutes 5`.

Each fuzzer runs in a child process with bounded memory, so that a crash is found and reported like
any other failure. The counts of checks are printed. A failure prints the command that repeats it,
and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from .change_options import fuzz_change_options
from .changes import fuzz_changes
from .files import fuzz_files
from .native_calls import fuzz_native_program, fuzz_native_training
from .predictors import fuzz_predictors
from .proofs import fuzz_equality, fuzz_monotone
from .reasons import fuzz_reasons
from .searches import fuzz_killed_searches

FUZZERS: dict[str, Callable[[random.Random], int]] = {
    "predictors": fuzz_predictors,
    "files": fuzz_files,
    "equality": fuzz_equality,
    "monotone": fuzz_monotone,
    "changes": fuzz_changes,
    "change-options": fuzz_change_options,
    "reasons": fuzz_reasons,
    "native-program": fuzz_native_program,
    "native-training": fuzz_native_training,
    "killed-searches": fuzz_killed_searches,
}
MEMORY = 6 << 30
"""Bytes of address space that a fuzzer may use."""


def run_round(name: str, seed: int, number: int) -> int:
    """Run one round of a fuzzer; it depends on these three values only. Returns its checks."""
    return FUZZERS[name](random.Random(f"{name} {seed} {number}"))


def main() -> int:
    """Parse the command line and run what it asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all fuzzers together")
    parser.add_argument("--seed", type=int, default=None, help="a random one by default")
    parser.add_argument("--only", choices=list(FUZZERS), help="run one fuzzer")
    parser.add_argument("--round", type=int, help="repeat one round, in this process")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    names = list(FUZZERS) if options.only is None else [options.only]
    if options.round is not None:
        print(run_round(names[0], seed, options.round), "checks passed")
        return 0
    seconds = 60 * options.minutes / len(names)
    if options.child:
        return run_child(names[0], seed, seconds)
    failed = [name for name in names if not run_in_child(name, seed, seconds)]
    print(f"failed: {', '.join(failed)}" if failed else f"all passed (seed {seed})")
    return 1 if failed else 0


def run_child(name: str, seed: int, seconds: float) -> int:
    """Run rounds until the time is over; prints each round's number and the checks so far."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    end, number, checks = time.monotonic() + seconds, 0, 0
    while number == 0 or time.monotonic() < end:
        print(number, checks, flush=True)  # a crash leaves the number of the round that crashed
        checks += run_round(name, seed, number)
        number += 1
    print(number, checks, flush=True)
    return 0


def run_in_child(name: str, seed: int, seconds: float) -> bool:
    """Run a fuzzer in a child process and report; returns whether it passed."""
    repeat = ["-m", "tests.fuzz", "--only", name, "--seed", str(seed)]
    child = subprocess.Popen(
        [sys.executable, *repeat, "--child", "--minutes", str(seconds / 60)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert child.stdout is not None
    number, checks = "0", "0"
    for line in child.stdout:
        number, checks = line.split()
    status = child.wait()
    print(f"{name:16} {int(number):8,} rounds {int(checks):12,} checks", flush=True)
    if status != 0:
        print(f"{name} failed with status {status}; repeat the failure with")
        print(f"  python {' '.join(repeat)} --round {number}", flush=True)
    return status == 0


if __name__ == "__main__":
    sys.exit(main())
