"""What the compiled engines, native and cuda, share: converting options."""

from __future__ import annotations

from typing import Literal as OneOf

from dln.errors import OptionError
from dln.train.options import Alternating, Phases, TrainOptions

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


def check_straight_through(options: TrainOptions, engine: OneOf["native", "cuda"]) -> None:
    """Check that the relaxation is the one that engines of bits support."""
    if options.relaxation != "straight-through":
        raise OptionError(
            f"relaxation is {options.relaxation!r}, but the {engine} engine trains only the hard "
            'circuit ("straight-through"); use engine="torch" for the others'
        )
