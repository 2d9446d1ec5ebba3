"""Columns + numbers -> Circuit: train networks, grow trees on what they leave, round, build.

This is the complete fit of a number, without a user interface. Inside, targets are standardised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.score import Score
from dln.encode.encoder import Encoder, fit_encoder
from dln.errors import TableError
from dln.train.balance import balance
from dln.train.discretise import RuledNetwork, build_circuit
from dln.train.earlier import Earlier, find_earlier_number
from dln.train.folds import draw_number_folds
from dln.train.given import Given
from dln.train.jobs import Engine, Job, OnInterrupt, OnProgress, Trained
from dln.train.levels import Level
from dln.train.number_growth import FoldScores, GrownNumber, grow_number
from dln.train.number_loss import Floats, NumberLoss, weighted_quantile
from dln.train.number_networks import NumberRecipe, Refitted, cross_fit, train_networks
from dln.train.pace import Pace
from dln.train.points import round_coefficients
from dln.train.problem import NumberProblem
from dln.train.standard import Standard
from dln.train.trace import Trace
from dln.train.trees import (
    FeatureLimits,
    Features,
    Growth,
    Leaf,
    Path,
    Tree,
    feature_matrix,
    make_features,
    take_features,
)
from dln.train.votes import evaluate_rules

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

_USUAL_RIDGE = 10.0
"""Penalty of the coefficients of networks if there are too few rows to choose one."""

_HOPELESS = 1.5
"""No trees are grown for networks whose loss is more than this multiple of that of trees alone."""

Show = Callable[[str, float, str], None]
"""Shows a task: its title, the fraction that is done, and its state."""


@dataclass(frozen=True)
class NumberPlan:
    """What to fit.

    Attributes
    ----------
    loss
        What is minimised.
    recipe
        The networks to train.
    growths
        Trees that may be grown; cross-validation chooses.
    alone
        Whether cross-validation may choose trees without networks.
    constraints
        What the circuit satisfies; the recipe is within their limits.
    init
        An earlier circuit that is kept and corrected by trees; no networks are trained then.
    given
        Rules that the circuit has; the others are learned around them.
    """

    loss: NumberLoss
    recipe: NumberRecipe
    growths: tuple[Growth, ...]
    alone: bool
    constraints: Constraints | None = None
    init: Circuit | None = None
    given: Given | None = None


@dataclass(frozen=True)
class FittedNumber:
    """A circuit and information about its training.

    `score` is the cross-validated share of the loss of a constant that the circuit removes: R² for
    squared errors. NaN without cross-validation.
    """

    circuit: Circuit
    score: float = np.nan
    interrupted: bool = False
    histories: list[NDArray[np.float32]] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)


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

    With on_interrupt="keep", Ctrl-C ends the stage that runs, and the circuit is what was learned
    so far.
    """
    if plan.given is not None:
        problem = replace(problem, given=plan.given.scores(problem.table))
    fit = _NumberFit(problem, plan, engine, rng, n_threads, show, on_interrupt)
    return fit.run() if plan.init is None else fit.learn_on(plan.init)


