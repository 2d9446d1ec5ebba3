"""Score: the readout of circuits that predict a number.

Promise: a prediction is an integer, divided once by a power of ten that float64 holds exactly. So
the sum of the printed decimals, correctly rounded, is the prediction, here and in exported code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal as OneOf
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.checks import check_points
from dln.core.labels import Label
from dln.core.parts import Rule
from dln.errors import CircuitError

Link = OneOf["identity", "log", "logit"]
"""The function of the prediction that rules add up to."""

LINKS: tuple[Link, ...] = ("identity", "log", "logit")

MAX_DIGITS = 22
"""Powers of ten up to this one are exact in float64."""


@dataclass(frozen=True)
class Score:
    """Rules add points to one number, which a link turns into the prediction.

    The score of a row is (offset + the points of the rules that are true) / 10**digits. The
    prediction is the score itself, exp(score) with link "log", or 1 / (1 + exp(-score)) with link
    "logit".

    Every `Score` is valid; the constructor refuses anything else.

    Attributes
    ----------
    rules
        Wires that add points: `Rule(wire, (points,))`.
    base_votes
        The offset, as a tuple of one integer.
    digits
        Number of decimals of the score, from -22 to 22. With -3, points are thousands.
    link
        "identity", "log" or "logit".
    name
        What is predicted, such as the name of the target column.

    Examples
    --------
    >>> score = Score((Rule(0, (12,)),), (-5,), digits=1, name="price")
    >>> score.answers(np.array([[-5], [7]])).tolist()
    [-0.5, 0.7]
    """

    rules: tuple[Rule, ...]
    base_votes: tuple[int, ...]
    digits: int = 0
    link: Link = "identity"
    name: str = "prediction"

    def __post_init__(self) -> None:
        for name in ("rules", "base_votes"):
            # A list could be changed later, from outside.
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_points(self.rules, self.base_votes, 1, lambda number: "the points")
        if type(self.digits) is not int or abs(self.digits) > MAX_DIGITS:
            raise CircuitError(
                f"digits is {self.digits!r}, expected an integer from -{MAX_DIGITS} to {MAX_DIGITS}"
            )
        if self.link not in LINKS:
            raise CircuitError(f"link is {self.link!r}, expected one of {', '.join(LINKS)}")
        if not isinstance(self.name, str):
            raise CircuitError(f"the name of the prediction is {self.name!r}, expected text")

    def with_rules(self, rules: tuple[Rule, ...], base_votes: tuple[int, ...]) -> Score:
        """Return a readout of the same answers with other rules."""
        return replace(self, rules=rules, base_votes=base_votes)

    def with_digits(self, digits: int) -> Score:
        """Return the same score with more decimals; raises `CircuitError` if points do not fit.

        >>> Score((Rule(0, (12,)),), (-5,), digits=1).with_digits(3).base_votes
        (-500,)
        """
        factor = 10 ** (digits - self.digits)
        rules = tuple(Rule(rule.wire, (factor * rule.votes[0],)) for rule in self.rules)
        return replace(self, rules=rules, base_votes=(factor * self.offset,), digits=digits)

    @property
    def wires(self) -> tuple[int, ...]:
        """The wires that add points, one for each rule."""
        return tuple(rule.wire for rule in self.rules)

    @property
    def n_outputs(self) -> int:
        """Number of points that a rule gives: one."""
        return 1

    @property
    def outputs(self) -> tuple[Label | None, ...]:
        """What the points of a rule are for: the number, which has no label."""
        return (None,)

    @property
    def offset(self) -> int:
        """The points before any rule fires."""
        return self.base_votes[0]

    def decimal(self, points: int) -> Decimal:
        """Return points as a decimal, without rounding. Format it with "f" for people.

        >>> f"{Score((), (0,), digits=2).decimal(320):f}", f"{Score((), (0,), -3).decimal(4):+f}"
        ('3.2', '+4000')
        """
        return Decimal(points).scaleb(-self.digits).normalize()

    @property
    def scale(self) -> tuple[float, float]:
        """The factor and the divisor of points: one is an exact power of ten, the other is 1."""
        power = float(10 ** abs(self.digits))
        # A division by an exact power is rounded once. A product with 0.1 is rounded twice.
        return (1.0, power) if self.digits >= 0 else (power, 1.0)

    def scores(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores (n_rows,) of points (n_rows, 1)."""
        factor, divisor = self.scale
        return points[:, 0].astype(np.float64) * factor / divisor

    def answers(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the predictions (n_rows,) of points (n_rows, 1)."""
        return self.predictions(self.scores(points))

    def predictions(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn scores (n_rows,) into predictions. The array of scores is overwritten."""
        # In place: new memory would cost several times as much as the exponential function.
        match self.link:
            case "identity":
                pass
            case "log":
                with np.errstate(over="ignore"):
                    np.exp(scores, out=scores)
            case "logit":
                with np.errstate(over="ignore"):
                    np.exp(np.negative(scores, out=scores), out=scores)
                np.divide(1.0, np.add(scores, 1.0, out=scores), out=scores)
            case _:
                assert_never(self.link)
        return scores

    def answer(self, points: int) -> float:
        """Return the prediction of one number of points."""
        return float(self.answers(np.array([[points]]))[0])
