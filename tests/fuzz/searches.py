"""Fuzz searches: one that is killed at any moment resumes and ends like an uninterrupted one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.datasets import load_iris

from dln import DLNSearchCV
from dln.search import Between

LONG = 300.0  # a stuck child is a failure, a slow machine is not
N_CALLS = 60  # about the number of reports of a whole search


def fuzz_killed_searches(rng: random.Random) -> int:
    """Kill a search at a random report, resume it and compare the results."""
    with tempfile.TemporaryDirectory() as folder:
        storage = str(Path(folder) / "search.db")
        calls = str(rng.randrange(N_CALLS))
        child = subprocess.run(
            [sys.executable, "-m", __spec__.name, storage, calls],
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        assert _search(storage) == _uninterrupted()
    return 1


@cache
def _uninterrupted() -> Any:
    return _search(None)


def _search(storage: str | None, callback: Any = None) -> tuple[Any, Any]:
    space = {"layers": [(4, 2), (8, 4)], "tau": Between(1.0, 8.0, log=True), "epochs": 8}
    search = DLNSearchCV(
        space={**space, "n_networks": 1},
        n_trials=6,
        batch_size=3,
        cv=3,
        random_state=0,
        storage=storage,
        callback=callback,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*load_iris(return_X_y=True))
    return search.trials_, search.circuit_


def _kill_after(calls: int) -> Any:
    """Return a callback that kills its own process, without any chance to clean up."""
    left = [calls]

    def callback(_state: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return callback


if __name__ == "__main__":
    _search(sys.argv[1], _kill_after(int(sys.argv[2])))
