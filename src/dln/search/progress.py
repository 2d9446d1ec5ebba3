"""Progress bar of a search on standard error: best score so far and remaining time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dln._util.progress import live_bars
from dln.search.run import SearchState
from dln.search.scores import ACCURACY, score_text


@contextmanager
def search_bar(
    *, enabled: bool, measure: str = ACCURACY
) -> Iterator[Callable[[SearchState], None] | None]:
    """Yield a function that shows the progress of a search, or None if disabled."""
    with live_bars(enabled=enabled) as show:
        yield show and (lambda state: show("searching", state.done, state_text(state, measure)))


def state_text(state: SearchState, measure: str = ACCURACY) -> str:
    """Describe the results so far and the remaining time.

    >>> state_text(SearchState((), 32, 0.25, 0.0, 20.0))
    '0/32 trials, 1 min left'
    """
    parts = [f"{len(state.trials)}/{state.n_trials} trials"]
    if state.trials:
        best = max(trial.score for trial in state.trials)
        parts.append(f"best {score_text(best, measure)}")
    if state.seconds_left is not None:
        parts.append(f"{_duration(state.seconds_left)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
