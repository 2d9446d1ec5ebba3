"""The time limit of a proof."""

from __future__ import annotations

import numbers
import time
from typing import Any

from dln.errors import OptionError


class TimeIsUpError(Exception):
    """Ends a proof attempt. It is always caught inside dln."""


def check_time_limit(time_limit: Any) -> None:
    """Check that a time limit is a number of seconds or None."""
    is_number = isinstance(time_limit, numbers.Real) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit >= 0):
        raise OptionError(f"time_limit is {time_limit!r}, expected seconds of at least 0, or None")


class Clock:
    """Measures time since its creation. `check` raises after the limit; None means no limit."""

    def __init__(self, limit: float | None) -> None:
        self._start = time.monotonic()
        self._limit = limit

    @property
    def seconds(self) -> float:
        """Seconds since the creation."""
        return time.monotonic() - self._start

    @property
    def left(self) -> float | None:
        """Remaining seconds; None means no limit."""
        return None if self._limit is None else max(0.0, self._limit - self.seconds)

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.left == 0.0

    def part(self, n: int) -> Clock:
        """Return a clock with 1 / n of the remaining time."""
        return Clock(None if self.left is None else self.left / n)

    def check(self) -> None:
        """Raise `TimeIsUpError` if the limit is reached."""
        if self.is_over:
            raise TimeIsUpError
