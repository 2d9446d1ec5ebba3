"""Errors of predicted numbers: R², mean absolute error, RMSE and losses, with 95 % intervals.

Tallies of parts of a table add up to the tally of the whole table.

Rows are treated as a random sample of the rows that the model will see. Intervals come from the
normal distribution of means (delta method). That of a positive figure, and of 1 - R², is computed
for its logarithm, so it stays positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import plain_text
from dln.errors import OptionError, TableError

Numbers = NDArray[np.float64]
Deviance = OneOf["poisson", "gamma"]

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

N_GROUPS = 10
"""Number of groups of `error_by_prediction`."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % confidence interval.

    >>> print(Estimate(0.91234, 0.9, 0.92345))
    0.912 (0.9 to 0.923)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.text} ({self.range})"

    @property
    def range(self) -> str:
        """The interval as text."""
        return f"{_short(self.low)} to {_short(self.high)}"

    @property
    def text(self) -> str:
        """The figure as text."""
        return _short(self.value)

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, -self.high, -self.low)

    def to_dict(self) -> dict[str, float | None]:
        """Return plain values; None for what is not a finite number."""
        parts = {"value": self.value, "low": self.low, "high": self.high}
        return {name: part if math.isfinite(part) else None for name, part in parts.items()}


@dataclass(frozen=True)
class Sums:
    """The number of some values, their sum and the sum of their squares."""

    n: int
    total: float
    squares: float

    @classmethod
    def of(cls, values: Numbers) -> Sums:
        """Add up values."""
        return cls(len(values), float(values.sum()), float((values**2).sum()))

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.total / self.n

    @property
    def error(self) -> float:
        """The standard error of the mean; infinite for one value."""
        if self.n < 2 or not math.isfinite(self.squares):
            return math.inf
        variance = max(self.squares - self.n * self.mean**2, 0.0) / (self.n - 1)
        return math.sqrt(variance / self.n)

    def positive(self) -> Estimate:
        """Estimate the mean of values that are not negative."""
        if not math.isfinite(self.squares):  # too large for an interval
            return Estimate(self.mean, 0.0, math.inf)
        if self.mean <= 0:
            return Estimate(0.0, 0.0, 0.0 if self.n > 1 else math.inf)
        return _around_logarithm(self.mean, self.error / self.mean)


@dataclass(frozen=True)
class NumberTally:
    """Sums over some rows, from which all figures follow.

    Attributes
    ----------
    centre
        A number near the targets. It is subtracted before powers are added up, so that nothing is
        lost by rounding. Tallies that are added must have the same.
    absolute
        Absolute errors.
    squared
        Squared errors.
    bias
        Predictions minus targets.
    moments
        Sums of products: of (y - centre) to the powers 1 to 4, and of the squared error times
        (y - centre) and times its square.
    losses
        Further losses by name.
    """

    centre: float
    absolute: Sums
    squared: Sums
    bias: Sums
    moments: tuple[float, ...]
    losses: tuple[tuple[str, Sums], ...] = ()

    def __add__(self, other: NumberTally) -> NumberTally:
        assert self.centre == other.centre, "tallies with different centres"
        return NumberTally(
            self.centre,
            self.absolute + other.absolute,
            self.squared + other.squared,
            self.bias + other.bias,
            tuple(a + b for a, b in zip(self.moments, other.moments, strict=True)),
            tuple(
                (name, a + b) for (name, a), (_, b) in zip(self.losses, other.losses, strict=True)
            ),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.absolute.n

    @property
    def mean_target(self) -> float:
        """The mean target."""
        return self.centre + self.moments[0] / self.n_rows

    @property
    def mean_error(self) -> Estimate:
        """The mean of predictions minus targets."""
        half = Z * self.bias.error
        return Estimate(self.bias.mean, self.bias.mean - half, self.bias.mean + half)

    @property
    def mae(self) -> Estimate:
        """The mean absolute error."""
        return self.absolute.positive()

    @property
    def rmse(self) -> Estimate:
        """The root of the mean squared error."""
        mse = self.squared.positive()
        return Estimate(*(math.sqrt(part) for part in (mse.value, mse.low, mse.high)))

    @property
    def r2(self) -> Estimate | None:
        """One minus the squared error relative to that of the mean target.

        None if all targets are equal.
        """
        n, (y, yy, yyy, yyyy, ey, eyy) = self.n_rows, self.moments
        mean = y / n
        spread = yy / n - mean**2
        if spread <= 1e-12 * (yy / n) or n < 2:
            return None
        error, squares = self.squared.mean, self.squared.squares / n
        if not math.isfinite(squares + yyyy):  # too large for an interval
            return Estimate(1 - error / spread, -math.inf, 1.0)
        if error == 0:
            return Estimate(1.0, 1.0, 1.0)
        # b = (y - mean)²; a = squared error. The logarithm of the ratio of their means has about
        # the variance of a / mean(a) - b / mean(b), divided by the number of rows.
        bb = (yyyy - 4 * mean * yyy + 6 * mean**2 * yy - 4 * mean**3 * y) / n + mean**4
        ab = (eyy - 2 * mean * ey) / n + mean**2 * error
        variance = squares / error**2 + bb / spread**2 - 2 * ab / (error * spread)
        ratio = _around_logarithm(error / spread, math.sqrt(max(variance, 0.0) / n))
        return Estimate(1 - ratio.value, 1 - ratio.high, 1 - ratio.low)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """All figures by name; "r2" is left out if all targets are equal."""
        found = {} if self.r2 is None else {"r2": self.r2}
        found |= {"mae": self.mae, "rmse": self.rmse, "mean_error": self.mean_error}
        return found | {name: sums.positive() for name, sums in self.losses}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "n_rows": self.n_rows,
            "mean_target": self.mean_target,
            **{name: found.to_dict() for name, found in self.estimates.items()},
        }


