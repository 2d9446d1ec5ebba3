"""The parts of exported code that depend on what is predicted: a class or a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from dln.core.score import Score


@dataclass(frozen=True)
class Answer:
    """What a readout adds to a file.

    Attributes
    ----------
    notes
        How to use the code, for the top of the file.
    tables
        Declarations, before all functions.
    functions
        Functions that turn the wires of the rules into answers, after all others.
    """

    notes: tuple[str, ...]
    tables: str
    functions: str


@dataclass(frozen=True)
class Arithmetic:
    """How a language computes with float64.

    Attributes
    ----------
    number
        Converts an integer `{x}`.
    exp
        The exponential function of a number `{x}`.
    write
        Writes a finite constant exactly.
    """

    number: str
    exp: str
    write: Callable[[float], str] = repr

    def score(self, score: Score, points: str) -> str:
        """Write the score of some points, with one rounding: powers of ten are exact.

        >>> from dln import Score
        >>> print(Arithmetic("(double){x}", "exp({x})").score(Score((), (0,), digits=2), "points"))
        (double)points / 100.0
        """
        value = self.number.format(x=points)
        power = self.write(float(10 ** abs(score.digits)))
        if score.digits == 0:
            return value
        return f"{value} / {power}" if score.digits > 0 else f"{value} * {power}"

    def linked(self, score: Score, value: str) -> str:
        """Write the prediction for a score.

        >>> from dln import Score
        >>> c = Arithmetic("(double){x}", "exp({x})")
        >>> print(c.linked(Score((), (0,), link="logit"), "score"))
        1.0 / (1.0 + exp(-(score)))
        """
        match score.link:
            case "identity":
                return value
            case "log":
                return self.exp.format(x=value)
            case "logit":
                one = self.write(1.0)
                return f"{one} / ({one} + {self.exp.format(x=f'-({value})')})"
            case _:
                assert_never(score.link)

    def prediction(self, score: Score, points: str) -> str:
        """Write the prediction for some points."""
        return self.linked(score, self.score(score, points))


def formula(score: Score) -> str:
    """Describe how points become a prediction, for comments.

    >>> from dln import Score
    >>> print(formula(Score((), (0,), digits=2, link="log")))
    exp(points / 100)
    """
    return _WORDS.prediction(score, "points")


_WORDS = Arithmetic("{x}", "exp({x})", lambda value: f"{value:.0f}")
