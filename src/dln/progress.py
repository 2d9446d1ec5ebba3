"""A live progress bar for long fits, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from dln.train.fit import Progress

_TITLES = {"select": "choosing", "train": "training"}


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Give a function that shows how far a fit is, or None where that is not wanted."""
    if not enabled:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskID, TextColumn
        from rich.progress import Progress as Bar
    except ImportError:
        try:
            yield _show_plain
        finally:
            sys.stderr.write("\n")
        return
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=6),
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.fields[state]}"),
        console=Console(stderr=True),
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def show(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task(_TITLES[progress.stage], total=1, state="")
            done, state = _summary(progress)
            bar.update(tasks[progress.stage], completed=done, state=state)

        yield show


def _show_plain(progress: Progress) -> None:
    done, state = _summary(progress)
    sys.stderr.write(f"\r{_TITLES[progress.stage]} {100 * done:3.0f}%  {state}")
    sys.stderr.flush()


def _summary(progress: Progress) -> tuple[float, str]:
    """Say which part is done, and the state of the networks that are under way."""
    epochs = np.array([len(history) for history in progress.histories])
    total = np.array(progress.epochs)
    done = float(epochs.sum() / max(1, total.sum()))
    latest = [history[-1] for history in progress.histories if len(history)]
    if not latest:
        return done, ""
    loss, accuracy, _, gates = np.mean(latest, axis=0)
    return done, (
        f"epoch {epochs.max()}/{total.max()} loss {loss:.3f} "
        f"balanced accuracy {accuracy:.3f} gates {gates:.0f}"
    )
