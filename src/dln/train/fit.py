"""Columns + target -> Circuit: choose a recipe, train its networks on all rows, discretise.

This is the complete fit, without a user interface: it does not print and does not use scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal as OneOf
from typing import TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.limits import Limits
from dln.decisions.calibrate import Calibrated, calibrate_votes
from dln.decisions.goal import Goal
from dln.decisions.points import Floats, Points
from dln.encode.bits import LiteralSet
from dln.encode.encoder import Encoder, fit_encoder
from dln.errors import OptionError, TableError
from dln.train.discretise import discretise
from dln.train.earlier import find_earlier
from dln.train.ensemble import Member, temperature_of, train_members
from dln.train.folds import make_folds
from dln.train.given import GivenVotes, scales_in_units
from dln.train.growth import (
    SCALES,
    Grown,
    grow,
    grow_large,
    points_of_networks,
    start_from_circuit,
    start_from_networks,
)
from dln.train.held_out import HeldOut, make_points, network_noise, points_of
from dln.train.jobs import Engine, Histories, Job, OnInterrupt, OnProgress, Trained, TrainingRows
from dln.train.many_rows import hold_out
from dln.train.network import Network
from dln.train.pace import Pace
from dln.train.problem import Problem
from dln.train.recipe import Candidates, Recipe
from dln.train.select import Score, compare, leave_out
from dln.train.trace import Trace
from dln.train.trees import Growth

T = TypeVar("T")

UNCHANGED = Goal("votes")
"""Votes stay as they were trained, and probabilities are a softmax of votes."""


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
    goal
        What base votes and probabilities are fitted for.
    constraints
        What the circuit satisfies; the recipes are within their limits.
    init
        An earlier circuit that is kept and corrected; no networks are trained then.
    given
        Rules that the circuit has, with their votes; the candidates suit what a vote is worth.
    """

    candidates: Candidates
    validation_fraction: float = 0.0
    validation_every: int = 1
    goal: Goal = UNCHANGED
    constraints: Constraints | None = None
    init: Circuit | None = None
    given: GivenVotes | None = None


@dataclass(frozen=True)
class Progress:
    """Progress of a fit: the stage, and the histories (epochs, 4) of its networks so far.

    `done` is the fraction of all visits of rows; `state` has their speed and the time left.
    """

    stage: OneOf["select", "train"]
    epochs: tuple[int, ...]
    histories: Histories
    done: float
    state: str


