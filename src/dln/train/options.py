"""The options of a training run: one frozen value, the same for all engines.

A choice with settings is an object that holds them: `Gumbel(noise=0.5)` is a relaxation,
`Alternating(epochs=5)` an order of phases.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from dln.errors import OptionError


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


Phases = OneOf["unified", "epochs", "batches"] | Alternating
Relaxation = OneOf["straight-through", "soft", "gumbel"] | Gumbel
GateGradient = OneOf["hard", "mixture"]


@dataclass(frozen=True)
class TrainOptions:
    """Hyperparameters of one training run.

    Attributes
    ----------
    epochs, batch_size, rate
        Number of epochs, rows per step, and Adam's initial learning rate.
    final_rate
        Final learning rate relative to the initial one, reached by cosine decay; 1: constant.
    threshold_rate
        Learning rate of cutoffs and slopes relative to the others; 0 keeps thresholds fixed.
    tau
        Divides the class sums before the softmax (the paper's tau_out).
    grad_factor
        Multiplies the gradient after each layer in the backward pass.
    vote_threshold
        A vote link is on if the sigmoid of its logit is at least this.
    phases
        Train gates and links together ("unified"), or in turn: by batches, by epochs, or several
        epochs at a time (`Alternating(5)`).
    relaxation
        How a discrete choice is trained: the choice itself with the gradient of its mixture
        ("straight-through"), the mixture ("soft"), or the choice under Gumbel noise ("gumbel",
        `Gumbel(0.5)`).
    gate_gradient
        The gradient for the inputs of a gate under training: that of the most likely function
        ("hard", as in the authors' program), or that of the mixture of all functions
        ("mixture", the paper's formula taken literally).
    temperature
        Divides the logits of gates and links before their softmax; may be an `Annealing`.
    freezing, pruning
        Freeze layers and remove gates during training; None does not.
    eval_every, patience, keep_best
        Epochs between two evaluations on validation rows (0: never), epochs without improvement
        before stopping (0: never), and whether to restore the parameters of the best evaluation.
    trace_every
        Epochs between two records of all parameters (0: none); see `Trace`.
    seed
        Seed of the order of the rows and of Gumbel noise.
    """

    epochs: int = 100
    batch_size: int = 64
    rate: float = 0.05
    final_rate: float = 0.03
    threshold_rate: float = 0.1
    tau: float = 3.0
    grad_factor: float = 1.0
    vote_threshold: float = 0.8
    phases: Phases = "batches"
    relaxation: Relaxation = "straight-through"
    gate_gradient: GateGradient = "hard"
    temperature: float | Annealing = 1.0
    freezing: Freezing | None = None
    pruning: Pruning | None = None
    eval_every: int = 0
    patience: int = 0
    keep_best: bool = False
    trace_every: int = 0
    seed: int = 0


# -- checks -----------------------------------------------------------------------------------


def check_integer(name: str, value: Any, low: int, high: int) -> None:
    """Check that a parameter is an integer from `low` to `high`."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not (is_integer and low <= int(value) <= high):
        raise OptionError(f"{name} is {value!r}, expected an integer from {low} to {high}")


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """Check that a parameter is a number from `low` to `high`."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and low <= float(value) <= high):
        raise OptionError(f"{name} is {value!r}, expected a number from {low:g} to {high:g}")


def check_choice(name: str, value: Any, choices: tuple[str, ...], *others: type) -> None:
    """Check that a parameter is one of the `choices` or an instance of the `others`."""
    if not isinstance(value, others) and not (isinstance(value, str) and value in choices):
        named = [repr(choice) for choice in choices] + [f"a {other.__name__}" for other in others]
        raise OptionError(f"{name} is {value!r}, expected one of {', '.join(named)}")
