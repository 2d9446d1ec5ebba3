"""Networks for a target of numbers: trained by an engine, then refitted on their hard rules.

Training finds the rules. Their coefficients are then fitted again by ridge regression, or its
counterpart for another loss, with a penalty that is chosen on rows left out. To leave rows out
honestly, networks are trained without each fold, and without each pair of folds.

Networks of residuals are trained one after another, each on what the earlier ones leave; the
coefficients of all are fitted together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dln.core.limits import Limits
from dln.encode.encoder import EncodeOptions, Encoder, fit_encoder
from dln.train.jobs import Engine, Job, OnInterrupt, OnProgress, Trained, TrainingRows
from dln.train.network import Network, Shape, build_network
from dln.train.number_growth import FoldScores
from dln.train.number_loss import Floats, NumberLoss
from dln.train.options import NumberEnsemble, TrainOptions
from dln.train.problem import NumberProblem
from dln.train.refit import fit_coefficients
from dln.train.votes import evaluate_rules

RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Penalties to choose from, as numbers of rows."""

MAX_ROWS = 100_000
"""Number of rows that coefficients are fitted on; a larger table is sampled."""

_N_STEPS = 12
"""Steps of a refit, for losses without a closed solution."""


@dataclass(frozen=True)
class NumberRecipe:
    """Everything that determines the networks of a fit, except the data and the seed."""

    shape: Shape
    options: TrainOptions
    slope: float
    encode: EncodeOptions
    n_networks: int
    limits: Limits | None = None
    ensemble: NumberEnsemble = "sum"

    def within(self, limits: Limits) -> NumberRecipe:
        """Return the recipe for circuits that satisfy limits."""
        return replace(self, limits=limits, encode=replace(self.encode, unused=limits.unused))

    def draw_job(
        self,
        encoder: Encoder,
        data: TrainingRows,
        rows: NDArray[np.int64],
        loss: NumberLoss,
        rng: np.random.Generator,
    ) -> Job:
        """Draw a network with random initial parameters, to be trained on some rows."""
        seed = int(rng.integers(2**63))
        network = build_network(
            encoder.literals,
            self.shape,
            n_classes=None,
            slope=self.slope,
            rng=np.random.default_rng(seed),
            limits=self.limits,
        )
        options = replace(self.options, seed=seed)
        return Job(network, data, rows, options, loss=loss.training)


@dataclass(frozen=True)
class Refitted:
    """A trained network, and the coefficients of its rules after the bias (1 + n_rules,).

    The model is the sum of its networks.
    """

    network: Network
    coefficients: Floats

    def scores(self, cells: NDArray[np.float32]) -> Floats:
        """Return the scores of encoded rows."""
        rules = evaluate_rules(self.network, cells)
        return np.asarray(rules @ self.coefficients[1:] + self.coefficients[0])


@dataclass(frozen=True)
class CrossFitted:
    """Scores on rows left out, and the penalty that suited them best."""

    scores: FoldScores
    ridge: float


