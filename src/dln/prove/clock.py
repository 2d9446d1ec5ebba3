"""The time that a proof may take."""

from __future__ import annotations

import numbers
import time
from typing import Any

from dln.errors import OptionError


class TimeIsUpError(Exception):
    """Unwinds a proof attempt; users never see it."""


def check_time_limit(time_limit: Any) -> None:
    """Refuse what is no number of seconds."""
    is_number = isinstance(time_limit, numbers.Real) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit >= 0):
        raise OptionError(f"time_limit is {time_limit!r}, expected seconds of at least 0, or None")


class Clock:
    """Counts from its making; `check` raises once the limit is reached, None is no limit."""

    def __init__(self, limit: float | None) -> None:
        self._start = time.monotonic()
        self._limit = limit

    @property
    def seconds(self) -> float:
        """How long it has been counting."""
        return time.monotonic() - self._start

    @property
    def left(self) -> float | None:
        """How many seconds are left; None is no limit."""
        return None if self._limit is None else max(0.0, self._limit - self.seconds)

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.left == 0.0

    def check(self) -> None:
        """Raise `TimeIsUpError` if the limit is reached."""
        if self.is_over:
            raise TimeIsUpError
