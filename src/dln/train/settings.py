"""Choices with settings: objects that are values of an option.

`Gumbel(noise=0.5)` is a relaxation, `Alternating(epochs=5)` an order of phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from dln._util.option import check_choice, check_integer, check_number


@dataclass(frozen=True)
class Alternating:
    """Train gates and links in turn, for `epochs` epochs each (the paper's E), gates first.

    The paper's number of rounds is T = total epochs / 2E.
    """

    epochs: int = 1

    def __post_init__(self) -> None:
        check_integer("epochs of Alternating", self.epochs, 1, 10**9)


@dataclass(frozen=True)
class Gumbel:
    """Add Gumbel noise of this scale to the logits before each choice (the paper tries 0.5).

    Differs from the paper: here the noise changes the choice in the forward pass. In the authors'
    program it does not.
    """

    noise: float = 0.5

    def __post_init__(self) -> None:
        check_number("noise of Gumbel", self.noise, 0.0, 1e6)


@dataclass(frozen=True)
class Annealing:
    """Change a temperature from `start` to `end`, by the same factor in every epoch."""

    start: float = 1.0
    end: float = 0.1

    def __post_init__(self) -> None:
        check_number("start of Annealing", self.start, 1e-3, 1e3)
        check_number("end of Annealing", self.end, 1e-3, 1e3)


@dataclass(frozen=True)
class Freezing:
    """Stop training one layer after another: the paper's progressive freezing.

    Attributes
    ----------
    start
        When the first layer freezes, as a fraction of the training. The others follow at equal
        intervals; the last one is trained to the end.
    direction
        "inputs-first": from the first layer to the votes. "outputs-first": the reverse.
    """

    start: float = 0.5
    direction: OneOf["inputs-first", "outputs-first"] = "inputs-first"

    def __post_init__(self) -> None:
        check_number("start of Freezing", self.start, 0.0, 1.0)
        check_choice("direction of Freezing", self.direction, ("inputs-first", "outputs-first"))


@dataclass(frozen=True)
class Pruning:
    """Remove gates that do not settle on a function: the paper's progressive pruning.

    A gate whose largest probability stays below `convergence` loses its votes and its readers.
    Gates of frozen layers, and gates that these or frozen votes read, are not removed.

    Attributes
    ----------
    start, end
        When pruning starts and is complete, as fractions of the training. In between, the number
        of gates that may be removed grows linearly.
    convergence
        Gates whose most likely function has at least this probability are kept.
    least
        The fraction of each layer that is always kept.
    """

    start: float = 0.5
    end: float = 0.8
    convergence: float = 0.5
    least: float = 0.5

    def __post_init__(self) -> None:
        check_number("start of Pruning", self.start, 0.0, 1.0)
        check_number("end of Pruning", self.end, self.start, 1.0)
        check_number("convergence of Pruning", self.convergence, 0.0, 1.0)
        check_number("least of Pruning", self.least, 0.0, 1.0)
