"""The losses that training can minimise, each registered once.

The mathematics of a loss is a struct in `headers/head.h`, which the native and the cuda engine
compile. Its readable definition is in `dln.train.torch.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf


@dataclass(frozen=True)
class Loss:
    """A loss.

    Attributes
    ----------
    name, number
        What it is called, and its number in `headers/losses.h`.
    readout
        What turns points into an answer. "votes": the class with the most points, so a target is
        the number of a class.
    metric
        What is measured on validation rows unless something else is requested.
    """

    name: str
    number: int
    readout: OneOf["votes"]
    metric: OneOf["balanced accuracy"]


CROSS_ENTROPY = Loss("cross-entropy", 0, readout="votes", metric="balanced accuracy")

LOSSES = {loss.name: loss for loss in (CROSS_ENTROPY,)}
"""All losses by name."""
