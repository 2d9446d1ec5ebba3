"""Live progress bars on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[str, float, str], None]
"""Shows a task: its title, the fraction that is done, and its state."""


@contextmanager
def live_bars(*, enabled: bool) -> Iterator[Show | None]:
    """Yield a function that shows the progress of tasks, or None if disabled."""
    if not enabled:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskID, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column
    except ImportError:
        try:
            yield _show_plain
        finally:
            sys.stderr.write("\n")
        return
    with Bar(
        # A narrow terminal cuts off the end of the state, and nothing else.
        TextColumn("{task.description}", table_column=Column(no_wrap=True, min_width=8)),
        BarColumn(bar_width=6),
        TextColumn("{task.percentage:3.0f}%", table_column=Column(no_wrap=True, min_width=4)),
        TextColumn("{task.fields[state]}", table_column=Column(no_wrap=True)),
        console=Console(stderr=True),
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def show(title: str, done: float, state: str) -> None:
            if title not in tasks:
                tasks[title] = bar.add_task(title, total=1, state="")
            bar.update(tasks[title], completed=done, state=state)

        yield show


def _show_plain(title: str, done: float, state: str) -> None:
    sys.stderr.write(f"\r{title} {100 * done:3.0f}%  {state}")
    sys.stderr.flush()
