"""The parts of a search: the space, how trials are scored, and the final fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.search.final import FinalFit, fit_all_rows
from dln.search.folds import Fold
from dln.search.space import Space, fixed_part

MakeFolds = Callable[[NDArray[np.int32], int], list[Fold]]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Scoring:
    """How trials are scored.

    Attributes
    ----------
    make_folds
        Splits rows, given the class of each row and a seed.
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


@dataclass(frozen=True)
class Preset:
    """A search for tables of one size.

    Attributes
    ----------
    space
        The search space: parameters of `DLNClassifier`, or names that `translate` converts.
    translate
        Converts values of the space to parameters of `DLNClassifier`.
    first
        Values that are tried first.
    final
        Fits a classifier with the chosen parameters.
    most_trials
        Number of different settings, if each is tried once at most.
    has_budget
        Whether trials have a budget, so that they train no network.
    """

    space: Space
    scoring: Scoring
    translate: Callable[[Values], dict[str, Any]] = dict
    first: tuple[dict[str, Any], ...] = ()
    final: FinalFit = fit_all_rows
    most_trials: int = 10**12
    has_budget: bool = False

    def with_fixed(self, fixed: Mapping[str, Any]) -> Preset:
        """Return the search with parameters that every trial has."""
        if not fixed:
            return self

        def left(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in values.items() if name not in fixed}

        return replace(
            self,
            space={**left(self.space), **fixed},
            translate=lambda values: {**self.translate(left(values)), **fixed},
            first=tuple(left(values) for values in self.first),
        )

    def parameters(self, values: Values) -> dict[str, Any]:
        """Return the parameters of `DLNClassifier` for chosen values.

        The classifier's own comparison of settings is switched off, because a trial is one setting.
        So is its dial: "quick" has the usual number of networks.
        """
        params = self.translate({**fixed_part(self.space), **values})
        if self.has_budget:
            return params
        if "auto" in (params.get("layers", "auto"), params.get("tau", "auto")):
            params["selection_fits"] = 0
        if params.get("n_networks", "auto") == "auto":
            params["effort"] = "quick"
        return params
