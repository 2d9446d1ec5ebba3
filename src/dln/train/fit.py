"""Columns + target -> Circuit: choose a recipe, train its networks on all rows, discretise.

This is the complete fit, without a user interface: it does not print and does not use scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.encode.encoder import fit_encoder
from dln.errors import OptionError
from dln.train.discretise import discretise
from dln.train.growth import grow
from dln.train.jobs import Engine, Job, OnInterrupt, Trained, TrainingRows
from dln.train.problem import Problem
from dln.train.recipe import Candidates, Recipe
from dln.train.restart import train_with_restarts
from dln.train.select import Score, compare
from dln.train.trace import Trace
from dln.train.trees import make_features


@dataclass(frozen=True)
class FitPlan:
    """The recipes to compare and the networks to train.

    Attributes
    ----------
    candidates
        Recipes. If there are several, cross-validation chooses one.
    validation_fraction
        Fraction of the rows used to choose the best epoch; 0 trains on all rows to the end.
    validation_every
        Epochs between two looks at these rows.
    """

    candidates: Candidates
    validation_fraction: float = 0.0
    validation_every: int = 1


@dataclass(frozen=True)
class Progress:
    """Progress of a fit: the stage, and the histories (epochs, 4) of its networks so far."""

    stage: OneOf["select", "train"]
    epochs: tuple[int, ...]
    histories: list[NDArray[np.float32]]


@dataclass(frozen=True)
class Fitted:
    """A circuit and information about its training."""

    circuit: Circuit
    recipe: Recipe
    histories: list[NDArray[np.float32]]
    traces: list[Trace]
    scores: tuple[Score, ...] = ()
    interrupted: bool = False


def fit_circuit(
    problem: Problem,
    plan: FitPlan,
    *,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> Fitted:
    """Fit a circuit.

    With on_interrupt="keep", Ctrl-C ends the training, and the circuit is what the networks have
    learned so far. While recipes are compared, it ends the comparison instead.
    """
    scores: tuple[Score, ...] = ()
    interrupted = False
    try:
        scores = compare(
            plan.candidates,
            problem,
            engine=engine,
            rng=rng.spawn(1)[0],  # so that the chosen recipe, if stated, gives the same circuit
            n_threads=n_threads,
            on_progress=lambda jobs: _reporter("select", jobs, on_progress),
        )
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        interrupted = True
    recipe = next((score.recipe for score in scores if score.chosen), plan.candidates.usual)

    encoder, cells = fit_encoder(problem.table, problem.target, problem.weight, recipe.encode)
    rows, valid_rows = _split_validation(problem.target, plan.validation_fraction, rng)
    data = TrainingRows(cells, problem.target, problem.weight)
    options = recipe.options
    if len(valid_rows):
        options = replace(options, eval_every=plan.validation_every, keep_best=True)

    def draw_job() -> Job:
        seed = int(rng.integers(2**63))
        network = recipe.draw_network(encoder.literals, len(problem.classes), seed)
        return Job(network, data, rows, replace(options, seed=seed), valid_rows)

    def train(jobs: Sequence[Job]) -> list[Trained]:
        report = _reporter("train", jobs, on_progress)
        return engine(jobs, n_threads=n_threads, on_progress=report, on_interrupt=on_interrupt)

    trained = train_with_restarts(
        lambda n: [draw_job() for _ in range(n)],
        train,
        recipe.n_networks,
        0 if interrupted else plan.candidates.n_restarts,
    )
    # After Ctrl-C some networks may not have started. They have learned nothing and do not vote.
    voting = [result for result in trained if len(result.history)] or trained[:1]
    interrupted = interrupted or any(result.interrupted for result in trained)
    grown = None
    if plan.candidates.growth is not None and not interrupted:
        grown = grow(
            plan.candidates.growth,
            recipe,
            problem,
            make_features(encoder.literals, cells),
            engine=engine,
            rng=rng.spawn(1)[0],
            n_threads=n_threads,
            on_progress=lambda jobs: _reporter("select", jobs, on_progress),
        )
    votes, unit = (1, 1.0 / (recipe.options.tau * len(voting)))
    if grown is not None:
        votes, unit = grown.units(recipe.options.tau, len(voting))
    circuit = discretise(
        [result.network for result in voting],
        encoder,
        problem.table,
        cells,
        classes=problem.classes,
        temperature=1.0 / unit,
        network_votes=votes,
        leaves=grown.leaves(unit) if grown is not None else (),
    )
    return Fitted(
        circuit,
        recipe,
        [result.history for result in trained],
        [result.trace for result in trained if result.trace is not None],
        scores,
        interrupted,
    )


def _split_validation(
    target: NDArray[np.int32], fraction: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into training rows and validation rows, which choose the epoch.

    Each class is split in the same proportion, but keeps at least one training row.
    """
    is_validation = np.zeros(len(target), dtype=bool)
    if fraction > 0.0:
        for number in np.unique(target):
            rows = rng.permutation(np.flatnonzero(target == number))
            is_validation[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
        if not is_validation.any():
            raise OptionError(
                f"validation_fraction is {fraction}, which is none of {len(target)} rows; "
                "use a larger fraction, or 0"
            )
    return np.flatnonzero(~is_validation), np.flatnonzero(is_validation)


def _reporter(
    stage: OneOf["select", "train"],
    jobs: Sequence[Job],
    on_progress: Callable[[Progress], None] | None,
) -> Callable[[list[NDArray[np.float32]]], None] | None:
    if on_progress is None:
        return None
    epochs = tuple(job.options.epochs for job in jobs)
    return lambda histories: on_progress(Progress(stage, epochs, histories))
