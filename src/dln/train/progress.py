"""Show the progress of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from dln._util.progress import live_bars
from dln.train.fit import Progress

_TITLES = {"select": "choosing", "train": "training"}


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that shows the progress of a fit, or None if disabled."""
    with live_bars(enabled=enabled) as show:
        yield show and (lambda progress: show(_TITLES[progress.stage], *_summary(progress)))


def _summary(progress: Progress) -> tuple[float, str]:
    """Return the fraction that is done and the state of the networks in training."""
    latest = [history[-1] for history in progress.histories if len(history)]
    if not latest:
        return progress.done, progress.state
    loss, accuracy, _, gates = np.mean(latest, axis=0)
    epoch = max(map(len, progress.histories))
    parts = (
        progress.state,  # first, because a narrow terminal cuts off the end
        f"epoch {epoch}/{max(progress.epochs)}",
        f"loss {loss:.3f}",
        f"balanced accuracy {accuracy:.3f}",
        f"gates {gates:.0f}",
    )
    return progress.done, ", ".join(filter(None, parts))
