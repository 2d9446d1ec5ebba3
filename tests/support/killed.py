"""Run code in a process that kills itself when a step of the storage is complete."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

needs_sigkill = pytest.mark.skipif(os.name == "nt", reason="kills a child process")

# SIGKILL cannot be caught: no handler runs, no file is closed, no folder is deleted.
_DYING = """
import os, signal, sys
from dln._util.storage import Storage
from dln.data import store
from dln.train import run_states

store.SMALL = 1
run_states.SECONDS = 0.0
name, number = sys.argv[1], int(sys.argv[2])
done = 0

def dying(step):
    def run(self, file, *content):
        global done
        result = step(self, file, *content)
        done += file.startswith(name)
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return run

Storage.write, Storage.finish = dying(Storage.write), dying(Storage.finish)
"""


def run_and_kill(code: str, step: str, number: int, *arguments: str) -> None:
    """Run code that is killed after a number of steps whose names begin with `step`."""
    child = subprocess.run(
        [sys.executable, "-c", _DYING + code, step, str(number), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
