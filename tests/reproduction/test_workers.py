"""Cells in parallel: killed processes and Ctrl-C."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import active_children
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from reproduction.models.outcome import Budget
from reproduction.run.cells import choose_cells
from reproduction.run.runner import Plan, run
from reproduction.run.workers import Ended, Workers

KILLED = "its process was killed (SIGKILL), often because memory runs out"


def finish(workers: Workers[Any], calls: list[Callable[[], Any]]) -> list[Ended[Any]]:
    """Run calls in parallel; return their outcomes in order."""
    begun = [workers.begin(call) for call in calls]
    ended: dict[Connection, Ended[Any]] = {}
    while len(ended) < len(begun):
        ended |= workers.wait()
    return [ended[call] for call in begun]


def test_a_process_that_is_killed_loses_its_own_call_alone() -> None:
    with Workers[Any]() as workers:
        lost, kept = finish(
            workers, [partial(signal.raise_signal, signal.SIGKILL), partial(abs, -3)]
        )
        assert kept == Ended(3)
        assert lost.error.startswith(KILLED)
        assert finish(workers, [partial(abs, -4), partial(abs, -5)]) == [Ended(4), Ended(5)]
    assert active_children() == []


def test_a_process_that_ends_by_itself_is_told() -> None:
    with Workers[Any]() as workers:
        (ended,) = finish(workers, [partial(os._exit, 3)])
    assert ended.error == "its process ended with status 3; run it again"


def test_interrupts_are_for_the_parent_which_does_not_wait_for_calls() -> None:
    with Workers[Any]() as workers:
        (ended,) = finish(workers, [partial(signal.getsignal, signal.SIGINT)])
        assert ended.value == signal.SIG_IGN
        workers.begin(partial(time.sleep, 3600))
    assert active_children() == []


def kill_myself(*arguments: object) -> None:
    signal.raise_signal(signal.SIGKILL)


def test_lost_cells_are_told_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.run.runner.run_cell", kill_myself)
    plan = Plan(choose_cells(["iris"], ["nb"], [0, 1]), tmp_path, Budget(2), jobs=2)
    said: list[str] = []
    summary = run(plan, said.append)
    assert (summary.n_done, summary.n_failed, summary.n_left) == (0, 2, 0)
    assert sorted(said[1:])[0].startswith(f"iris nb 0: {KILLED}")
