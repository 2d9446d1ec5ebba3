"""How fast rows are visited, and how long that will take."""

from __future__ import annotations

import time

_SOON = 2.0
"""Seconds after which a speed is shown."""


class Pace:
    """The speed of visiting a number of rows, from now on."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._started = time.monotonic()

    def state(self, done: float) -> tuple[float, str]:
        """Return the fraction that is done; and the speed and the time left, if they are known."""
        seconds = time.monotonic() - self._started
        if done <= 0 or seconds < _SOON:
            return done, ""
        speed = self._n_rows * done / seconds
        return done, f"{speed / 1e6:.2f} M rows/s, {seconds * (1 - done) / done:.0f} s left"
