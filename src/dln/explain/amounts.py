"""Points of a `Score` -> what a rule adds and what is predicted, as people read it.

Promise: what a rule adds is written as the exact decimal. Factors, and predictions through a link,
are rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from dln._util.messages import plain_text
from dln.core.labels import label_text
from dln.core.score import Score


@dataclass(frozen=True)
class Prediction:
    """A predicted number, with its text for people.

    >>> print(Prediction.of(Score((), (0,), digits=1), 157))
    15.7
    """

    value: float
    text: str

    @classmethod
    def of(cls, score: Score, points: int) -> Prediction:
        """Return the prediction of some points."""
        value = score.answer(points)
        return cls(value, number_text(score, value))

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> float | None:
        """Return the number; None if it is too large for a float, which JSON cannot write."""
        return self.value if math.isfinite(self.value) else None


_EXACT_DIGITS = 10
"""Points have at most ten digits, so these write a score without rounding."""
_ROUNDED_DIGITS = 6


def decimal_text(score: Score, points: int) -> str:
    """Write points as a decimal.

    >>> decimal_text(Score((), (0,), digits=2), 320)
    '3.2'
    """
    return f"{score.decimal(points):f}"


def amount_text(score: Score, points: int) -> str:
    """Write what a rule adds; with a link also the factor that it is worth.

    >>> amount_text(Score((), (0,), digits=1), 32)
    '+3.2'
    >>> amount_text(Score((), (0,), digits=2, link="log"), 32)
    '+0.32 (× 1.38)'
    >>> amount_text(Score((), (0,), digits=2, link="logit"), -32)
    '-0.32 (odds × 0.726)'
    """
    added, factor = f"{score.decimal(points):+f}", factor_text(score, points)
    return added if factor is None else f"{added} ({factor})"


def factor_text(score: Score, points: int) -> str | None:
    """Write by what a rule multiplies the prediction or its odds; None without a link."""
    factor = factor_of(score, points)
    if factor is None:
        return None
    return f"{'odds ' if score.link == 'logit' else ''}× {factor:.3g}"


def factor_of(score: Score, points: int) -> float | None:
    """Return by what a rule multiplies the prediction or its odds.

    None without a link, or if the factor is too large for a float.
    """
    match score.link:
        case "identity":
            return None
        case "log" | "logit":
            try:
                return math.exp(score.decimal(points))
            except OverflowError:  # larger than any float
                return None
        case _:
            assert_never(score.link)


def number_text(score: Score, prediction: float) -> str:
    """Write a prediction: exactly without a link, else with six digits.

    >>> number_text(Score((), (0,), digits=1), 15.70), number_text(Score((), (0,), -3), 4e3)
    ('15.7', '4000')
    >>> number_text(Score((), (0,), link="log"), 2.718281828), number_text(Score((), (0,)), 1e22)
    ('2.71828', '1e+22')
    """
    digits = _EXACT_DIGITS if score.link == "identity" else _ROUNDED_DIGITS
    return plain_text(prediction, digits)


def sum_note(score: Score) -> str:
    """Describe how points add up to the prediction.

    >>> print(sum_note(Score((), (125,), digits=1, name="price")))
    price is 12.5 plus what the rules add.
    >>> print(sum_note(Score((), (25,), digits=1, link="log", name="price")))
    price is exp(2.5 plus what the rules add): 12.1825 times the factors of the rules.
    """
    name = label_text(score.name)
    start = f"{decimal_text(score, score.offset)} plus what the rules add"
    match score.link:
        case "identity":
            return f"{name} is {start}."
        case "log":
            first = number_text(score, score.answer(score.offset))
            return f"{name} is exp({start}): {first} times the factors of the rules."
        case "logit":
            return f"{name} is 1 / (1 + exp(-s)), where s is {start}."
        case _:
            assert_never(score.link)