@dataclass(frozen=True)
class Fitted:
    """A circuit and information about its training.

    `missed` are the classes whose sensitivity was not reached: number, asked and reached.
    """

    circuit: Circuit
    recipe: Recipe
    histories: list[NDArray[np.float32]]
    traces: list[Trace]
    scores: tuple[Score, ...] = ()
    interrupted: bool = False
    missed: tuple[tuple[int, float, float], ...] = ()


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
    learned so far. While recipes are compared or trees are grown, it ends that instead.
    """
    if plan.given is not None:
        problem = replace(problem, given=plan.given.points(problem.table))
    fit = _Fit(problem, plan, engine, rng, n_threads, on_progress, on_interrupt)
    return fit.run() if plan.init is None else fit.learn_on(plan.init)


class _Options(TypedDict):
    """What every stage that trains networks takes."""

    engine: Engine
    rng: np.random.Generator
    n_threads: int
    on_progress: Callable[[list[Job]], OnProgress | None]


@dataclass
class _Fit:
    """The stages of one fit, in their order."""

    problem: Problem
    plan: FitPlan
    engine: Engine
    rng: np.random.Generator
    n_threads: int
    on_progress: Callable[[Progress], None] | None
    on_interrupt: OnInterrupt
    interrupted: bool = False

    def run(self) -> Fitted:
        """Choose a recipe, train its networks, grow trees, discretise, calibrate."""
        problem, candidates = self.problem, self.plan.candidates
        scores: tuple[Score, ...] = self._unless_interrupted(
            lambda: compare(candidates, problem, **self._stage()), ()
        )
        recipe = next((score.recipe for score in scores if score.chosen), candidates.usual)
        encoder, cells = fit_encoder(problem.table, problem.target, problem.weight, recipe.encode)
        held = self._hold_out()
        members = self._train_networks(recipe, encoder, cells, held)
        # After Ctrl-C some networks may not have started. They have learned nothing, and do not
        # vote.
        voting = [member for member in members if len(member.trained.history)] or members[:1]
        self.interrupted |= any(member.trained.interrupted for member in members)
        networks = [member.trained.network for member in voting]
        grown = self._grow(recipe, encoder.literals, cells, networks, held)
        votes = [member.votes for member in voting]
        unit = 1.0 / temperature_of(recipe.ensemble, recipe.options.tau, votes)
        given = self.plan.given
        if grown is not None:  # all networks have one vote then
            each, unit = grown.units(recipe.options.tau, len(voting))
            votes = [each] * len(voting)
        elif given is not None:
            each, unit = max(1, round(unit / given.worth)), given.worth
            votes = [each] * len(voting)
        circuit = discretise(
            networks,
            encoder,
            problem.table,
            classes=problem.classes,
            temperature=1.0 / unit,
            network_votes=votes,
            tree_rules=grown.rules(unit) if grown is not None else (),
            constraints=self.plan.constraints,
        )
        if given is not None:
            circuit = given.join(circuit)
        calibrated = Calibrated(circuit)
        if not self.plan.goal.does_nothing and not self.interrupted:
            parts = self._leave_out(recipe, scores, grown)
            if grown is None and parts:
                # A network with several votes counts several times. The networks that leave rows
                # out are trained without boosting, but residual points come from whole chains.
                shared = [x.trained.network for x in voting for _ in range(x.votes)]
                if recipe.ensemble == "residuals":
                    shared = shared[:1]
                factor = 1 if given is None else votes[0]
                before = None if given is None else given.votes(problem.table)
                points = make_points(parts, problem, shared, cells, factor, before)
            elif grown is None:
                points = None
            elif grown.is_final:
                points = points_of(grown.held_out / unit, grown.rows, problem)
            else:
                # Points come from one network and trees, the circuit has several networks.
                noise = network_noise(parts, networks, cells) * votes[0] ** 2
                surplus = noise * len(voting) * (len(voting) - 1)
                points = points_of(grown.held_out / unit, grown.rows, problem, surplus)
            calibrated = self._calibrate(circuit, points)
        return Fitted(
            calibrated.circuit,
            recipe,
            [member.trained.history for member in members],
            [member.trained.trace for member in members if member.trained.trace is not None],
            scores,
            self.interrupted,
            calibrated.missed,
        )

    def learn_on(self, init: Circuit) -> Fitted:
        """Keep the rules of an earlier circuit, grow trees that correct its errors, calibrate."""
        problem, candidates = self.problem, self.plan.candidates
        earlier = find_earlier(init, problem.table, problem.classes)
        encode, limits = candidates.usual.encode, candidates.usual.limits
        encoder, cells = fit_encoder(problem.table, problem.target, problem.weight, encode)
        if self.plan.constraints is not None:
            columns = earlier.extend(encoder, cells).columns
            earlier.check(columns, self.plan.constraints)
        growth, held = candidates.growth, self._hold_out()
        assert growth is not None

        def correct() -> Grown | None:
            if held is not None:
                return self._grow_large(
                    growth,
                    encoder.literals,
                    cells,
                    lambda rows: earlier.points(problem.table.take(rows)),
                    held,
                    limits,
                )
            start = partial(start_from_circuit, earlier=earlier)
            return grow(growth, problem, encoder.literals, cells, start, self.rng, limits)

        grown = self._unless_interrupted(correct, None)
        encoder = earlier.extend(encoder, cells)
        if grown is None:
            if not self.interrupted:
                raise TableError(
                    "init needs at least three rows or groups of each class to correct it on; give "
                    "more rows, or leave out init"
                )
            moved = earlier.move(encoder.columns, 1)
            moved = replace(moved, constraints=self.plan.constraints)
            return Fitted(moved, candidates.usual, [], [], (), True)
        votes, unit = grown.units(init.temperature, 1)
        circuit = discretise(
            [],
            encoder,
            problem.table,
            classes=problem.classes,
            temperature=1.0 / unit,
            tree_rules=grown.rules(unit),
            earlier=earlier.move(encoder.columns, votes),
            constraints=self.plan.constraints,
        )
        calibrated = Calibrated(circuit)
        if not self.plan.goal.does_nothing:
            points = points_of(grown.held_out / unit, grown.rows, problem)
            calibrated = self._calibrate(circuit, points)
        return Fitted(calibrated.circuit, candidates.usual, [], [], missed=calibrated.missed)

    def _hold_out(self) -> NDArray[np.int64] | None:
        """Draw the rows of a large table that choose the number of trees; None if not needed."""
        growth = self.plan.candidates.growth
        if growth is None or growth.rows_per_tree is None or self.interrupted:
            return None
        return hold_out(self.problem.target, self.problem.groups, self.rng.spawn(1)[0])

    def _train_networks(
        self,
        recipe: Recipe,
        encoder: Encoder,
        cells: NDArray[np.float32],
        held: NDArray[np.int64] | None,
    ) -> list[Member]:
        """Train the networks of a recipe on all rows but those held out and validation rows."""
        problem, plan, rng = self.problem, self.plan, self.rng
        rows, valid_rows = _split_validation(
            problem.target, plan.validation_fraction, rng, problem.groups, held
        )
        if problem.top is not None:  # validation counts rows, so each one counts once
            valid_rows = valid_rows[problem.top[valid_rows]]
        options = recipe.options
        data = TrainingRows.of(problem, cells, options.tau)
        if len(valid_rows):
            options = replace(options, eval_every=plan.validation_every, keep_best=True)

        def draw_job() -> Job:
            seed = int(rng.integers(2**63))
            network = recipe.draw_network(encoder.literals, len(problem.classes), seed)
            return Job(network, data, rows, replace(options, seed=seed), valid_rows)

        def train(jobs: Sequence[Job]) -> list[Trained]:
            return self.engine(
                jobs,
                n_threads=self.n_threads,
                on_progress=_reporter("train", jobs, self.on_progress),
                on_interrupt=self.on_interrupt,
            )

        n_restarts = 0 if self.interrupted else plan.candidates.n_restarts
        return train_members(recipe.ensemble, draw_job, train, recipe.n_networks, n_restarts, rng)

    def _grow(
        self,
        recipe: Recipe,
        literals: LiteralSet,
        cells: NDArray[np.float32],
        networks: Sequence[Network],
        held: NDArray[np.int64] | None,
    ) -> Grown | None:
        """Grow trees that correct the errors of the networks, if the plan says so."""
        growth, given = self.plan.candidates.growth, self.plan.given
        if growth is None or self.interrupted:
            return None
        scales = SCALES if given is None else scales_in_units(recipe, given.worth)
        if held is not None:
            points = points_of_networks(networks, recipe, cells)
            return self._unless_interrupted(
                lambda: self._grow_large(
                    growth, literals, cells, points, held, recipe.limits, scales
                ),
                None,
            )
        options = self._stage()
        start = partial(start_from_networks, recipe=recipe, **options)
        rng = options["rng"]
        grown = self._unless_interrupted(
            lambda: grow(growth, self.problem, literals, cells, start, rng, recipe.limits, scales),
            None,
        )
        return grown if grown is not None and grown.trees else None

    def _grow_large(
        self,
        growth: Growth,
        literals: LiteralSet,
        cells: NDArray[np.float32],
        points: Callable[[NDArray[np.int64]], Floats],
        held: NDArray[np.int64],
        limits: Limits | None,
        scales: Floats = SCALES,
    ) -> Grown:
        """Grow trees on a table of many rows."""
        rng, n_threads = self.rng.spawn(1)[0], self.n_threads
        problem = self.problem
        return grow_large(
            growth, problem, literals, cells, points, held, rng, limits, scales, n_threads
        )

    def _leave_out(
        self, recipe: Recipe, scores: tuple[Score, ...], grown: Grown | None
    ) -> tuple[HeldOut, ...]:
        """Return the votes of the recipe's networks on rows that they were not trained on."""
        parts = next((score.held_out for score in scores if score.chosen), ())
        if recipe.ensemble == "residuals":  # a comparison trains single networks
            parts = ()
        wanted = self.plan.candidates.n_fits > 0 or self.plan.goal.decides
        if parts or grown is not None or not wanted:
            return parts
        return leave_out(recipe, self.problem, **self._stage())

    def _calibrate(self, circuit: Circuit, points: Points | None) -> Calibrated:
        """Fit base votes and probabilities; without points, the circuit stays as it is.

        Points come from other networks than those of the circuit, and may be few. If the base
        votes would lose a class that the circuit predicts for training rows, the votes stay.
        """
        goal, shares = self.plan.goal, self.problem.class_shares()
        if points is not None:
            calibrated = calibrate_votes(
                circuit, points, goal, shares, may_multiply=not circuit.locked
            )
            table = self.problem.table
            before, after = (
                set(np.unique(each.winners(table))) for each in (circuit, calibrated.circuit)
            )
            if goal.decides or before <= after:
                return calibrated
            return calibrate_votes(circuit, points, goal, shares, keep_votes=True)
        if goal.decides:
            raise TableError(
                "a decision is fitted on rows that are left out, but a class has only one row or "
                "some rows cannot be read without the others; leave out decision_threshold, costs "
                "and sensitivity_at_least"
            )
        return Calibrated(circuit)

    def _stage(self) -> _Options:
        """Return the options of a stage that trains networks for a choice.

        It draws from a generator of its own, so that a recipe that is stated instead of chosen
        gives the same networks.
        """
        return {
            "engine": self.engine,
            "rng": self.rng.spawn(1)[0],
            "n_threads": self.n_threads,
            "on_progress": lambda jobs: _reporter("select", jobs, self.on_progress),
        }

    def _unless_interrupted(self, stage: Callable[[], T], default: T) -> T:
        """Run a stage; with on_interrupt="keep", Ctrl-C ends only the stage."""
        try:
            return stage()
        except KeyboardInterrupt:
            if self.on_interrupt == "raise":
                raise
            self.interrupted = True
            return default


