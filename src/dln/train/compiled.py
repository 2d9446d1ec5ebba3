"""What the compiled engines, native and cuda, share: converting options."""

from __future__ import annotations

from typing import Literal as OneOf

from dln._util.option import options_of
from dln.train.options import Phases, TrainOptions
from dln.train.settings import Alternating

_ORDERS = {"unified": 0, "epochs": 1, "batches": 2}
"""Orders of phases, as native/train/kernel.h and cuda/kernel/records.h number them."""


def number_phases(phases: Phases) -> tuple[int, int]:
    """Return the number of the order, and the epochs of a phase if they alternate.

    >>> number_phases("batches"), number_phases(Alternating(5))
    ((2, 1), (1, 5))
    """
    if isinstance(phases, Alternating):
        return _ORDERS["epochs"], phases.epochs
    return _ORDERS[phases], 1


def check_engine(options: TrainOptions, engine: OneOf["native", "cuda"]) -> None:
    """Check that an engine supports the options."""
    for name, own in options_of(TrainOptions).items():
        own.check_engine(getattr(options, name), engine)
