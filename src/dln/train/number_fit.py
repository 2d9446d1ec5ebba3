"""Columns + numbers -> Circuit: grow trees on cross-validated scores, round, build.

This is the complete fit of a number, without a user interface. Inside, targets are standardised:
they have the mean 0 and the standard deviation 1, or the mean 1 if the link is a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.score import Score
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.train.discretise import build_circuit
from dln.train.folds import draw_number_folds
from dln.train.jobs import Engine, OnInterrupt
from dln.train.number_growth import FoldScores, GrownNumber, grow_number
from dln.train.number_loss import Floats, NumberLoss, weighted_quantile
from dln.train.points import Points, round_coefficients
from dln.train.problem import NumberProblem
from dln.train.trace import Trace
from dln.train.trees import Features, Growth, Leaf, Path, Tree, make_features

TOLERANCE = 1e-3
"""Rounding changes predictions of training rows by at most this (root mean square).

In units of the standard deviation of the target; with a log link, relative to the prediction.
"""

N_FOLDS = 4
"""Folds of the rows for cross-validation."""

MAX_ROWS = 50_000
"""Number of rows that trees are grown on; a larger table is sampled."""

_ROUNDING_ROWS = 10_000
"""Number of rows on which the effect of rounding is measured."""

Show = Callable[[str, float, str], None]


@dataclass(frozen=True)
class NumberPlan:
    """What to fit.

    Attributes
    ----------
    loss
        What is minimised.
    growths
        Trees that may be grown; cross-validation chooses.
    encode
        How columns are encoded.
    """

    loss: NumberLoss
    growths: tuple[Growth, ...]
    encode: EncodeOptions


@dataclass(frozen=True)
class FittedNumber:
    """A circuit and information about its training.

    `r2` is the cross-validated R² (on the scale of the link), NaN without cross-validation.
    """

    circuit: Circuit
    r2: float = np.nan
    interrupted: bool = False
    histories: list[NDArray[np.float32]] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)


@dataclass(frozen=True)
class Standard:
    """How targets are standardised: (target - shift) / scale, with scores to match."""

    shift: float
    scale: float
    link: str

    @classmethod
    def of(cls, problem: NumberProblem, loss: NumberLoss) -> Standard:
        """Standardise the targets of training rows."""
        mean = float(np.average(problem.target, weights=problem.weight))
        if loss.link == "log":
            return cls(0.0, mean, "log")
        spread = np.average((problem.target - mean) ** 2, weights=problem.weight)
        return cls(mean, float(np.sqrt(spread)) or 1.0, "identity")

    def targets(self, target: Floats) -> Floats:
        """Return standardised targets."""
        return np.asarray((target - self.shift) / self.scale)

    def unit(self) -> float:
        """Return what a score of 1 is worth on the scale of the circuit's score."""
        return 1.0 if self.link == "log" else self.scale

    def offset(self, score: float) -> float:
        """Return a score on the scale of the circuit."""
        return score + float(np.log(self.scale)) if self.link == "log" else self.original(score)

    def original(self, score: float) -> float:
        """Return a standardised number in the units of the target."""
        return score * self.scale + self.shift