def tally_numbers(
    target: Numbers,
    predicted: Numbers,
    *,
    centre: float | None = None,
    levels: Sequence[float] = (),
    deviances: Sequence[Deviance] = (),
) -> NumberTally:
    """Add up the errors of some rows.

    Parameters
    ----------
    target, predicted
        One number for each row; at least one row.
    centre
        A number near the targets, by default their mean. Give the same for all parts of a table.
    levels
        Levels of quantiles, for the pinball loss of each.
    deviances
        "poisson" and "gamma": the mean deviance. Targets must be at least 0, for "gamma" above 0.
        Predictions must be above 0.

    Examples
    --------
    >>> tally = tally_numbers(np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 2.5, 3.5, 5.0]))
    >>> print(tally.mae.value, round(tally.rmse.value, 3), tally.r2.value)
    0.25 0.354 0.95
    """
    if not len(target):
        raise TableError("the table has 0 rows; at least one is needed to measure errors")
    centre = float(target.mean()) if centre is None else centre
    # A log link may predict infinity, and powers of large numbers may be infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        return _tally(target, predicted, centre, levels, deviances)


def _tally(
    target: Numbers,
    predicted: Numbers,
    centre: float,
    levels: Sequence[float],
    deviances: Sequence[Deviance],
) -> NumberTally:
    y, error = target - centre, predicted - target
    squared = error**2
    products = [y, y**2, y**3, y**4, squared * y, squared * y**2]
    losses = [
        (f"pinball_{level:g}", Sums.of(pinball(level)(target, predicted))) for level in levels
    ]
    losses += [
        (f"{name}_deviance", Sums.of(_deviance(name, target, predicted))) for name in deviances
    ]
    return NumberTally(
        centre,
        Sums.of(np.abs(error)),
        Sums.of(squared),
        Sums.of(error),
        tuple(float(product.sum()) for product in products),
        tuple(losses),
    )


def pinball(level: float) -> Callable[[Numbers, Numbers], Numbers]:
    """Return the loss of a quantile, which is least if a share of `level` is below it.

    >>> pinball(0.9)(np.array([1.0, 3.0]), np.array([2.0, 2.0])).round(3).tolist()
    [0.1, 0.9]
    """
    if not 0 < level < 1:
        raise OptionError(
            f"the level of a quantile is {level!r}, expected a number between 0 and 1"
        )

    def loss(target: Numbers, predicted: Numbers) -> Numbers:
        return np.maximum(level * (target - predicted), (level - 1) * (target - predicted))

    return loss


def _deviance(name: Deviance, target: Numbers, predicted: Numbers) -> Numbers:
    if (predicted <= 0).any():
        raise OptionError(f"the {name} deviance needs predictions above 0; use a log link")
    if name == "poisson":
        if (target < 0).any():
            raise TableError("the poisson deviance needs targets of at least 0")
        ratio = np.where(target > 0, target, 1.0) / np.where(target > 0, predicted, 1.0)
        found = 2 * (target * np.log(ratio) - target + predicted)
    else:
        if (target <= 0).any():
            raise TableError("the gamma deviance needs targets above 0")
        found = 2 * (np.log(predicted / target) + target / predicted - 1)
    return np.maximum(found, 0.0)  # rounding can give a tiny negative number


@dataclass(frozen=True)
class Group:
    """Rows with similar predictions.

    Attributes
    ----------
    n_rows
        Their number.
    lowest, highest
        The range of their predictions.
    mean_prediction, mean_target
        Means over the rows.
    mae
        The mean absolute error.
    """

    n_rows: int
    lowest: float
    highest: float
    mean_prediction: float
    mean_target: float
    mae: float


def error_by_prediction(
    target: Numbers, predicted: Numbers, n_groups: int = N_GROUPS
) -> list[Group]:
    """Split the rows by their prediction into groups of about equal size, lowest first.

    Rows with the same prediction are in the same group, so there may be fewer groups.

    >>> groups = error_by_prediction(np.arange(20.0), np.repeat([1.0, 2.0], 10), 10)
    >>> [(group.n_rows, group.mean_prediction, group.mean_target) for group in groups]
    [(10, 1.0, 4.5), (10, 2.0, 14.5)]
    """
    order = np.argsort(predicted, kind="stable")
    ranked = predicted[order]
    # The rank of the first row with the same prediction decides.
    first = np.searchsorted(ranked, ranked, side="left")
    numbers = first * n_groups // max(1, len(ranked))
    groups = []
    for number in np.unique(numbers).tolist():
        rows = order[numbers == number]
        groups.append(
            Group(
                len(rows),
                float(predicted[rows].min()),
                float(predicted[rows].max()),
                float(predicted[rows].mean()),
                float(target[rows].mean()),
                float(np.abs(predicted[rows] - target[rows]).mean()),
            )
        )
    return groups


def _short(number: float) -> str:
    return plain_text(number, 3, thousands=True)


def _around_logarithm(value: float, relative: float) -> Estimate:
    """Give a positive figure the interval of its logarithm with some standard error."""
    try:
        factor = math.exp(Z * relative)
    except OverflowError:
        factor = math.inf
    return Estimate(value, value / factor, value * factor)
