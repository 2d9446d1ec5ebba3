"""How the trials of a search are scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from numpy.typing import NDArray

from dln.search.folds import Fold

MakeFolds = Callable[[NDArray[Any], int], list[Fold]]


@dataclass(frozen=True)
class Scoring:
    """How trials are scored.

    Attributes
    ----------
    make_folds
        Splits rows, given the target of each row and a seed.
    penalty
        The score is the mean minus this factor times the standard deviation over folds.
    eval_every, patience
        Epochs between two evaluations on the validation rows (0: one, at the end), and epochs
        without improvement before a fold stops.
    max_rows, epochs_part, max_networks
        Limits of a trial: number of rows, fraction of its epochs, and number of networks that
        vote together. They are large enough to compare trials.
    first_folds
        Folds after which a clearly worse trial is stopped; 0 never stops a trial.
    smoothed
        Whether trials are chosen by smoothed scores.
    """

    make_folds: MakeFolds
    penalty: float = 0.0
    eval_every: int = 0
    patience: int = 0
    max_rows: int = 10**12
    epochs_part: float = 1.0
    max_networks: int = 10**12
    first_folds: int = 0
    smoothed: bool = True

    def settings(self) -> dict[str, float]:
        """Return all attributes except the function, by name."""
        names = [field.name for field in fields(self) if field.name != "make_folds"]
        return {name: getattr(self, name) for name in names}
