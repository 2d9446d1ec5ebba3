"""What a search is made of: what is tried, how it is judged and how the final fit is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.search.final import FinalFit, fit_all_rows
from dln.search.folds import Fold
from dln.search.space import Space, fixed_part

MakeFolds = Callable[[NDArray[np.int32], int], list[Fold]]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Judging:
    """How trials are compared.

    Attributes
    ----------
    make_folds
        Splits rows, given the classes of all rows and a seed.
    penalty
        Standard deviations over the folds that a score is lowered by.
    eval_every, patience
        Epochs between two looks at the validation rows, and without a better one before a fold
        stops; 0 looks once, at the end.
    max_rows, epochs_part, max_networks
        Trials see at most so many rows, train for this part of their epochs, and of networks that
        vote together at most so many: enough to tell them apart.
    first_folds
        Folds after which a hopeless trial is given up; 0 never gives up.
    smoothed
        Whether trials are chosen by their scores with the noise taken out.
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
        """Give all but the function, by name."""
        names = [field.name for field in fields(self) if field.name != "make_folds"]
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Preset:
    """A search for tables of one size.

    Attributes
    ----------
    space
        What is chosen; names are those of `DLNClassifier`, but for those that `translate` knows.
    translate
        Turns values of the space into parameters of `DLNClassifier`.
    first
        What is tried first.
    final
        Fits a classifier with the chosen parameters.
    """

    space: Space
    judging: Judging
    translate: Callable[[Values], dict[str, Any]] = dict
    first: tuple[dict[str, Any], ...] = ()
    final: FinalFit = fit_all_rows

    def parameters(self, values: Values) -> dict[str, Any]:
        """Give the parameters of `DLNClassifier` for chosen values.

        A trial is one recipe: where the classifier would compare some by itself, it must not.
        """
        params = self.translate({**fixed_part(self.space), **values})
        if "auto" in (params.get("layers", "auto"), params.get("tau", "auto")):
            params["selection_fits"] = 0
        return params
