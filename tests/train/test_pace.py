"""The speed of a training and the time left."""

from __future__ import annotations

import pytest

from dln.train import pace
from dln.train.pace import Pace


def test_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    own = Pace(8_000_000)
    now[0] = 101.0
    assert own.state(0.1) == (0.1, "")  # too early
    now[0] = 104.0
    assert own.state(0.25) == (0.25, "0.50 M rows/s, 12 s left")
    assert own.state(0.0) == (0.0, "")
