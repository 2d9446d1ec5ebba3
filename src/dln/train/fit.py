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
from dln.core.labels import Label
from dln.data.table import Table
from dln.encode.encoder import EncodeOptions, Encoder, fit_encoder
from dln.errors import OptionError
from dln.train.discretise import discretise
from dln.train.jobs import Engine, Job, OnInterrupt, TrainingRows
from dln.train.recipe import SELECTION_ROWS, Candidates, Recipe
from dln.train.select import Score, choose, cross_validate
from dln.train.trace import Trace


@dataclass(frozen=True)
class Problem:
    """A table to learn from: class numbers (n,) and weights (n,) beside it."""

    table: Table
    target: NDArray[np.int32]
    weight: NDArray[np.float32]
    classes: tuple[Label, ...]

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """Select some rows."""
        return Problem(self.table.take(rows), self.target[rows], self.weight[rows], self.classes)

    def heaviest_class(self) -> float:
        """Return the largest class weight relative to the mean row weight."""
        rows = np.bincount(self.target[self.weight > 0])
        weights = np.bincount(self.target, self.weight)
        mean = weights.sum() / max(1, rows.sum())
        known = rows > 0
        return float((weights[: len(rows)][known] / rows[known] / mean).max(initial=1.0))

    def kept(self) -> Problem:
        """Return a copy whose columns are read once, for code that uses them often."""
        return replace(self, table=self.table.kept())

    def counting(self) -> Problem:
        """Return the problem without the rows of weight 0."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))


@dataclass(frozen=True)
class FitPlan:
    """The recipes to compare and the networks to train.

    Attributes
    ----------
    candidates
        Recipes. If there are several, cross-validation chooses one.
    encode
        Settings of the encoder.
    validation_fraction
        Fraction of the rows used to choose the best epoch; 0 trains on all rows to the end.
    """

    candidates: Candidates
    encode: EncodeOptions
    validation_fraction: float = 0.0


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
    scores: tuple[tuple[Score, ...], ...] = ()
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
    scores: tuple[tuple[Score, ...], ...] = ()
    interrupted = False
    try:
        scores = _compare(problem, plan, engine, rng, n_threads, on_progress)
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        interrupted = True
    recipe = choose(scores) if scores else plan.candidates.usual

    encoder, cells = fit_encoder(problem.table, problem.target, problem.weight, plan.encode)
    jobs = _final_jobs(problem, plan, recipe, encoder, cells, rng)
    trained = engine(
        jobs,
        n_threads=n_threads,
        on_progress=_reporter("train", jobs, on_progress),
        on_interrupt=on_interrupt,
    )
    # After Ctrl-C some networks may not have started. They have learned nothing and do not vote.
    voting = [result for result in trained if len(result.history)] or trained[:1]
    circuit = discretise(
        [result.network for result in voting],
        encoder,
        problem.table,
        cells,
        classes=problem.classes,
        temperature=recipe.options.tau * len(voting),
    )
    return Fitted(
        circuit,
        recipe,
        [result.history for result in trained],
        [result.trace for result in trained if result.trace is not None],
        scores,
        interrupted or any(result.interrupted for result in trained),
    )


def _compare(
    problem: Problem,
    plan: FitPlan,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[Progress], None] | None,
) -> tuple[tuple[Score, ...], ...]:
    """Cross-validate the candidates, on a sample of large tables; empty if not compared.

    The scores have the shape of the grid of candidates.
    """
    recipes = [recipe for row in plan.candidates.grid for recipe in row]
    if len(recipes) == 1 or plan.candidates.n_fits == 0:
        return ()
    if len(problem.target) > SELECTION_ROWS:
        chosen = rng.choice(len(problem.target), SELECTION_ROWS, replace=False)
        problem = problem.take(np.sort(chosen).astype(np.int64))
    scores = cross_validate(
        recipes,
        problem.table.kept(),
        problem.target,
        problem.weight,
        encode=plan.encode,
        n_classes=len(problem.classes),
        n_fits=plan.candidates.n_fits,
        engine=engine,
        rng=rng,
        n_threads=n_threads,
        on_progress=lambda jobs: _reporter("select", jobs, on_progress),
    )
    width = len(plan.candidates.grid[0])
    return tuple(scores[start : start + width] for start in range(0, len(scores), width))


def _final_jobs(
    problem: Problem,
    plan: FitPlan,
    recipe: Recipe,
    encoder: Encoder,
    cells: NDArray[np.float32],
    rng: np.random.Generator,
) -> list[Job]:
    """Set up the networks of the circuit, each with its own random start and order of rows."""
    data = TrainingRows(cells, problem.target, problem.weight)
    rows, valid_rows = _split_validation(problem.target, plan.validation_fraction, rng)
    options = recipe.options
    if len(valid_rows):
        options = replace(options, eval_every=options.eval_every or 1, keep_best=True)
    jobs = []
    for _ in range(plan.candidates.n_networks):
        seed = int(rng.integers(2**63))
        network = recipe.draw_network(encoder.literals, len(problem.classes), seed)
        jobs.append(Job(network, data, rows, replace(options, seed=seed), valid_rows))
    return jobs


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