def fit_number(
    problem: NumberProblem,
    plan: NumberPlan,
    *,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int = 1,
    show: Show | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> FittedNumber:
    """Fit a circuit that predicts a number.

    With on_interrupt="keep", Ctrl-C ends the growth of trees, and the circuit is what was learned
    before.
    """
    return _NumberFit(problem, plan, engine, rng, n_threads, show, on_interrupt).run()


@dataclass
class _NumberFit:
    """The stages of one fit, in their order."""

    problem: NumberProblem
    plan: NumberPlan
    engine: Engine
    rng: np.random.Generator
    n_threads: int
    show: Show | None
    on_interrupt: OnInterrupt
    interrupted: bool = False

    def run(self) -> FittedNumber:
        problem, loss = self.problem, self.plan.loss
        standard = Standard.of(problem, loss)
        target = standard.targets(problem.target)
        encoder, cells = fit_encoder(
            problem.table, target.astype(np.float32), problem.weight, self.plan.encode
        )
        features = make_features(encoder.literals, cells)
        base = loss.constant(target, problem.weight)
        rows = np.sort(self.rng.permutation(len(target))[:MAX_ROWS])
        grown = self._grow(features.matrix[rows], rows, target, base)
        trees = () if grown is None else grown.trees
        if grown is not None and loss.name == "quantile":
            # Predictions of new rows vary more than those of training rows. The rows left out say
            # by how much the level is missed.
            base += weighted_quantile(
                target[rows] - grown.held_out, problem.weight[rows], loss.level
            )
        leaves, points = _round_trees(trees, features, standard, base)
        readout = Score((), (points.offset,), points.digits, loss.link, problem.name)
        circuit = build_circuit(readout, (), leaves, encoder, problem.table, cells)
        return FittedNumber(circuit, self._r2(grown, rows, target), self.interrupted)

    def _grow(
        self, matrix: NDArray[np.float32], rows: NDArray[np.int64], target: Floats, base: float
    ) -> GrownNumber | None:
        problem, loss = self.problem, self.plan.loss
        groups = None if problem.groups is None else problem.groups[rows]
        target, weight = target[rows], problem.weight[rows]
        fold = draw_number_folds(target, N_FOLDS, self.rng, groups)
        if len(fold) == 0 or not self.plan.growths:
            return None
        n_folds = int(fold.max()) + 1
        starts = FoldScores(fold, np.full(len(target), base), np.full((n_folds, len(target)), base))
        try:
            return grow_number(
                self.plan.growths,
                loss,
                matrix,
                target,
                weight,
                starts,
                rng=self.rng,
                n_threads=self.n_threads,
                on_progress=self._progress("growing trees"),
            )
        except KeyboardInterrupt:
            if self.on_interrupt == "raise":
                raise
            self.interrupted = True
            return None

    def _progress(self, title: str) -> Callable[[float], None] | None:
        show = self.show
        return None if show is None else lambda done: show(title, done, "")

    def _r2(self, grown: GrownNumber | None, rows: NDArray[np.int64], target: Floats) -> float:
        """Return the cross-validated share of the variance that predictions explain."""
        if grown is None:
            return np.nan
        weight = self.problem.weight[rows]
        predicted = np.exp(grown.held_out) if self.plan.loss.link == "log" else grown.held_out
        actual = target[rows]
        mean = np.average(actual, weights=weight)
        rest = np.average((actual - predicted) ** 2, weights=weight)
        return float(1.0 - rest / np.average((actual - mean) ** 2, weights=weight))


def _round_trees(
    trees: tuple[Tree, ...], features: Features, standard: Standard, base: float
) -> tuple[list[Leaf], Points]:
    """Return the leaves as rules with integer points, the offset and the decimals."""
    sizes = [len(tree.points) for tree in trees]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    some = features.matrix[:: max(1, len(features.matrix) // _ROUNDING_ROWS)]
    reached = [
        start + tree.structure.apply(some)
        for start, tree in zip(starts[:-1].tolist(), trees, strict=True)
    ]

    def score(coefficients: Floats) -> Floats:
        return sum((coefficients[own] for own in reached), start=np.zeros(len(some)))

    unit = standard.unit()
    coefficients = np.concatenate([np.zeros(0), *(tree.points[:, 0] for tree in trees)]) * unit
    points = round_coefficients(coefficients, standard.offset(base), score, TOLERANCE * unit)
    leaves, offset = [], points.offset
    for start, tree in zip(starts[:-1].tolist(), trees, strict=True):
        paths = list(tree.paths(features))
        # Each row reaches one leaf, so the points of one of them can be part of the offset.
        free = max(paths, key=lambda own: len(own[1]))[0]
        shift = int(points.points[start + free])
        offset += shift
        leaves += list(_leaves(paths, points.points[start:] - shift))
    return leaves, points._replace(offset=offset)


def _leaves(paths: list[tuple[int, Path]], points: NDArray[np.int64]) -> Iterator[Leaf]:
    for node, path in paths:
        if points[node]:
            yield Leaf(path, (int(points[node]),))
