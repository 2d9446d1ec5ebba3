"""Rules that a fit keeps: what they say about rows, and how learned rules join them.

Given rules keep their conditions and votes. Their votes enter the loss of networks and trees as
points that rows have beforehand. All votes of the circuit are worth the same, so learned rules get
whole multiples of what one given vote is worth. Rules of a number keep what they add, as a decimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self, assert_never

import numpy as np

from dln.core.circuit import Circuit
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.locked import join_locked
from dln.core.score import Score
from dln.data.table import Table
from dln.errors import CircuitError, OptionError
from dln.train.problem import Problem
from dln.train.recipe import Candidates, Recipe
from dln.train.trees import Floats, softmax

_UNITS = 2.0 ** np.arange(-6.0, -1.99, 0.5)
"""What one vote may be worth, in log odds.

With larger units, rounding to whole votes would lose too much.
"""

_BASE_STEPS = 20
"""Steps to fit the base of each unit."""


@dataclass(frozen=True)
class Given:
    """Rules that a circuit has from the start; `circuit` has no other rules and no base votes.

    The first `n_locked` rules are locked, None means all. The others are soft: they have been
    learned from the rows.
    """

    circuit: Circuit
    n_locked: int | None = None

    @property
    def places(self) -> list[int]:
        """The numbers of the columns that they read."""
        used = self.circuit.logic.cone(self.circuit.readout.wires)
        n_literals = self.circuit.n_literals
        return sorted({self.circuit.literals[wire].column for wire in used if wire < n_literals})

    def join(self, learned: Circuit) -> Circuit:
        """Add them to a learned circuit, and lock those that are not soft."""
        moved = with_columns(learned, self.circuit.columns)
        joined = join_locked(*same_digits(moved, self.circuit))
        if self.n_locked is None:
            return joined
        return replace(joined, locked=tuple(range(self.n_locked)))

    def with_soft(self, soft: Circuit) -> Self:
        """Add soft rules that were learned; their columns may know more categories."""
        locked = with_columns(self.circuit, soft.columns)
        both = join_locked(*same_digits(soft, locked))
        return replace(self, circuit=replace(both, locked=()), n_locked=len(self.circuit.rules))

    def votes(self, table: Table) -> Floats:
        """Return their votes or points on rows, (n_rows, n_outputs)."""
        return self.circuit.votes(table).astype(np.float64)

    def scores(self, table: Table) -> Floats:
        """Return what they add to the score of a number, (n_rows,)."""
        return self.circuit.number_readout.scores(self.circuit.votes(table))


@dataclass(frozen=True)
class GivenVotes(Given):
    """Given rules of classes; `unit` is what one vote is worth in log odds, None until chosen."""

    unit: float | None = None

    @property
    def worth(self) -> float:
        """The unit, which has been chosen."""
        assert self.unit is not None
        return self.unit

    def points(self, table: Table) -> Floats:
        """Return their votes on rows in log odds, (n_rows, n_classes)."""
        return self.worth * self.votes(table)

    def best_unit(self, problem: Problem) -> float:
        """Return what one vote is worth: the unit that suits the rows best."""
        votes = self.votes(problem.table)
        losses = [loss_with_base(unit * votes, problem) for unit in _UNITS]
        return float(_UNITS[int(np.argmin(losses))])


def same_digits(a: Circuit, b: Circuit) -> tuple[Circuit, Circuit]:
    """Return two circuits that predict a number with as many decimals as the finer one has.

    Circuits for classes stay as they are. Raises `OptionError` if the points become too large.
    """
    if not (isinstance(a.readout, Score) and isinstance(b.readout, Score)):
        return a, b
    digits = max(a.readout.digits, b.readout.digits)
    try:
        return tuple(  # type: ignore[return-value]
            replace(each, readout=each.number_readout.with_digits(digits)) for each in (a, b)
        )
    except CircuitError as error:
        raise OptionError(
            f"the given rules do not suit the size of the target ({error}); give amounts with "
            "fewer decimals, or nearer to the target"
        ) from error


def suit_unit(candidates: Candidates, unit: float) -> Candidates:
    """Return candidates whose networks have votes of about the worth of a unit, or of several.

    Temperatures are lowered, all of a size by the same factor, until one vote of a network is worth
    at least a unit. There are at most as many networks as leave each of their votes this worth.
    """

    def suited(recipe: Recipe, factor: float) -> Recipe:
        tau = recipe.options.tau * factor
        n_networks = max(1, min(recipe.n_networks, int(1.0 / (tau * unit) + 1e-9)))
        return replace(recipe, options=replace(recipe.options, tau=tau), n_networks=n_networks)

    def factor_of(row: Sequence[Recipe]) -> float:
        return min(1.0, 1.0 / (unit * max(recipe.options.tau for recipe in row)))

    grid = tuple(tuple(suited(recipe, factor_of(row)) for recipe in row) for row in candidates.grid)
    usual = suited(candidates.usual, factor_of([candidates.usual]))
    growth = candidates.growth
    if growth is not None:
        growth = replace(growth, tree=growth.tree.in_units(unit))
    return replace(candidates, grid=grid, usual=usual, growth=growth)


def scales_in_units(recipe: Recipe, unit: float) -> Floats:
    """Return the factors of the points of networks for which each vote is a multiple of a unit."""
    least = recipe.options.tau * recipe.n_networks * unit
    return np.asarray(least * np.arange(1, max(2, min(65, int(16.0 / least)))))


def loss_with_base(points: Floats, problem: Problem) -> float:
    """Return the weighted log loss of points, with the best base of each class.

    The points that rows have beforehand are added.
    """
    points = points if problem.given is None else points + problem.given
    weight = problem.weight.astype(np.float64) / problem.weight.sum()
    shares = np.bincount(problem.target, weight, minlength=points.shape[1])
    present = shares > 0
    base = np.zeros(points.shape[1])
    for _ in range(_BASE_STEPS):  # the best base gives each class its share of the rows
        predicted = weight @ softmax(points + base)
        base[present] += np.log(shares[present] / np.maximum(predicted[present], 1e-12))
    own = softmax(points + base)[np.arange(len(points)), problem.target]
    return float(-(weight * np.log(np.maximum(own, 1e-12))).sum())


def with_columns(circuit: Circuit, columns: Sequence[Column]) -> Circuit:
    """Return a circuit that reads other columns of the same names, which have its categories."""
    literals = tuple(move_literals(circuit.literals, circuit.columns, columns))
    logic = replace(circuit.logic, columns=tuple(columns), literals=literals)
    return replace(circuit, logic=logic)


def move_literals(
    literals: Iterable[Literal], before: Sequence[Column], after: Sequence[Column]
) -> Iterator[Literal]:
    """Yield literals on other columns of the same names, which have the same categories."""
    places = {column.name: place for place, column in enumerate(after)}
    for literal in literals:
        own = before[literal.column]
        place = places[own.name]
        match literal:
            case Above() | Missing():
                yield replace(literal, column=place)
            case Among(_, chosen):
                known = after[place].categories
                yield Among(place, tuple(known.index(own.categories[each]) for each in chosen))
            case _:
                assert_never(literal)
