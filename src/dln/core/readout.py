"""Readout: turns the wires that vote into an answer.

Points are integers in every readout, so exported code computes them exactly. `Votes` is the readout
of classifiers, `Score` that of circuits that predict a number. **A tie goes to the first class**:
here, and in everything made from a circuit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.calibration import Calibration
from dln.core.checks import check_calibration, check_classes, check_points, check_temperature
from dln.core.constraints import THE_PREDICTION
from dln.core.labels import Label, label_array
from dln.core.literals import format_name
from dln.core.parts import Rule
from dln.core.score import Score


@dataclass(frozen=True)
class Votes:
    """Rules give votes to classes; the class with the most votes wins.

    Every `Votes` is valid; the constructor refuses anything else.

    Attributes
    ----------
    rules
        Wires that vote.
    base_votes
        Votes that each class has before any rule fires.
    classes
        Class labels, in the order that decides ties.
    temperature
        Divides the votes before the softmax that gives probabilities without a calibration.
    calibration
        A table from vote leads to probabilities; None if there is none.
    """

    rules: tuple[Rule, ...]
    base_votes: tuple[int, ...]
    classes: tuple[Label, ...]
    temperature: float = 1.0
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        for name in ("rules", "base_votes", "classes"):
            # A list could be changed later, from outside.
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_classes(self.classes)
        check_points(
            self.rules,
            self.base_votes,
            len(self.classes),
            lambda number: f"the votes for class {self.classes[number]!r}",
        )
        check_temperature(self.temperature)
        if self.calibration is not None:
            check_calibration(self.calibration)
            if len(self.classes) == 1:  # it is certain
                object.__setattr__(self, "calibration", None)
            else:
                self.calibration.check_classes(len(self.classes))

    @classmethod
    def without_rules(cls, classes: tuple[Label, ...], temperature: float = 1.0) -> Votes:
        """Make a readout in which no class has any votes."""
        return cls((), (0,) * len(classes), classes, temperature)

    def with_rules(self, rules: tuple[Rule, ...], base_votes: tuple[int, ...]) -> Votes:
        """Return a readout of the same answers with other rules."""
        return replace(self, rules=rules, base_votes=base_votes)

    @property
    def wires(self) -> tuple[int, ...]:
        """The wires that vote, one for each rule."""
        return tuple(rule.wire for rule in self.rules)

    @property
    def n_outputs(self) -> int:
        """Number of points that a rule gives: one for each class."""
        return len(self.classes)

    @property
    def outputs(self) -> tuple[Label | None, ...]:
        """What the points of a rule are for: the classes."""
        return self.classes

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The class labels as an array."""
        return label_array(self.classes)

    def winners(self, votes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the class with the most votes for each row of (n_rows, n_classes)."""
        winners: NDArray[np.int64] = votes.argmax(axis=1)
        return winners

    def answers(self, votes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the label of the class with the most votes for each row of votes."""
        return self.labels[self.winners(votes)]

    def probabilities(self, votes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return class probabilities, (n_rows, n_classes).

        They are looked up in the calibration. Without one they are the softmax of votes /
        temperature.
        """
        if self.calibration is not None:
            return self.calibration.probabilities(votes)
        # Votes are subtracted as integers: with a tiny temperature floats would give inf - inf.
        behind = votes - votes.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            odds: NDArray[np.float64] = np.exp(behind / self.temperature)
        odds /= odds.sum(axis=1, keepdims=True)
        return odds


Readout = Votes | Score
"""Every kind of readout. What takes a `Readout` needs its rules and points, not its classes."""


def target_name(readout: Readout) -> str:
    """Return what a predicted number is called in claims: its name, if it has one of its own."""
    if isinstance(readout, Score) and readout.name != Score.name:
        return format_name(readout.name)
    return THE_PREDICTION