def _split_validation(
    target: NDArray[np.int32],
    fraction: float,
    rng: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
    held: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into training rows and validation rows, which choose the epoch.

    Each class is split in the same proportion, but keeps at least one training row. Groups stay
    together, so the proportion is only about right. Rows that are `held` out are in neither part.
    """
    is_used = np.ones(len(target), dtype=bool)
    if held is not None:
        is_used[held] = False
    if groups is not None and fraction > 0.0:
        n_folds = max(2, round(1 / fraction))
        found = make_folds(target, 1, int(rng.integers(2**31)), groups, n_folds)
        if not found:
            raise OptionError(
                f"validation_fraction is {fraction}, but a class is in a single group, which "
                "cannot be split; use 0"
            )
        train, valid = found[0]
        return train[is_used[train]], valid[is_used[valid]]
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
    return np.flatnonzero(is_used & ~is_validation), np.flatnonzero(is_used & is_validation)


def _reporter(
    stage: OneOf["select", "train"],
    jobs: Sequence[Job],
    on_progress: Callable[[Progress], None] | None,
) -> OnProgress | None:
    if on_progress is None:
        return None
    epochs = tuple(job.options.epochs for job in jobs)
    pace = Pace(sum(len(job.rows) * job.options.epochs for job in jobs))

    def report(histories: Histories) -> None:
        on_progress(Progress(stage, epochs, histories, *pace.state(histories.epochs / sum(epochs))))

    return report
