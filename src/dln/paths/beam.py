"""Search for the best rules of every size within a budget.

A beam search over the number of literals. From each state (rules and their votes), the search adds
a rule of the pool, extends a rule by one test, or exchanges a rule for a better one. Every state
keeps the budget, so every result does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.core.limits import Limits
from dln.paths.budget import Budget
from dln.paths.formula import Formula
from dln.paths.loss import Bounds, Floats, PathLoss, Slopes
from dln.paths.pool import Pool
from dln.train.candidates import CandidateTests
from dln.train.given import Given

_N_SCREENED = 100
"""Number of rules of each length that are compared with the rules of a state."""
_SIMILAR = 0.975
"""Two rules that agree, or disagree, on this share of the weight say nearly the same."""
_STALL = 8
"""The search ends if this many more literals do not improve the loss."""
_LEAST_GAIN = 1e-4
"""Smallest fall of the loss that counts, as a share of the loss."""
_JOIN_COST = 4.0
"""Each test of a rule after its first costs as much as this number of effective rows can lose.

There are many more pairs of tests than single tests, so the best pair fits by chance more often.
"""
_LITERAL_COST = 1.0
"""A literal has to reduce the loss by as much as this number of effective rows can."""


@dataclass(frozen=True)
class _Effort:
    """How much is tried at one number of literals.

    Attributes
    ----------
    width
        Number of states that are kept.
    n_tried
        Number of rules of each length that are tried.
    n_extended
        Maximum number of rules of a state that are extended.
    polish_every
        The best state is polished at each multiple of this number of literals.
    """

    width: int
    n_tried: int
    n_extended: int
    polish_every: int


THOROUGH_UP_TO = 16
"""Up to this number of literals, much is tried. Larger states are slower, and depend less on each
choice."""
_THOROUGH = _Effort(width=2, n_tried=4, n_extended=12, polish_every=1)
_FAST = _Effort(width=1, n_tried=2, n_extended=6, polish_every=4)


@dataclass(frozen=True, eq=False)
class State:
    """Rules with the votes that suit them.

    Attributes
    ----------
    rules
        The formulas.
    fires
        Where each fires (n_rows, 1 + n_rules), after a constant column.
    votes
        Votes (1 + n_rules, n_outputs), base votes first.
    loss
        The loss on the training rows, and the cost of rules of several tests.
    reads
        The columns that are read (n_columns,), also by given rules.
    bounds
        Bounds of the votes, if there are any.
    """

    rules: tuple[Formula, ...]
    fires: Floats
    votes: Floats
    loss: float
    reads: NDArray[np.bool_]
    bounds: Bounds | None = None

    @property
    def n_literals(self) -> int:
        """Number of tests in all rules."""
        return sum(map(len, self.rules))


class Search:
    """One search: the pool of rules, the loss and the budget."""

    def __init__(
        self,
        tests: CandidateTests,
        bits: NDArray[np.float32],
        loss: PathLoss,
        budget: Budget,
        limits: Limits | None = None,
        *,
        longest: int,
        most_literals: int,
        seed: int,
        stop: Callable[[], bool] = lambda: False,
        given: Given | None = None,
    ) -> None:
        self._loss = loss
        self._most = most_literals
        self._stop = stop
        self._max_rules = math.inf if budget.max_rules is None else budget.max_rules
        self._max_columns = math.inf if budget.max_columns is None else budget.max_columns
        costs = [budget.column_costs.get(column.name, 0.0) for column in tests.columns]
        self._costs = np.array(costs)
        self._max_cost = math.inf if budget.max_cost is None else budget.max_cost + 1e-9
        self._pool = Pool(tests, bits, loss, longest, seed, limits)
        self._given_reads = np.zeros(len(self._costs), dtype=bool)
        if given is not None:
            self._max_rules -= len(given.circuit.rules)
            self._given_reads[given.places] = True

    def run(self) -> dict[int, State]:
        """Return the best state of each number of literals that improves on all smaller ones."""
        root = self._root()
        waiting: dict[int, list[State]] = {0: [root]}
        best = {0: root}
        lowest = root.loss
        for size in range(self._most + 1):
            effort = _THOROUGH if size <= THOROUGH_UP_TO else _FAST
            here = _distinct(waiting.pop(size, []))[: effort.width]
            if size and here and size % effort.polish_every == 0:
                here = _distinct([self._polished(here[0]), *here])[: effort.width]
            needed = _LITERAL_COST * (size - max(best)) * self._loss.price
            if size and here and here[0].loss < lowest - needed:
                best[size], lowest = here[0], here[0].loss
            if self._stop() or size - max(best) > _STALL:
                break
            for place, state in enumerate(here):
                for larger in self._larger(state, effort, grow=place == 0):
                    waiting.setdefault(larger.n_literals, []).append(larger)
        return {size: self._refitted(state, 12) for size, state in best.items()}

    # -- states -------------------------------------------------------------------------------

    def _root(self) -> State:
        fires = np.ones((len(self._pool.bits), 1))
        votes = self._loss.fit(fires, np.zeros((1, self._loss.n_outputs)), 6)
        total = self._loss.total(fires @ votes, votes)
        return State((), fires, votes, total, self._given_reads.copy())

    def _made(
        self, rules: tuple[Formula, ...], fires: Floats, votes: Floats, n_steps: int
    ) -> State:
        bounds = self._pool.bounds(rules)
        votes = self._loss.fit(fires, votes, n_steps, bounds)
        reads = self._given_reads.copy()
        for formula in rules:
            reads |= self._pool.reads(self._pool.number(formula))
        n_joined = sum(map(len, rules)) - len(rules)
        total = self._loss.total(fires @ votes, votes) + n_joined * _JOIN_COST * self._loss.price
        return State(rules, fires, votes, total, reads, bounds)

    def _refitted(self, state: State, n_steps: int) -> State:
        return self._made(state.rules, state.fires, state.votes, n_steps)

    def _with(self, state: State, number: int, n_steps: int = 2) -> State:
        column = self._pool.fires(number)[:, None].astype(np.float64)
        fires = np.hstack([state.fires, column])
        votes = np.vstack([state.votes, np.zeros((1, state.votes.shape[1]))])
        rules = (*state.rules, self._pool.formulas[number])
        return self._made(rules, fires, votes, n_steps)

    def _without(self, state: State, place: int) -> State:
        rules = state.rules[:place] + state.rules[place + 1 :]
        fires = np.delete(state.fires, place + 1, axis=1)
        return self._made(rules, fires, np.delete(state.votes, place + 1, axis=0), 2)

    # -- moves --------------------------------------------------------------------------------

    def _larger(self, state: State, effort: _Effort, *, grow: bool) -> list[State]:
        """Return states with more literals: with one rule more, or with a longer rule."""
        slopes = self._slopes(state)
        if grow:
            self._pool.grow(slopes, self._usable(state.reads))
        found = []
        left = self._most - state.n_literals
        if len(state.rules) < self._max_rules:
            lengths = range(1, min(self._pool.longest, left) + 1)
            numbers = self._best_rules(state, slopes, lengths, effort.n_tried)
            found += [self._with(state, number) for number in numbers]
        if left:
            for place in self._places_to_extend(state, effort.n_extended):
                found += self._extended(state, place)
        return found

    def _extended(self, state: State, place: int) -> list[State]:
        """Join one more test to a rule of a state."""
        formula = state.rules[place]
        if len(formula) >= self._pool.longest:
            return []
        own = state.fires[:, place + 1 : place + 2] @ state.votes[place + 1 : place + 2]
        slopes = self._loss.slopes(state.fires @ state.votes - own)
        others = self._given_reads.copy()
        for other in state.rules[:place] + state.rules[place + 1 :]:
            others |= self._pool.reads(self._pool.number(other))
        usable = self._usable(others | self._pool.reads(self._pool.number(formula)))
        longer = self._pool.add_extensions(formula, slopes, usable, 2)
        rest: State | None = None
        found = []
        for formula in longer:
            number = self._pool.number(formula)
            if formula in state.rules:
                continue
            rest = self._without(state, place) if rest is None else rest
            if not self._is_similar(rest, number):
                found.append(self._with(rest, number))
        return found

    def _polished(self, state: State) -> State:
        """Exchange rules for better ones that are not longer, while that helps."""
        for _ in range(2):
            before = state.loss
            for place in range(len(state.rules)):
                length = len(state.rules[place])
                rest = self._without(state, place)
                banned = {state.rules[place]}
                slopes = self._slopes(rest)
                lengths = range(1, length + 1)
                numbers = self._best_rules(rest, slopes, lengths, 2, banned)
                tried = [self._with(rest, number) for number in numbers]
                better = min(tried, key=lambda other: other.loss, default=state)
                if better.loss < state.loss - _LEAST_GAIN * abs(state.loss):
                    state = better
            if state.loss >= before:
                break
        return state

    def _places_to_extend(self, state: State, n_most: int) -> list[int]:
        """Choose the rules to extend: those with the most votes, if there are many."""
        strength = np.abs(state.votes[1:]).max(axis=1)
        places: list[int] = np.argsort(-strength, kind="stable")[:n_most].tolist()
        return places

    # -- choice of rules ----------------------------------------------------------------------

    def _slopes(self, state: State) -> Slopes:
        return self._loss.slopes(state.fires @ state.votes)

    def _usable(self, reads: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the columns that a rule may read if these are read already."""
        if reads.sum() >= self._max_columns:
            return reads.copy()
        usable: NDArray[np.bool_] = reads | (self._costs <= self._max_cost - self._costs @ reads)
        return usable

    def _best_rules(
        self,
        state: State,
        slopes: Slopes,
        lengths: range,
        n_best: int,
        banned: set[Formula] | None = None,
    ) -> list[int]:
        """Return the rules of each length that reduce the loss most, next to those of a state."""
        fires, length_of, reads = self._pool.stacked
        new = reads & ~state.reads
        allowed = new.sum(axis=1) + state.reads.sum() <= self._max_columns
        allowed &= new @ self._costs + self._costs @ state.reads <= self._max_cost
        for formula in (*state.rules, *(banned or ())):
            allowed[self._pool.number(formula)] = False
        allowed &= self._pool.may_gain(slopes)
        gains = np.where(allowed, self._pool.gains(slopes, fires), -1.0)
        joint = _JointGains(state, slopes, self._loss.ridge, self._pool.caution)
        found: list[int] = []
        for length in lengths:
            numbers = np.flatnonzero((length_of == length) & (gains > 0))
            numbers = numbers[np.argsort(-gains[numbers], kind="stable")[:_N_SCREENED]]
            if len(numbers) == 0:
                continue
            order = numbers[np.argsort(-joint.of(fires[numbers]), kind="stable")].tolist()
            found += _first(order, n_best, lambda number: not self._is_similar(state, number))
        return found

    def _is_similar(self, state: State, number: int) -> bool:
        """Check whether a rule says nearly the same as a rule of the state, or the opposite."""
        if not state.rules:
            return False
        # With 1 for "fires" and -1 for "does not", the mean product is 1 if two rules agree.
        signs = self._loss.weight * (2.0 * self._pool.fires(number) - 1.0)
        alike = 2.0 * (signs @ state.fires[:, 1:]) - signs.sum()
        return bool(np.any(np.abs(alike) >= 2.0 * _SIMILAR - 1.0 - 1e-9))


