"""What the estimators share: they hold a circuit, simplify it, and choose from its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dln.core.circuit import Circuit, keep_constraints
from dln.errors import OptionError
from dln.explain.importance import column_shares
from dln.paths.path import CircuitPath
from dln.shrink.readable import is_readable, make_readable
from dln.shrink.simplify.simplify import Effort, choose_effort, simplify
from dln.train.jobs import HISTORY
from dln.train.options import Gates


class CircuitEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns a circuit, `circuit_`, and perhaps a path of circuits, `path_`."""

    gates: Gates
    simplify: Effort | None
    circuit_: Circuit
    path_: CircuitPath | None

    def at(
        self,
        *,
        max_rules: int | None = None,
        max_literals: int | None = None,
        max_literals_per_rule: int | None = None,
        max_columns: int | None = None,
        column_costs: Mapping[str, float] | None = None,
        max_cost: float | None = None,
    ) -> Circuit:
        """Return the most accurate circuit of `path_` within limits, without another fit.

        Parameters
        ----------
        max_rules, max_literals, max_literals_per_rule, max_columns, column_costs, max_cost
            Limits, counted as in training.

        Returns
        -------
        Circuit
            It predicts, explains, prints and saves like `circuit_`.

        Raises
        ------
        OptionError
            If there is no `path_`, or no circuit of it is within the limits.
        """
        check_is_fitted(self)
        if self.path_ is None:
            raise OptionError("this model has no path; fit with path=True or with a budget")
        return self.path_.at(
            max_rules=max_rules,
            max_literals=max_literals,
            max_literals_per_rule=max_literals_per_rule,
            max_columns=max_columns,
            column_costs=column_costs,
            max_cost=max_cost,
        ).circuit

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column in the points of the rules; the shares sum to 1.

        The points of a rule are divided equally among the columns that it reads. How often a rule
        is true does not matter. With several quantiles, the shares are those of `circuit_`.
        """
        check_is_fitted(self, "circuit_")
        return column_shares(self.circuit_)

    def _simplified(self, circuit: Circuit) -> Circuit:
        if self.simplify is None:
            return circuit
        effort = choose_effort(self.simplify)
        smaller = simplify(circuit, effort, prove=effort != "quick")
        if self.gates == "all" or is_readable(smaller):
            return smaller
        # Simplification may find an XOR in gates that are none.
        readable = keep_constraints(circuit, make_readable(smaller)) or circuit
        return min(readable, circuit, key=lambda one: one.n_gates)

    def __sklearn_is_fitted__(self) -> bool:
        # An interrupted fit leaves the names of the columns behind, but no circuit.
        return hasattr(self, "circuit_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def stack_histories(
    histories: list[NDArray[np.float32]], names: tuple[str, ...] = HISTORY
) -> dict[str, NDArray[np.float32]]:
    """Stack the histories of the networks; those that stopped earlier are padded with NaN."""
    longest = max((len(history) for history in histories), default=0)
    stack = np.full((len(histories), longest, len(names)), np.nan, dtype=np.float32)
    for index, history in enumerate(histories):
        stack[index, : len(history)] = history
    return {name: stack[:, :, place] for place, name in enumerate(names)}
