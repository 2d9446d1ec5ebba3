"""A live progress bar of a search, on standard error: the best so far and the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dln.search.run import SearchState


@contextmanager
def search_bar(*, enabled: bool) -> Iterator[Callable[[SearchState], None] | None]:
    """Give a function that shows how far a search is, or None where that is not wanted."""
    if not enabled:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        try:
            yield _show_plain
        finally:
            sys.stderr.write("\n")
        return
    with Progress(
        TextColumn("searching"),
        BarColumn(bar_width=12),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[state]}"),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("", total=1, state="")
        yield lambda state: bar.update(task, completed=state.done, state=state_text(state))


def _show_plain(state: SearchState) -> None:
    sys.stderr.write(f"\rsearching {100 * state.done:3.0f}%  {state_text(state)}")
    sys.stderr.flush()


def state_text(state: SearchState) -> str:
    """Say what has been found and how long the rest will take.

    >>> state_text(SearchState((), 32, 0.25, 0.0, 20.0))
    '0/32 trials, 1 min left'
    """
    parts = [f"{len(state.trials)}/{state.n_trials} trials"]
    if state.trials:
        best = max(trial.score for trial in state.trials)
        parts.append(f"best {100 * best:.1f} %")
    if state.seconds_left is not None:
        parts.append(f"{_duration(state.seconds_left)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