class _JointGains:
    """The gain of a new rule next to those of a state, if their votes change as well."""

    def __init__(self, state: State, slopes: Slopes, ridge: float, caution: float) -> None:
        own = state.fires.astype(np.float32)
        self._slopes = slopes
        self._weighted = own * slopes.second[:, None]
        curve = (self._weighted.T @ own).astype(np.float64)
        curve[np.diag_indices_from(curve)] += ridge + 1e-9
        self._curve = curve
        self._least = caution * float(slopes.second.sum()) + ridge + 1e-9

    def of(self, fires: NDArray[np.float32]) -> Floats:
        """Estimate the fall of the loss for rules that fire (n, n_rows)."""
        across = (fires @ self._weighted).T.astype(np.float64)
        alone = (fires @ self._slopes.second).astype(np.float64)
        left = alone - (across * np.linalg.solve(self._curve, across)).sum(axis=0)
        downhill = (fires @ self._slopes.first).astype(np.float64)
        gain: Floats = (downhill**2).sum(axis=1) / (2.0 * (np.maximum(left, 0.0) + self._least))
        return gain


def _distinct(states: list[State]) -> list[State]:
    """Sort states by loss and leave out those with the same rules as a better one."""
    found: dict[frozenset[Formula], State] = {}
    for state in sorted(states, key=lambda state: state.loss):
        found.setdefault(frozenset(state.rules), state)
    return list(found.values())


def _first(numbers: list[int], n_wanted: int, is_wanted: Callable[[int], bool]) -> list[int]:
    found: list[int] = []
    for number in numbers:
        if is_wanted(number):
            found.append(number)
            if len(found) == n_wanted:
                break
    return found
