"""The choice of a recipe: honest, deterministic, and within the work of its level."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import DLNClassifier
from dln.data.table import read_table
from dln.estimators.plan import read_parameters
from dln.train.effort import LEVELS
from dln.train.fit import FitPlan, fit_circuit
from dln.train.folds import make_folds
from dln.train.halving import best_candidates, estimate, plan_rounds, smooth
from dln.train.jobs import Job, Trained
from dln.train.native import train_population
from dln.train.options import FitEffort
from dln.train.problem import Problem
from dln.train.recipe import SELECTION_ROWS, TEMPERATURES, Candidates, make_candidates
from dln.train.restart import count_missed_classes, train_with_restarts
from dln.train.select import compare
from tests.support.jobs import random_job
from tests.support.strategies import law


def candidates_of(n_rows: int = 300, n_classes: int = 2, **parameters: Any) -> Candidates:
    return make_candidates(read_parameters(DLNClassifier(**parameters)), n_rows, n_classes, 5)


def table(n_rows: int = 120, n_classes: int = 2) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    target = (X[:, 0] + X[:, 1] * X[:, 2] > 0) + (n_classes - 2) * (X[:, 2] > 0.5)
    weight = np.ones(n_rows, dtype=np.float32)
    return Problem(read_table(X), target.astype(np.int32), weight, tuple(range(n_classes)))


# -- rounds ---------------------------------------------------------------------------------------


@law
@given(st.integers(1, 60), st.integers(1, 80))
def test_rounds_lose_candidates_and_gain_folds(n_candidates: int, n_fits: int) -> None:
    rounds = plan_rounds(n_candidates, n_fits)
    assert rounds[0].n_candidates == n_candidates
    assert [fold for each in rounds for fold in each.folds] == list(range(n_fits))
    assert all(len(each.folds) > 0 for each in rounds)
    for earlier, later in itertools.pairwise(rounds):
        assert later.n_candidates == -(-earlier.n_candidates // 3)
        # No round trains many more networks than the first one.
        assert len(later.folds) * later.n_candidates <= 3 * n_candidates * len(rounds[0].folds)


@law
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.integers(1, 12))
def test_halving_keeps_the_best_if_folds_agree(
    seed: int, n_sizes: int, n_taus: int, n_fits: int
) -> None:
    rng = np.random.default_rng(seed)
    quality = rng.random(n_sizes * n_taus)
    scores = quality[:, None] + rng.random(n_fits)  # folds differ in difficulty alone
    seen = np.empty((len(quality), 0))
    for number, (n_kept, folds) in enumerate(plan_rounds(len(quality), n_fits)):
        kept = best_candidates(seen, n_taus, n_kept) if number else list(range(len(quality)))
        found = np.full((len(quality), len(folds)), np.nan)
        found[kept] = scores[kept][:, folds.start : folds.stop]
        seen = np.hstack([seen, found])
    expected = smooth(quality.reshape(n_sizes, n_taus)).ravel().argmax()
    assert best_candidates(seen, n_taus, 1) == [expected]
    np.testing.assert_allclose(estimate(seen), quality + scores.mean() - quality.mean(), atol=1e-9)


def test_a_lone_temperature_is_not_smoothed() -> None:
    column = np.array([[0.1], [0.7], [0.4]])
    np.testing.assert_array_equal(smooth(column), column)


def test_folds_of_a_later_round_continue_those_of_an_earlier_one() -> None:
    target = table().target
    few, more = make_folds(target, 3, 7), make_folds(target, 12, 7)
    for (train, valid), (again, valid_again) in zip(few, more, strict=False):
        np.testing.assert_array_equal(train, again)
        np.testing.assert_array_equal(valid, valid_again)
    assert len(more) == 12


# -- candidates -----------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", LEVELS)
@pytest.mark.parametrize(("n_rows", "n_classes"), [(60, 2), (900, 11), (5_000, 2), (10**6, 26)])
def test_options_that_are_stated_are_obeyed(effort: FitEffort, n_rows: int, n_classes: int) -> None:
    stated: dict[str, Any] = {"layers": (9, 7), "tau": 3.0, "n_cutoffs": 5, "n_networks": 2}
    stated |= {"epochs": 4, "batch_size": 10, "vote_density": 0.5, "selection_fits": 6}
    for left_out in (None, *stated):
        own = {name: value for name, value in stated.items() if name != left_out}
        found = candidates_of(n_rows, n_classes, effort=effort, **own)
        for recipe in (found.usual, *(recipe for row in found.grid for recipe in row)):
            options = recipe.options
            read = {
                "layers": recipe.shape.layers,
                "tau": options.tau,
                "n_cutoffs": recipe.encode.n_cutoffs,
                "n_networks": recipe.n_networks,
                "epochs": options.epochs,
                "batch_size": options.batch_size,
                "vote_density": recipe.vote_density,
                "selection_fits": found.n_fits,
            }
            assert {name: read[name] for name in own} == own


@pytest.mark.parametrize(("n_rows", "n_classes"), [(60, 2), (900, 11), (5_000, 2), (10**6, 2)])
def test_more_effort_does_more(n_rows: int, n_classes: int) -> None:
    work = []
    for effort in LEVELS:
        found = candidates_of(n_rows, n_classes, effort=effort)
        recipes = [recipe for row in found.grid for recipe in row]
        largest = max(recipe.work(n_classes) for recipe in recipes)
        networks = max(recipe.n_networks for recipe in recipes)
        work.append((largest, len(recipes), found.n_fits, networks))
    for less, more in itertools.pairwise(work):
        assert all(a <= b for a, b in zip(less, more, strict=True))
        assert less != more


@pytest.mark.parametrize("n_classes", [2, 5, 26])
def test_sizes_range_from_small_to_wide(n_classes: int) -> None:
    grid = candidates_of(900, n_classes).grid
    work = [row[0].work(n_classes) for row in grid]
    assert min(work[1:]) > 2 * work[0]
    for row in grid:
        votes = row[0].shape.layers[-1] * row[0].vote_density
        scales = [recipe.options.tau / np.sqrt(votes) for recipe in row]
        assert scales == pytest.approx(TEMPERATURES, rel=0.05)


@pytest.mark.parametrize("n_classes", [2, 8])
def test_large_tables_have_wider_networks(n_classes: int) -> None:
    def width(n_rows: int) -> int:
        return max(row[0].shape.layers[0] for row in candidates_of(n_rows, n_classes).grid)

    assert 2 * width(900) == width(30_000)


def test_a_sample_is_compared_with_as_many_steps_as_the_table_or_its_usual_epochs() -> None:
    recipe = candidates_of(10**6).usual
    assert recipe.options.epochs == 3
    assert recipe.shortened(10**6, SELECTION_ROWS).options.epochs == 30  # half of 60
    assert recipe.shortened(10**6, 10**6).options.epochs == 2
    small = candidates_of(300).usual
    assert small.shortened(300, 300) == small


@pytest.mark.parametrize("effort", LEVELS)
@pytest.mark.parametrize("n_classes", [2, 500])
@pytest.mark.parametrize("n_rows", [300, 4_000, 10**5, 10**7])
def test_a_level_stays_within_its_work(effort: FitEffort, n_rows: int, n_classes: int) -> None:
    level, found = LEVELS[effort], candidates_of(n_rows, n_classes, effort=effort)
    for row in found.grid:
        assert row[0].n_networks == 1 or (
            row[0].n_networks * row[0].work(n_classes) * n_rows <= level.work
        )
    for row in found.grid[1:]:
        assert row[0].work(n_classes) * n_rows <= level.work
    if n_rows == 300 and n_classes == 2:
        assert found.n_fits == level.n_fits[0]
        wide = make_candidates(read_parameters(DLNClassifier(effort=effort)), 300, 2, 500)
        assert wide.n_fits == 5  # every fold encodes all columns


def test_a_stated_recipe_is_not_compared_and_not_restarted() -> None:
    found = candidates_of(layers=(9, 7), tau=3.0)
    assert found.grid == ((found.usual,),)
    assert found.n_restarts == 0
    assert candidates_of(selection_fits=0).n_restarts == 0
    assert candidates_of(layers=(9, 7)).n_restarts > 0


# -- the comparison -------------------------------------------------------------------------------


class Counted:
    """An engine that counts what it trains."""

    def __init__(self) -> None:
        self.populations: list[list[Job]] = []

    def __call__(self, jobs: Sequence[Job], **settings: Any) -> list[Trained]:
        self.populations.append(list(jobs))
        return train_population(jobs, **settings)


def test_a_candidate_list_of_one_skips_the_comparison() -> None:
    engine = Counted()
    plan = FitPlan(candidates_of(layers=(9, 7), tau=3.0, n_networks=2, epochs=3))
    fitted = fit_circuit(table(), plan, engine=engine, rng=np.random.default_rng(0))
    assert [len(jobs) for jobs in engine.populations] == [2]
    assert fitted.scores == ()


def test_a_round_is_one_population_that_shares_its_folds() -> None:
    engine = Counted()
    found = candidates_of(120, epochs=2, effort="quick")
    scores = compare(found, table(), engine=engine, rng=np.random.default_rng(0), n_threads=1)
    rounds = plan_rounds(len(scores), found.n_fits)
    assert [len(jobs) for jobs in engine.populations] == [n * len(folds) for n, folds in rounds]
    for jobs, (_, folds) in zip(engine.populations, rounds, strict=True):
        assert len({id(job.data.cells) for job in jobs}) == len(folds)
    assert sum(score.n_fits for score in scores) == sum(map(len, engine.populations))
    (chosen,) = (score for score in scores if score.chosen)
    assert chosen.n_fits == found.n_fits


def test_quick_stays_quick() -> None:
    for n_rows in (60, 300, 3_000, 10**5):
        found = candidates_of(n_rows, effort="quick")
        rounds = plan_rounds(sum(map(len, found.grid)), found.n_fits)
        assert sum(n * len(folds) for n, folds in rounds) <= 50
        assert max(size for row in found.grid for size in row[0].shape.layers) <= 512
        assert found.grid[0][0].n_networks <= 3


def test_large_tables_are_sampled_and_each_round_sees_more_rows() -> None:
    engine = Counted()
    n_rows = 2 * SELECTION_ROWS + 100
    found = candidates_of(n_rows, layers=(4, 2), epochs=1, selection_fits=2)
    compare(found, table(n_rows), engine=engine, rng=np.random.default_rng(0), n_threads=2)
    sizes = [{len(job.data.target) for job in jobs} for jobs in engine.populations]
    assert sizes == [{SELECTION_ROWS}, {2 * SELECTION_ROWS}]


@pytest.mark.filterwarnings("ignore:The model never predicts:dln.DlnWarning")
def test_the_same_seed_gives_the_same_choice_for_any_number_of_jobs() -> None:
    problem = table(90, n_classes=3)
    X, y = problem.table.read(0).values[:, None], problem.target
    options: dict[str, Any] = {"effort": "quick", "epochs": 4, "random_state": 3}
    first, *others = (DLNClassifier(**options, n_jobs=n).fit(X, y) for n in (1, 3, -1))
    for other in others:
        assert other.selection_ == first.selection_
        assert other.circuit_ == first.circuit_


def test_stating_what_was_chosen_gives_the_same_circuit() -> None:
    problem = table(150)
    X = np.column_stack([problem.table.read(column).values for column in range(3)])
    same = {"n_networks": 2, "epochs": 30, "random_state": 1, "probabilities": "votes"}
    chosen = DLNClassifier(effort="quick", **same)
    (choice,) = (row for row in chosen.fit(X, problem.target).selection_ if row["chosen"])
    own = {name: choice[name] for name in ("layers", "n_cutoffs", "tau")}
    stated = DLNClassifier(**own, **same).fit(X, problem.target)
    assert stated.selection_ == []
    assert stated.circuit_ == chosen.circuit_


# -- restarts -------------------------------------------------------------------------------------


def stuck(job: Job) -> Job:
    """Return the job with a network that gives no votes, so the first class always wins."""
    votes = np.full_like(job.network.vote_logits, -9.0)
    return replace(job, network=replace(job.network, vote_logits=votes))


def learned() -> Job:
    """Return a job whose network predicts every class."""
    jobs = map(random_job, range(100))
    return next(job for job in jobs if not count_missed_classes(job))


def restarted(n_failures: int, n_restarts: int) -> tuple[list[Trained], list[Job]]:
    drawn: list[Job] = []

    def draw(n_networks: int) -> list[Job]:
        for _ in range(n_networks):
            job = learned()
            drawn.append(stuck(job) if len(drawn) < n_failures else job)
        return drawn[-n_networks:]

    def train(jobs: Sequence[Job]) -> list[Trained]:
        return [Trained(job.network, np.zeros((1, 4), np.float32), 0) for job in jobs]

    return train_with_restarts(draw, train, 1, n_restarts), drawn


def test_a_network_that_never_predicts_a_class_is_trained_again() -> None:
    good = learned()
    assert count_missed_classes(stuck(good)) == len(set(good.data.target.tolist())) - 1
    (trained,), drawn = restarted(n_failures=2, n_restarts=2)
    assert trained.network is drawn[2].network
    (trained,), drawn = restarted(n_failures=9, n_restarts=2)
    assert len(drawn) == 3  # the number of restarts is limited
    (trained,), drawn = restarted(n_failures=9, n_restarts=0)
    assert len(drawn) == 1
