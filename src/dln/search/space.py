"""Search spaces: ranges and lists of values for the parameters of an estimator.

A space maps a name to a `Between`, a list of values, or one fixed value.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dln._util.extras import import_extra
from dln._util.option import options_of
from dln.errors import OptionError
from dln.estimators.parameters import CONSTRAINTS, NumberParameters, Parameters
from dln.paths.budget import Budget

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


@dataclass(frozen=True)
class Between:
    """A range of numbers that includes both ends. If both ends are integers, so are the values.

    Parameters
    ----------
    low, high
        Smallest and largest value.
    log
        Whether to search on a logarithmic scale, where 1 to 10 is as wide as 10 to 100.

    Examples
    --------
    >>> space = {"tau": Between(1.0, 30.0, log=True), "n_links": [8, 16], "n_networks": 1}
    >>> check_space(space)
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        sound = all(_is_number(end) for end in ends) and self.low <= self.high
        if not sound or (self.log and self.low <= 0):
            least = " above 0" if self.log else ""
            raise OptionError(
                f"Between has the ends {self.low!r} and {self.high!r}, expected two "
                f"numbers{least}, the smaller first"
            )

    @property
    def whole(self) -> bool:
        """Whether this is a range of integers."""
        return all(isinstance(end, numbers.Integral) for end in (self.low, self.high))

    def share(self, value: float) -> float:
        """Return the position of a value between the ends, from 0 to 1."""
        low, high, place = self.low, self.high, value
        if self.log:
            low, high, place = math.log(low), math.log(high), math.log(place)
        return 0.0 if high == low else (place - low) / (high - low)


Space = Mapping[str, Any]
"""Maps a parameter to a `Between`, a list of values, or one fixed value."""


LIMITS = tuple(own.name for own in fields(Budget))
"""Parameters of a budget."""

COSTS = ("column_costs", "max_cost")
"""Those that are the same in every trial."""


def check_space(space: Any, parameters: type = Parameters) -> None:
    """Check the names and values of a space against the parameters of an estimator."""
    if not isinstance(space, Mapping):
        raise OptionError(
            f'space is {space!r}, expected "default", "paper" or a dict of parameters'
        )
    every = options_of(parameters)
    is_number = parameters is NumberParameters
    estimator = "DLNRegressor" if is_number else "DLNClassifier"
    # A trial of a classifier is one setting, so its effort is fixed. That of a number is a fit.
    also = ("effort",) if is_number else ()
    known = {name: own for name, own in every.items() if own.facts.searched or name in also}
    for name, choices in space.items():
        if name in (*CONSTRAINTS, *COSTS):
            raise OptionError(
                f"{name} is not possible in a search space, as every trial keeps the same "
                f"constraints and costs; give it as fixed={{{name!r}: ...}}"
            )
        if name in every and name not in known:
            raise OptionError(
                f"the space has {name!r}, which a search does not vary; leave it out of the space"
            )
        if name not in known:
            raise OptionError(
                f"the space has {name!r}, which is not a parameter of {estimator}; "
                f"its parameters are {', '.join(known)}"
            )
        if isinstance(choices, list) and not choices:
            raise OptionError(f"the space has no value for {name!r}; give at least one")
        if isinstance(choices, np.ndarray):
            raise OptionError(
                f"the space has an array for {name!r}; give a list of values (its tolist())"
            )
        ends = (choices.low, choices.high) if isinstance(choices, Between) else (choices,)
        for value in choices if isinstance(choices, list) else ends:
            known[name].read(value)


def fixed_part(space: Space) -> dict[str, Any]:
    """Return the fixed parameters of a space."""
    return {
        name: choices for name, choices in space.items() if not isinstance(choices, (Between, list))
    }


def free_part(space: Space) -> dict[str, Between | list[Any]]:
    """Return the parameters that are searched."""
    return {
        name: choices for name, choices in space.items() if isinstance(choices, (Between, list))
    }


def import_optuna() -> Any:
    """Import Optuna, which only a search requires."""
    return import_extra("optuna", "searching")


def to_optuna(choices: Between | list[Any]) -> BaseDistribution:
    """Convert a range or a list to Optuna's form. Values of a list become their indices."""
    distributions = import_optuna().distributions
    distribution: BaseDistribution
    if isinstance(choices, list):
        distribution = distributions.CategoricalDistribution(tuple(range(len(choices))))
    elif choices.whole:
        distribution = distributions.IntDistribution(
            int(choices.low), int(choices.high), log=choices.log
        )
    else:
        distribution = distributions.FloatDistribution(
            float(choices.low), float(choices.high), log=choices.log
        )
    return distribution


def from_optuna(choices: Between | list[Any], proposed: Any) -> Any:
    """Convert Optuna's proposal for a range or a list to a value."""
    return choices[proposed] if isinstance(choices, list) else proposed


def to_proposal(choices: Between | list[Any], value: Any) -> Any:
    """Convert a value of a range or a list to Optuna's proposal."""
    return choices.index(value) if isinstance(choices, list) else value


def describe(space: Space) -> str:
    """Convert a space, or values of one, to text. The order matters, because Optuna draws in it."""
    return json.dumps({name: repr(choices) for name, choices in space.items()})


def places(space: Space, values: Mapping[str, Any]) -> Sequence[float]:
    """Return the coordinates of values in the searched part of a space, from 0 to 1.

    A list of numbers is one coordinate. A list of other values has one coordinate for each value.

    >>> places({"tau": Between(1.0, 3.0), "n_links": [8, 16, 32]}, {"tau": 2.0, "n_links": 16})
    [0.5, 0.5]
    """
    found: list[float] = []
    for name, choices in free_part(space).items():
        if isinstance(choices, Between):
            found.append(choices.share(values[name]))
        elif all(_is_number(value) for value in choices):
            found.append(choices.index(values[name]) / max(1, len(choices) - 1))
        else:
            found += [float(value == values[name]) for value in choices]
    return found


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and math.isfinite(value)