@dataclass(frozen=True)
class _Model:
    """What cross-validation chose.

    `ridge` is the penalty of networks, None without networks. `honest` (n,) are the scores of rows
    by models without these rows; None if there were too few rows.
    """

    ridge: float | None
    trees: tuple[Tree, ...] = ()
    honest: Floats | None = None


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
        """Leave folds out, train networks, grow trees, round, build."""
        problem, loss, plan = self.problem, self.plan.loss, self.plan
        standard = Standard.of(problem, loss)
        target = standard.targets(problem.target)
        encoder, cells = fit_encoder(
            problem.table, target.astype(np.float32), problem.weight, plan.recipe.encode
        )
        rows = np.sort(self.rng.permutation(len(target))[:MAX_ROWS])
        features = make_features(encoder.literals, cells[rows])
        before, constant = self._start(standard, target)
        model = self._choose(features, rows, target, before)
        networks, trained = self._train(model.ridge, encoder, cells, target, before)
        base = 0.0 if networks and before is None else constant
        if loss.name == "quantile" and model.honest is not None:
            # Predictions of new rows vary more than those of training rows. The rows left out say
            # by how much the level is missed.
            rest = target[rows] - model.honest
            base += weighted_quantile(rest, problem.weight[rows], loss.level)
        parts = _Parts(networks, model.trees, features, cells)
        circuit = parts.build(standard, base, loss, problem, encoder)
        if plan.given is not None:
            circuit = plan.given.join(circuit)
        circuit = balance(circuit, problem, loss)
        if plan.constraints is not None:
            circuit = replace(circuit, constraints=plan.constraints)
        return FittedNumber(
            circuit,
            self._score(model, rows, target),
            self.interrupted,
            [one.history for one in trained],
            [one.trace for one in trained if one.trace is not None],
        )

    def _start(self, standard: Standard, target: Floats) -> tuple[Floats | None, float]:
        """Return the scores (n,) of rows before anything is learned, and the constant in them.

        They are the scores of the given rules plus the best constant; None if no rule is given.
        """
        problem, loss = self.problem, self.plan.loss
        if problem.given is None:
            return None, loss.constant(target, problem.weight)
        scores = problem.given / standard.unit
        constant = loss.constant(target, problem.weight, scores)
        return scores + constant, constant

    def learn_on(self, init: Circuit) -> FittedNumber:
        """Keep the rules of an earlier circuit, and grow trees that correct its errors."""
        problem, loss, plan = self.problem, self.plan.loss, self.plan
        earlier = find_earlier_number(init, problem.table, loss.link)
        standard = Standard.of(problem, loss)
        target = standard.targets(problem.target)
        encoder, cells = fit_encoder(
            problem.table, target.astype(np.float32), problem.weight, plan.recipe.encode
        )
        rows = np.sort(self.rng.permutation(len(target))[:MAX_ROWS])
        features = make_features(encoder.literals, cells[rows])
        sample = problem if len(rows) == len(target) else problem.take(rows)
        fold = draw_number_folds(target[rows], N_FOLDS, self.rng, sample.groups)
        if len(np.unique(fold)) < 3:
            raise TableError(
                "init needs at least three rows or groups to correct it on; give more rows, or "
                "leave out init"
            )
        # The circuit was not trained on these rows, so its scores are honest.
        scores = standard.standardised(earlier.scores(sample.table))
        starts = FoldScores(fold, scores, np.tile(scores, (int(fold.max()) + 1, 1)))
        model = _Model(None, (), scores)
        try:
            if plan.growths:
                grown = self._grow(features, sample, target[rows], starts)
                model = _Model(None, grown.trees, grown.held_out)
        except KeyboardInterrupt:
            if self.on_interrupt == "raise":
                raise
            self.interrupted = True
        parts = _Parts((), model.trees, features, cells)
        encoder = earlier.extend(encoder, cells)
        if plan.constraints is not None:
            earlier.check(encoder.columns, plan.constraints)
        circuit = parts.build(standard, 0.0, loss, problem, encoder, earlier)
        circuit = replace(balance(circuit, problem, loss), constraints=plan.constraints)
        return FittedNumber(circuit, self._score(model, rows, target), self.interrupted)

    def _choose(
        self,
        features: Features,
        rows: NDArray[np.int64],
        target: Floats,
        before: Floats | None,
    ) -> _Model:
        """Compare networks and trees, and trees alone, on rows left out."""
        problem, plan = self.problem, self.plan
        sample = problem if len(rows) == len(target) else problem.take(rows)
        own = target[rows]
        had = None if before is None else before[rows]
        fold = draw_number_folds(own, N_FOLDS, self.rng, sample.groups)
        if len(np.unique(fold)) < 3:  # two folds cannot be left out together
            return _Model(_USUAL_RIDGE)
        found: list[_Model] = []
        try:
            if plan.growths and plan.alone:
                start = had
                if start is None:
                    start = np.full(len(own), plan.loss.constant(own, sample.weight))
                starts = FoldScores(fold, start, np.tile(start, (int(fold.max()) + 1, 1)))
                grown = self._grow(features, sample, own, starts)
                found.append(_Model(None, grown.trees, grown.held_out))
            found += self._with_networks(features, sample, own, fold, had, found)
        except KeyboardInterrupt:
            if self.on_interrupt == "raise":
                raise
            self.interrupted = True
        if not found:
            return _Model(_USUAL_RIDGE)
        return min(found, key=lambda model: self._left_out_loss(model, sample, own))

    def _with_networks(
        self,
        features: Features,
        sample: NumberProblem,
        target: Floats,
        fold: NDArray[np.int64],
        before: Floats | None,
        others: Sequence[_Model],
    ) -> list[_Model]:
        """Cross-fit networks, and grow trees on what they leave, unless others are far better."""
        crossed = cross_fit(
            self.plan.recipe,
            sample,
            target,
            self.plan.loss,
            fold,
            before,
            engine=self.engine,
            rng=self.rng.spawn(1)[0],
            n_threads=self.n_threads,
            on_progress=self._network_progress("choosing"),
        )
        start = _Model(crossed.ridge, (), crossed.scores.honest)
        if not self.plan.growths:
            return [start]
        own = self._left_out_loss(start, sample, target)
        if any(own > _HOPELESS * self._left_out_loss(one, sample, target) for one in others):
            return []
        grown = self._grow(features, sample, target, crossed.scores)
        return [_Model(crossed.ridge, grown.trees, grown.held_out)]

    def _left_out_loss(self, model: _Model, sample: NumberProblem, target: Floats) -> float:
        """Return the loss beyond that of perfect scores, on rows left out."""
        assert model.honest is not None
        return self.plan.loss.deviance(model.honest, target, sample.weight)

    def _grow(
        self,
        features: Features,
        sample: NumberProblem,
        target: Floats,
        starts: FoldScores,
    ) -> GrownNumber:
        show, limits = self.show, self.plan.recipe.limits
        return grow_number(
            self.plan.growths,
            self.plan.loss,
            features.matrix,
            target,
            sample.weight,
            starts,
            None if limits is None else FeatureLimits(features.literals, limits),
            rng=self.rng.spawn(1)[0],
            n_threads=self.n_threads,
            on_progress=None if show is None else lambda done: show("growing trees", done, ""),
        )

    def _train(
        self,
        ridge: float | None,
        encoder: Encoder,
        cells: NDArray[np.float32],
        target: Floats,
        before: Floats | None,
    ) -> tuple[list[Refitted], list[Trained]]:
        """Train the networks on all rows, if they are part of the model."""
        if ridge is None:
            return [], []
        networks, trained = train_networks(
            self.plan.recipe,
            encoder,
            cells,
            target,
            self.problem.weight,
            self.plan.loss,
            ridge,
            before,
            engine=self.engine,
            rng=self.rng.spawn(1)[0],
            n_threads=self.n_threads,
            on_progress=self._network_progress("training"),
            on_interrupt=self.on_interrupt,
        )
        self.interrupted |= any(one.interrupted for one in trained)
        return networks, trained

    def _network_progress(self, title: str) -> Callable[[list[Job]], OnProgress | None]:
        show = self.show
        if show is None:
            return lambda jobs: None

        def of_jobs(jobs: list[Job]) -> OnProgress:
            total = sum(job.options.epochs for job in jobs)
            pace = Pace(sum(len(job.rows) * job.options.epochs for job in jobs))
            return lambda histories: show(title, *pace.state(histories.epochs / total))

        return of_jobs

    def _score(self, model: _Model, rows: NDArray[np.int64], target: Floats) -> float:
        """Return the share of the loss of a constant that is removed on rows left out."""
        if model.honest is None:
            return np.nan
        return self.plan.loss.explained(model.honest, target[rows], self.problem.weight[rows])


