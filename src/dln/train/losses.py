"""The losses that training can minimise, each registered once.

The mathematics of a loss is a struct in `headers/head.h`, which the native and the cuda engine
compile. Its readable definition is in `dln.train.torch.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal as OneOf

from dln._util.option import check_number


@dataclass(frozen=True)
class Loss:
    """A loss.

    Attributes
    ----------
    name, number
        What it is called, and its number in `headers/losses.h`.
    readout
        What turns points into an answer. "votes": the class with the most points, so a target is
        the number of a class. "score": a number through a link, so a target is a number.
    metric
        What is measured on validation rows unless something else is requested.
    link
        The function of the prediction that the score is.
    level
        The level of the quantile that is fitted; only the quantile loss reads it.
    """

    name: str
    number: int
    readout: OneOf["votes", "score"]
    metric: OneOf["balanced accuracy", "loss"]
    link: OneOf["identity", "log"] = "identity"
    level: float = 0.5


CROSS_ENTROPY = Loss("cross-entropy", 0, readout="votes", metric="balanced accuracy")
SQUARED = Loss("squared", 1, readout="score", metric="loss")
ABSOLUTE = Loss("absolute", 2, readout="score", metric="loss")
MEDIAN = Loss("quantile", 3, readout="score", metric="loss")
POISSON = Loss("poisson", 4, readout="score", metric="loss", link="log")
GAMMA = Loss("gamma", 5, readout="score", metric="loss", link="log")


def quantile(level: float) -> Loss:
    """Return the loss whose best prediction is a quantile of the targets.

    >>> quantile(0.9).level
    0.9
    """
    check_number("level", level, 0.0, 1.0)
    return replace(MEDIAN, level=level)


LOSSES = {loss.name: loss for loss in (CROSS_ENTROPY, SQUARED, ABSOLUTE, MEDIAN, POISSON, GAMMA)}
"""All losses by name. `quantile` gives other levels than the median."""
