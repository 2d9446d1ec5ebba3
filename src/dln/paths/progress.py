"""Show the progress of the search for a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dln._util.progress import live_bars


@contextmanager
def search_bar(*, enabled: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows how many searches are complete, or None if disabled."""
    with live_bars(enabled=enabled) as show:
        yield show and (lambda done, total: show("searching", done / total, f"{done}/{total}"))
