"""Count the cores and threads that may be used."""

from __future__ import annotations

import numbers
import os

from dln.errors import OptionError


def count_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's n_jobs.

    None and -1 mean all cores; -2 means all but one, as in joblib.
    """
    cores = count_cores()
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise OptionError(f"n_jobs is {n_jobs!r}, expected an integer other than 0, or None")
    wanted = int(n_jobs) if n_jobs > 0 else cores + 1 + int(n_jobs)
    return max(1, min(wanted, cores))  # more threads than cores would not help
