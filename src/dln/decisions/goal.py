"""What a circuit should decide, and which class frequencies its probabilities mean."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.core.labels import Label, plain_labels
from dln.errors import OptionError

Probabilities = OneOf["rows", "balanced", "votes"]
"""The class frequencies that probabilities mean; "votes": no calibration."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Goal:
    """What base votes and probabilities are fitted for.

    Attributes
    ----------
    probabilities
        Class frequencies that probabilities mean: those of the training rows, or equal ones.
    threshold
        The second of two classes is predicted from this probability on.
    costs
        (n_classes, n_classes): costs by true class and predicted class.
    sensitivity
        For some classes, by number, the fraction of their rows that must be predicted correctly.
    """

    probabilities: Probabilities = "rows"
    threshold: float | None = None
    costs: tuple[tuple[float, ...], ...] | None = None
    sensitivity: tuple[tuple[int, float], ...] = ()

    @property
    def decides(self) -> bool:
        """Whether a decision other than the most accurate one is asked for."""
        return self.threshold is not None or self.costs is not None or bool(self.sensitivity)

    @property
    def does_nothing(self) -> bool:
        """Whether a circuit is kept as it is."""
        return self.probabilities == "votes" and not self.decides


def read_goal(
    classes: Sequence[Label],
    probabilities: Probabilities = "rows",
    decision_threshold: float | None = None,
    costs: Any = None,
    sensitivity_at_least: Any = None,
) -> Goal:
    """Check the parameters of a decision against the classes; raises `OptionError`.

    >>> read_goal(("ill", "well"), sensitivity_at_least={"ill": 0.9}).sensitivity
    ((0, 0.9),)
    """
    given = {
        "decision_threshold": decision_threshold,
        "costs": costs,
        "sensitivity_at_least": sensitivity_at_least,
    }
    stated = [name for name, value in given.items() if value is not None]
    if len(stated) > 1:
        raise OptionError(
            f"{' and '.join(stated)} are given; each of them sets the base votes, so give only one"
        )
    if decision_threshold is not None:
        _check_share("decision_threshold", decision_threshold)
        if len(classes) != 2:
            raise OptionError(
                f"decision_threshold needs 2 classes, there are {len(classes)}; "
                "use costs or sensitivity_at_least"
            )
    return Goal(
        probabilities=probabilities,
        threshold=None if decision_threshold is None else float(decision_threshold),
        costs=None if costs is None else _read_costs(costs, classes),
        sensitivity=()
        if sensitivity_at_least is None
        else _read_sensitivity(sensitivity_at_least, classes),
    )


def _read_costs(costs: Any, classes: Sequence[Label]) -> tuple[tuple[float, ...], ...]:
    n_classes = len(classes)
    if isinstance(costs, Mapping):
        matrix = 1.0 - np.eye(n_classes)
        for pair, cost in costs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise OptionError(
                    f"costs has the key {pair!r}, expected a pair (true class, predicted class)"
                )
            matrix[_number("costs", pair[0], classes), _number("costs", pair[1], classes)] = (
                _read_cost(cost)
            )
    else:
        try:
            matrix = np.array(costs, dtype=np.float64)
        except (TypeError, ValueError):
            raise OptionError(
                f"costs is {costs!r}, expected a matrix of numbers, or a dict by pairs "
                "(true class, predicted class)"
            ) from None
        if matrix.shape != (n_classes, n_classes):
            raise OptionError(
                f"costs has the shape {matrix.shape}, expected ({n_classes}, {n_classes}): "
                "rows are true classes, columns are predicted classes"
            )
        for cost in matrix.ravel().tolist():
            _read_cost(cost)
    if (np.diagonal(matrix)[:, None] >= matrix + np.eye(n_classes)).any():
        raise OptionError("costs: a wrong prediction must cost more than the right one")
    return tuple(tuple(row) for row in matrix.tolist())


def _read_cost(cost: Any) -> float:
    is_number = isinstance(cost, numbers.Real) and not isinstance(cost, bool)
    if not is_number or not 0 <= cost < math.inf:
        raise OptionError(f"costs holds {cost!r}, expected numbers of at least 0")
    return float(cost)


def _read_sensitivity(given: Any, classes: Sequence[Label]) -> tuple[tuple[int, float], ...]:
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        if len(classes) != 2:
            raise OptionError(
                f"sensitivity_at_least is {given!r} and there are {len(classes)} classes; "
                "name the class: {class: level}"
            )
        _check_share("sensitivity_at_least", given)
        return ((1, float(given)),)
    if not isinstance(given, Mapping) or not given:
        raise OptionError(
            f"sensitivity_at_least is {given!r}, expected a number between 0 and 1 or a dict "
            "{class: level}"
        )
    for level in given.values():
        _check_share("sensitivity_at_least", level)
    pairs = {_number("sensitivity_at_least", label, classes): x for label, x in given.items()}
    return tuple((number, float(level)) for number, level in sorted(pairs.items()))


def _number(name: str, label: Any, classes: Sequence[Label]) -> int:
    (plain,) = plain_labels([label])
    if plain not in classes:
        raise OptionError(f"{name} names the class {label!r}, but the classes are {list(classes)}")
    return list(classes).index(plain)


def _check_share(name: str, value: Any) -> None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        raise OptionError(f"{name} is {value!r}, expected a number between 0 and 1")
