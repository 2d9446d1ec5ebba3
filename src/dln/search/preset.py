"""The parts of a search: the space, how trials are scored, and the final fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dln.search.final import FinalFit, fit_all_rows
from dln.search.scoring import Scoring
from dln.search.space import Space, fixed_part

Values = Mapping[str, Any]


def one_setting(params: dict[str, Any]) -> dict[str, Any]:
    """Switch the classifier's own comparison of settings off, because a trial is one setting.

    Effort "quick" then means the usual number of networks.
    """
    if "auto" in (params.get("layers", "auto"), params.get("tau", "auto")):
        params["selection_fits"] = 0
    if params.get("n_networks", "auto") == "auto":
        params["effort"] = "quick"
    return params


@dataclass(frozen=True)
class Preset:
    """A search for tables of one size.

    Attributes
    ----------
    space
        The search space: parameters of the estimator, or names that `translate` converts.
    translate
        Converts values of the space to parameters of the estimator.
    first
        Values that are tried first.
    final
        Fits an estimator with the chosen parameters.
    complete
        Completes the parameters of a trial.
    most_trials
        Number of different settings, if each is tried once at most.
    """

    space: Space
    scoring: Scoring
    translate: Callable[[Values], dict[str, Any]] = dict
    first: tuple[dict[str, Any], ...] = ()
    final: FinalFit = fit_all_rows
    complete: Callable[[dict[str, Any]], dict[str, Any]] = one_setting
    most_trials: int = 10**12

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
        """Return the parameters of the estimator for chosen values."""
        return self.complete(self.translate({**fixed_part(self.space), **values}))