def refit(
    networks: Sequence[Network],
    cells: NDArray[np.float32],
    target: Floats,
    weight: NDArray[np.float32],
    loss: NumberLoss,
    ridges: Sequence[float],
    before: Floats | None = None,
) -> list[list[Refitted]]:
    """Fit the coefficients of the rules of networks together, with each penalty.

    `before` are scores that rows have beforehand. A large table is sampled: there are far fewer
    coefficients than rows.
    """
    some = slice(None, None, max(1, len(target) // MAX_ROWS))
    cells, target, weight = cells[some], target[some], weight[some]
    had = 0.0 if before is None else before[some]
    rules = [evaluate_rules(network, cells) for network in networks]
    fires = np.hstack([np.ones((len(cells), 1)), *rules])
    share = weight.astype(np.float64) / weight.sum(dtype=np.float64)
    start = np.zeros(fires.shape[1])
    start[0] = loss.constant(target, weight, had)
    bounds = _bounds(networks)

    def fit(ridge: float) -> list[Refitted]:
        penalty = ridge / len(target)
        bias, *coefficients = np.split(
            fit_coefficients(loss, fires, target, share, penalty, start, _N_STEPS, bounds, had),
            np.cumsum([1, *(own.shape[1] for own in rules[:-1])]),
        )
        biases = [bias, *[np.zeros(1)] * (len(rules) - 1)]
        return [
            Refitted(network, np.concatenate(own))
            for network, *own in zip(networks, biases, coefficients, strict=True)
        ]

    return [fit(ridge) for ridge in ridges]


def _bounds(networks: Sequence[Network]) -> tuple[Floats, Floats] | None:
    """Return the limits of the bias and of all rules of networks; None if there are none."""
    first = networks[0].weight_limits[:, -1:]
    rules = [network.weight_limits[:, :-1] for network in networks]  # the bias is last there
    low, high = np.hstack([first, *rules]).astype(np.float64)
    return (low, high) if np.isfinite([low, high]).any() else None


def cross_fit(
    recipe: NumberRecipe,
    problem: NumberProblem,
    target: Floats,
    loss: NumberLoss,
    fold: NDArray[np.int64],
    before: Floats | None = None,
    *,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None],
) -> CrossFitted:
    """Train networks without each fold and each pair of folds, and score the rows left out.

    `target` are the standardised targets of the problem, `before` the scores that rows have
    beforehand. They are part of the scores that are returned.
    """
    folds = range(int(fold.max()) + 1)
    table, weight = problem.table.kept(), problem.weight
    numbers = target.astype(np.float32)
    left_out = [(one,) for one in folds] + list(combinations(folds, 2))
    jobs: list[Job] = []
    quiet = replace(recipe, options=recipe.options.untraced())
    for absent in left_out:
        train = np.flatnonzero(~np.isin(fold, absent))
        encoder, _ = fit_encoder(table.take(train), numbers[train], weight[train], recipe.encode)
        data = TrainingRows(encoder.encode(table), numbers, weight, _offset(before))
        jobs.append(quiet.draw_job(encoder, data, train, loss, rng))
    engine(jobs, n_threads=n_threads, on_progress=on_progress(jobs))
    fitted = [
        refit(
            [job.network],
            job.data.cells[job.rows],
            target[job.rows],
            weight[job.rows],
            loss,
            RIDGES,
            None if before is None else before[job.rows],
        )
        for job in jobs
    ]
    had = np.zeros(len(target)) if before is None else before
    honest = np.zeros((len(RIDGES), len(target)))
    without = np.zeros((len(RIDGES), len(folds), len(target)))
    for absent, job, by_ridge in zip(left_out, jobs, fitted, strict=True):
        for own in absent:
            rows = np.flatnonzero(fold == own)
            for place, (one,) in enumerate(by_ridge):
                scores = one.scores(job.data.cells[rows]) + had[rows]
                if len(absent) == 1:
                    honest[place, rows] = scores
                for other in absent:
                    if other != own:
                        without[place, other, rows] = scores
    best = int(np.argmin([loss.mean(scores, target, weight) for scores in honest]))
    return CrossFitted(FoldScores(fold, honest[best], without[best]), RIDGES[best])


def train_networks(
    recipe: NumberRecipe,
    encoder: Encoder,
    cells: NDArray[np.float32],
    target: Floats,
    weight: NDArray[np.float32],
    loss: NumberLoss,
    ridge: float,
    before: Floats | None = None,
    *,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None],
    on_interrupt: OnInterrupt,
) -> tuple[list[Refitted], list[Trained]]:
    """Train the networks of a recipe and refit them; the model is the sum of what is returned.

    If rows have scores `before`, these are added to the sum.
    """
    data = TrainingRows(cells, target.astype(np.float32), weight, _offset(before))
    rows = np.arange(len(target))

    def draw() -> Job:
        own = rng.choice(rows, len(rows)) if recipe.ensemble == "bagging" else rows
        return recipe.draw_job(encoder, data, own, loss, rng)

    def train(jobs: list[Job]) -> list[Trained]:
        return engine(
            jobs, n_threads=n_threads, on_progress=on_progress(jobs), on_interrupt=on_interrupt
        )

    def refit_on(networks: Sequence[Network], own: NDArray[np.int64]) -> list[Refitted]:
        some = own[:: max(1, len(own) // MAX_ROWS)]  # as `refit` chooses, without copying the rest
        had = None if before is None else before[some]
        return refit(networks, cells[some], target[some], weight[some], loss, (ridge,), had)[0]

    if recipe.ensemble == "residuals":
        return _chain(draw, train, lambda networks: refit_on(networks, rows), recipe.n_networks)
    jobs = [draw() for _ in range(recipe.n_networks)]
    trained = train(jobs)
    # After Ctrl-C some networks may not have started. They have learned nothing.
    known = [job for job, one in zip(jobs, trained, strict=True) if len(one.history)] or jobs[:1]
    each = [refit_on([job.network], job.rows)[0] for job in known]
    share = 1.0 / len(each)
    return [replace(one, coefficients=share * one.coefficients) for one in each], trained


def _offset(scores: Floats | None) -> NDArray[np.float32] | None:
    """Return scores of rows as an offset of training rows."""
    return None if scores is None else np.ascontiguousarray(scores[:, None], dtype=np.float32)


def _chain(
    draw: Callable[[], Job],
    train: Callable[[list[Job]], list[Trained]],
    refit_all: Callable[[Sequence[Network]], list[Refitted]],
    n_networks: int,
) -> tuple[list[Refitted], list[Trained]]:
    """Train networks one after another, each on what the earlier ones leave."""
    found: list[Refitted] = []
    trained: list[Trained] = []
    for _ in range(n_networks):
        job = draw()
        if found:
            scores = np.sum([one.scores(job.data.cells) for one in found], axis=0)
            had = job.data.offset
            offset = _offset(scores if had is None else scores + had[:, 0])
            job = replace(job, data=replace(job.data, offset=offset))
        trained += train([job])
        if len(trained[-1].history) or not found:
            found = refit_all([*(one.network for one in found), job.network])
        if trained[-1].interrupted:
            break
    return found, trained