@dataclass(frozen=True)
class _Parts:
    """Networks and trees that are added up; with the encoded training rows."""

    networks: Sequence[Refitted]
    trees: Sequence[Tree]
    features: Features
    cells: NDArray[np.float32]

    def build(
        self,
        standard: Standard,
        base: float,
        loss: NumberLoss,
        problem: NumberProblem,
        encoder: Encoder,
        earlier: Earlier | None = None,
    ) -> Circuit:
        """Round the coefficients and build the circuit; `base` is added to all scores.

        If there is an earlier circuit, its rules and its offset are added.
        """
        own = [one.coefficients[1:] for one in self.networks]
        own += [tree.points[:, 0] for tree in self.trees]
        starts = np.cumsum([0, *map(len, own)]).tolist()
        coefficients = np.concatenate([np.zeros(0), *own]) * standard.unit
        base += sum(float(one.coefficients[0]) for one in self.networks)
        start_at = standard.offset(base) if earlier is None else base * standard.unit
        points, offset, digits = round_coefficients(
            coefficients, start_at, self._scorer(starts), TOLERANCE * standard.unit
        )
        moved = None
        if earlier is not None:
            known = earlier.circuit.number_readout.digits
            finest = max(digits, known) if self.trees else known
            factor = 10 ** max(0, finest - digits)
            points, offset, digits = points * factor, offset * factor, finest
            moved = earlier.move(encoder.columns, 10 ** (finest - known))
        ruled = []
        for start, one in zip(starts, self.networks, strict=False):
            given = points[start : start + len(one.coefficients) - 1].tolist()
            wires = one.network.rule_wires.tolist()
            ruled.append(
                RuledNetwork(
                    one.network, {wire: (n,) for wire, n in zip(wires, given, strict=True) if n}
                )
            )
        rules: list[Leaf | Level] = []
        for start, tree in zip(starts[len(self.networks) :], self.trees, strict=False):
            own_points = points[start : start + len(tree.points)]
            if tree.signs is not None:  # rounding keeps the order of leaves
                rules += tree.levels(self.features, own_points)
                continue
            paths = list(tree.paths(self.features))
            # Each row reaches one leaf, so the points of one of them can be part of the offset.
            free = max(paths, key=lambda own: len(own[1]))[0]
            shift = int(own_points[free])
            offset += shift
            rules += _leaves(paths, own_points - shift)
        readout = Score((), (offset,), digits, loss.link, problem.name)
        return build_circuit(readout, ruled, rules, encoder, problem.table, moved)

    def _scorer(self, starts: list[int]) -> Callable[[Floats], Floats]:
        """Return the function from coefficients to scores, on some of the rows."""
        cells = self.cells[:: max(1, len(self.cells) // _ROUNDING_ROWS)]
        matrix = feature_matrix(self.features.literals, cells)
        fires = [evaluate_rules(one.network, cells) for one in self.networks]
        reached = [
            tree.structure.apply(take_features(matrix, tree.features)) for tree in self.trees
        ]

        def score(coefficients: Floats) -> Floats:
            total = np.zeros(len(cells))
            for start, own in zip(starts, fires, strict=False):
                total += own @ coefficients[start : start + own.shape[1]]
            for start, leaf in zip(starts[len(fires) :], reached, strict=False):
                total += coefficients[start + leaf]
            return total

        return score


def _leaves(paths: list[tuple[int, Path]], points: NDArray[np.int64]) -> Iterator[Leaf]:
    for node, path in paths:
        if points[node]:
            yield Leaf(path, (int(points[node]),))
