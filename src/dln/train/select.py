"""Choose a recipe by cross-validation on the training rows.

All recipes and folds of a round are trained in parallel as one population. Each fold has its own
encoders, fitted without the validation rows, so that nothing leaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from dln.encode.encoder import fit_encoders
from dln.errors import ColumnTypeError
from dln.train.ensemble import train_chains
from dln.train.folds import Fold, make_folds
from dln.train.halving import KEPT, best_candidates, estimate, plan_rounds
from dln.train.held_out import HeldOut, held_out
from dln.train.jobs import Engine, Job, OnProgress, Trained, TrainingRows
from dln.train.problem import Problem
from dln.train.recipe import SELECTION_ROWS, Candidates, Recipe
from dln.train.votes import count_all_votes

HELD_OUT_ROWS = 1_000
"""Number of rows that are left out to calibrate a recipe that was not compared."""


LEAVE_OUT_ROWS = 1_000_000
"""Rows from which rows to leave out are drawn; a larger table is sampled down to this number."""


@dataclass(frozen=True)
class Score:
    """The balanced accuracy of a recipe on rows that it was not trained on.

    Attributes
    ----------
    mean
        Estimated mean over all folds of the comparison.
    standard_error
        Standard error of the mean over the recipe's own folds.
    n_fits
        Number of networks that were trained. Worse recipes are left out after each round.
    held_out
        Votes of the networks of the chosen recipe on their validation rows.
    """

    recipe: Recipe
    mean: float
    standard_error: float
    n_fits: int
    chosen: bool
    held_out: tuple[HeldOut, ...] = ()


def compare(
    candidates: Candidates,
    problem: Problem,
    *,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None] = lambda jobs: None,
) -> tuple[Score, ...]:
    """Score all candidates on the same folds by successive halving; empty if there is no choice.

    The first round uses a sample of a large table, and each further round twice as many rows.
    `on_progress` takes the jobs of a round and returns the function to call while they train.
    """
    recipes = [recipe for row in candidates.grid for recipe in row]
    n_rows, n_taus = len(problem.target), len(candidates.grid[0])
    if len(recipes) == 1 or candidates.n_fits == 0:
        return ()
    order, seed = rng.permutation(n_rows), int(rng.integers(2**31))
    accuracy = np.empty((len(recipes), 0))
    held: dict[int, list[HeldOut]] = {}
    for number, (n_candidates, numbers) in enumerate(plan_rounds(len(recipes), candidates.n_fits)):
        some = order[: SELECTION_ROWS << number]
        sample = problem if len(some) == n_rows else problem.take(np.sort(some))
        folds = make_folds(sample.target, numbers.stop, seed, sample.groups)[numbers.start :]
        if not folds:
            break
        kept = best_candidates(accuracy, n_taus, n_candidates) if number else range(len(recipes))
        short = [recipes[place].shortened(n_rows, len(some)) for place in kept]
        found = np.full((len(recipes), len(folds)), np.nan)
        found[kept], jobs = _validate(short, sample, folds, engine, rng, n_threads, on_progress)
        if len(short) <= KEPT:
            for job, place in zip(jobs, cycle(kept)):
                held.setdefault(place, []).append(held_out([job], np.sort(some)))
        accuracy = np.hstack([accuracy, found])
    if accuracy.shape[1] == 0:
        return ()
    (winner,) = best_candidates(accuracy, n_taus, 1)
    return tuple(
        Score(
            recipe,
            float(np.clip(mean, 0.0, 1.0)),
            float(np.nanstd(own) / np.sqrt(np.isfinite(own).sum())),
            int(np.isfinite(own).sum()),
            place == winner,
            tuple(held.get(place, ())) if place == winner else (),
        )
        for place, (recipe, mean, own) in enumerate(
            zip(recipes, estimate(accuracy), accuracy, strict=True)
        )
    )


def _validate(
    recipes: Sequence[Recipe],
    problem: Problem,
    folds: Sequence[Fold],
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None],
) -> tuple[NDArray[np.float64], list[Job]]:
    """Return the balanced accuracy of recipes (rows) on the validation rows of folds (columns).

    The trained jobs are returned too, all recipes of the first fold first.
    """
    jobs = _draw_jobs(recipes, problem, folds, rng)
    trained = engine(jobs, n_threads=n_threads, on_progress=on_progress(jobs))
    if problem.top is None:
        found = [result.valid_score[-1] for result in trained]
    else:
        found = [_weighted_accuracy(job) for job in jobs]
    accuracy = np.array(found, dtype=np.float64)
    return accuracy.reshape(len(folds), len(recipes)).T, jobs


def _draw_jobs(
    recipes: Sequence[Recipe], problem: Problem, folds: Sequence[Fold], rng: np.random.Generator
) -> list[Job]:
    """Draw the networks of recipes for folds, all recipes of the first fold first."""
    jobs: list[Job] = []
    table = problem.table.kept()
    for train, valid in folds:
        some = replace(problem, table=table).take(train)
        # Recipes differ only in the number of cutoffs, so they share the encoded columns.
        counts = sorted({recipe.encode.n_cutoffs for recipe in recipes})
        fitted, _ = fit_encoders(some.table, some.target, some.weight, recipes[0].encode, counts)
        encoders = dict(zip(counts, fitted, strict=True))
        cells = fitted[0].encode(table)
        taus = {recipe.options.tau for recipe in recipes}
        data = {tau: TrainingRows.of(problem, cells, tau) for tau in taus}
        seed = int(rng.integers(2**63))
        for recipe in recipes:
            literals = encoders[recipe.encode.n_cutoffs].literals
            network = recipe.draw_network(literals, len(problem.classes), seed)
            own = recipe.options
            options = replace(own.untraced(), seed=seed, eval_every=own.epochs)
            jobs.append(Job(network, data[own.tau], train, options, valid_rows=valid))
    return jobs


def _weighted_accuracy(job: Job) -> float:
    """Return the balanced accuracy on the validation rows, with their weights.

    Training counts rows. That tells nothing if each row is there once for each class.
    """
    assert job.valid_rows is not None
    data, rows = job.data, job.valid_rows
    right = count_all_votes(job, rows).argmax(axis=1) == data.target[rows]
    mass = np.bincount(data.target[rows], data.weight[rows])
    own = np.bincount(data.target[rows], data.weight[rows] * right)
    return float((own[mass > 0] / mass[mass > 0]).mean())


def leave_out(
    recipe: Recipe,
    problem: Problem,
    *,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None] = lambda jobs: None,
) -> tuple[HeldOut, ...]:
    """Train a recipe without the rows of some folds, and count its votes on them.

    As many folds are trained as needed to leave out `HELD_OUT_ROWS` rows. One network is trained
    for each of them, or a whole chain if each network learns what the earlier ones leave.
    """
    seed, numbers = int(rng.integers(2**31)), np.arange(len(problem.target))
    if len(numbers) > LEAVE_OUT_ROWS:
        numbers = np.sort(rng.permutation(len(numbers))[:LEAVE_OUT_ROWS])
        problem = problem.take(numbers)
    n_rows = len(numbers)
    folds = make_folds(problem.target, 5, seed, problem.groups)
    folds = folds[: max(1, -(-HELD_OUT_ROWS * 5 // n_rows))]
    if not folds:
        return ()
    steps: list[list[Job]] = []

    def draw() -> list[Job]:
        steps.append(_draw_jobs([recipe], problem, folds, rng))
        return steps[-1]

    def train(jobs: Sequence[Job]) -> list[Trained]:
        return engine(jobs, n_threads=n_threads, on_progress=on_progress(list(jobs)))

    try:
        train_chains(draw, train, recipe.n_networks if recipe.ensemble == "residuals" else 1)
    except ColumnTypeError:  # without some rows, a column has another type
        return ()
    return tuple(held_out(chain, numbers) for chain in zip(*steps, strict=True))
