"""The pool of rules to choose from: every single test, and chains of tests that reduce the loss.

The pool grows during a search: all pairs of the best tests are compared at once by matrix
products, and the best pairs and chains are extended test by test.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dln.core.limits import Limits
from dln.paths.formula import Formula, Step, both, evaluate, extend, single
from dln.paths.formula_limits import FormulaLimits
from dln.paths.loss import Bounds, Floats, PathLoss, Slopes
from dln.train.candidates import CandidateTests

Cell = TypeVar("Cell", bound=np.generic)

_MIN_SHARE = 0.01
"""A rule fires for at least this share of the weight, and not for at least as much."""
_MIN_ROWS = 5
"""A rule fires for at least this number of effective rows, and not for at least as many."""
_N_PAIRED = 120
"""Number of tests of which all pairs are compared, besides half as many random ones."""
_PAIR_ROWS = 4_000
"""Maximum number of rows on which pairs are compared."""
_PAIRS_OF_COLUMNS = 3
"""Maximum number of new pairs of the same two columns."""
_CAUTION = 3.0
"""Effective rows that are added to those of a rule when its gain is estimated."""


class Pool:
    """Rules with their bits on the training rows."""

    def __init__(
        self,
        tests: CandidateTests,
        bits: NDArray[np.float32],
        loss: PathLoss,
        longest: int,
        seed: int,
        limits: Limits | None = None,
    ) -> None:
        self._limits = None if limits is None else FormulaLimits(limits, tests)
        self._bounds: list[tuple[Floats, Floats]] = []
        self.bits = bits
        self.longest = longest
        self._weight = loss.weight
        self._min_share = max(_MIN_SHARE, _MIN_ROWS / loss.n_effective)
        self.caution = _CAUTION / loss.n_effective
        self._rng = np.random.default_rng(seed)
        self._column_of = np.array([literal.column for literal in tests.literals], dtype=np.intp)
        self._n_columns = len(tests.columns)
        self._number: dict[Formula, int] = {}
        self.formulas: list[Formula] = []
        # Tables of all rules, with space for more. A rule is a row, so its bits are contiguous.
        space = max(64, 2 * bits.shape[1])
        self._fires = np.empty((space, len(bits)), dtype=np.float32)
        self._reads = np.empty((space, self._n_columns), dtype=bool)
        self._lengths = np.empty(space, dtype=np.intp)
        for test in range(bits.shape[1]):
            self.add(single(test))

    def __contains__(self, formula: Formula) -> bool:
        return formula in self._number

    def number(self, formula: Formula) -> int:
        """Return the place of a rule in the pool."""
        return self._number[formula]

    def fires(self, number: int) -> NDArray[np.float32]:
        """Return where a rule fires (n_rows,)."""
        fires: NDArray[np.float32] = self._fires[number]
        return fires

    def reads(self, number: int) -> NDArray[np.bool_]:
        """Return which columns a rule reads (n_columns,)."""
        reads: NDArray[np.bool_] = self._reads[number]
        return reads

    @property
    def stacked(self) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.bool_]]:
        """Where all rules fire (n_rules, n_rows), their lengths, and the columns they read."""
        n_rules = len(self.formulas)
        return self._fires[:n_rules], self._lengths[:n_rules], self._reads[:n_rules]

    def add(self, formula: Formula) -> bool:
        """Add a rule; return whether it is in the pool. Rules that hardly vary are left out."""
        if formula in self._number:
            return True
        held = evaluate(formula, self.bits)
        share = float(self._weight @ held)
        if not self._min_share <= share <= 1 - self._min_share:
            return False
        if self._limits is not None:
            bounds = self._limits.bounds(formula)
            if bounds is None:
                return False
            self._bounds.append(bounds)
        number = len(self.formulas)
        if number == len(self._fires):
            self._fires, self._reads, self._lengths = map(
                _doubled, (self._fires, self._reads, self._lengths)
            )
        self._fires[number] = held
        self._lengths[number] = len(formula)
        self._reads[number] = False
        self._reads[number, [self._column_of[step.test] for step in formula]] = True
        self._number[formula] = number
        self.formulas.append(formula)
        return True

    def bounds(self, rules: tuple[Formula, ...]) -> Bounds | None:
        """Return the bounds of the base votes and of the votes of rules; None without limits."""
        if self._limits is None:
            return None
        free = np.full(self._limits.n_votes, np.inf)
        own = [(-free, free), *(self._bounds[self._number[formula]] for formula in rules)]
        return Bounds(*(np.array(side) for side in zip(*own, strict=True)))

    def may_gain(self, slopes: Slopes) -> NDArray[np.bool_]:
        """Return which rules may have votes that lower the loss (n_rules,)."""
        if self._limits is None or not self._bounds:
            return np.ones(len(self.formulas), dtype=bool)
        low, high = (np.array(side) for side in zip(*self._bounds, strict=True))
        downhill = self.stacked[0] @ slopes.first
        return np.asarray(
            (((downhill > 0) & (high > 0)) | ((downhill < 0) & (low < 0))).any(axis=1)
        )

    def gains(self, slopes: Slopes, of: NDArray[np.float32]) -> Floats:
        """Estimate how much the loss falls with each of some bits (n, n_rows) as a new rule."""
        return _gain(of @ slopes.first, of @ slopes.second, slopes, self.caution)

    def grow(self, slopes: Slopes, usable: NDArray[np.bool_], n_new: int = 12) -> None:
        """Add the best pairs of tests of usable columns, and the best extensions of these."""
        if self.longest < 2:
            return
        pairs = self._best_pairs(slopes, usable, n_new)
        if self.longest > 2:
            for pair in pairs[:3]:
                self.add_extensions(pair, slopes, usable, 2)

    def add_extensions(
        self, formula: Formula, slopes: Slopes, usable: NDArray[np.bool_], n_new: int
    ) -> list[Formula]:
        """Join one more test to a rule in the best ways; return the new rules."""
        if len(formula) >= self.longest:
            return []
        held = evaluate(formula, self.bits)[:, None]
        first, second = slopes.first, slopes.second[:, None]
        bits = self.bits
        # A and B; A and not B; A or B; A or not B. The words are the same for single tests.
        g_both, h_both = bits.T @ (first * held), bits.T @ (second * held)
        g_own, h_own = (first * held).sum(axis=0), (second * held).sum(axis=0)
        ways = [(g_both, h_both), (g_own - g_both, h_own - h_both)]
        if len(formula) > 1:
            g_test, h_test = bits.T @ first, bits.T @ second
            ways.append((g_own + g_test - g_both, h_own + h_test - h_both))
            g_all, h_all = first.sum(axis=0), second.sum(axis=0)
            ways.append((g_all - g_test + g_both, h_all - h_test + h_both))
        gains = np.stack([_gain(g, h[:, 0], slopes, self.caution) for g, h in ways], axis=1)
        taken = [step.test for step in formula]
        gains[taken] = -1
        gains[~usable[self._column_of]] = -1
        if self._limits is not None:
            may = self._limits.extensions(formula)  # plain, negated
            gains[~np.tile(may, len(ways) // 2)] = -1
        order = np.argsort(-gains, axis=None, kind="stable")[: 4 * n_new]
        new: list[Formula] = []
        for place in order.tolist():
            test, way = divmod(place, len(ways))
            longer = extend(formula, Step(way >= 2, test, way % 2 == 1))
            if gains.flat[place] > 0 and self._adds_something(formula, longer) and self.add(longer):
                new.append(longer)
                if len(new) == n_new:
                    break
        return new

    def _adds_something(self, formula: Formula, longer: Formula) -> bool:
        """Check that a longer rule equals neither the shorter one nor its last test."""
        (last,) = set(longer) - set(formula) if len(set(longer) - set(formula)) == 1 else (None,)
        held = evaluate(longer, self.bits)
        if np.array_equal(held, evaluate(formula, self.bits)):
            return False
        own = self.bits[:, last.test] if last else None
        return own is None or not (np.array_equal(held, own) or np.array_equal(held, 1 - own))

    def _best_pairs(self, slopes: Slopes, usable: NDArray[np.bool_], n_new: int) -> list[Formula]:
        tests = np.flatnonzero(usable[self._column_of])
        if len(tests) > _N_PAIRED:
            gains = self.gains(slopes, self.bits.T)[tests]
            order = np.argsort(-gains, kind="stable")
            rest = order[_N_PAIRED:]
            some = self._rng.choice(rest, min(len(rest), _N_PAIRED // 2), replace=False)
            tests = tests[np.sort(np.concatenate([order[:_N_PAIRED], some]))]
        bits, first, second = self.bits[:, tests], slopes.first, slopes.second
        if len(bits) > _PAIR_ROWS:
            rows = np.sort(self._rng.choice(len(bits), _PAIR_ROWS, replace=False))
            bits, first, second = bits[rows], first[rows], second[rows]
        paired = _pair_gains(bits, first, second, self.caution)
        paired[:, *np.tril_indices(len(tests))] = -1
        if self._limits is not None:
            paired[~self._limits.pairs(tests)] = -1
        # Two tests of which one implies the other are a single test, or constant.
        order = np.argsort(-paired, axis=None, kind="stable")[: 20 * n_new]
        new: list[Formula] = []
        of_columns: dict[tuple[int, int], int] = {}
        for place in order.tolist():
            way, a, b = np.unravel_index(place, paired.shape)
            pair = both(
                Step(False, int(tests[a]), bool(way & 2)), Step(False, int(tests[b]), bool(way & 1))
            )
            columns = (int(self._column_of[tests[a]]), int(self._column_of[tests[b]]))
            if paired[way, a, b] <= 0 or of_columns.get(columns, 0) >= _PAIRS_OF_COLUMNS:
                continue
            if self._adds_something((pair[0],), pair) and self.add(pair):
                of_columns[columns] = of_columns.get(columns, 0) + 1
                new.append(pair)
                if len(new) == n_new:
                    break
        return new


def _doubled(table: NDArray[Cell]) -> NDArray[Cell]:
    """Return a table with as many rows again, which are not filled in."""
    return np.concatenate([table, np.empty_like(table)])


def _gain(
    first: NDArray[np.float32], second: NDArray[np.float32], slopes: Slopes, caution: float
) -> Floats:
    """Estimate the fall of the loss by one Newton step of a rule's votes and of the base votes."""
    total = float(slopes.second.sum())
    curve = np.maximum(second - second * second / max(total, 1e-12), 0.0) + caution * total + 1e-9
    gain: Floats = (first.astype(np.float64) ** 2).sum(axis=1) / (2.0 * curve)
    return gain


def _pair_gains(
    bits: NDArray[np.float32],
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    caution: float,
) -> NDArray[np.float32]:
    """Estimate the gain of a∧b, a∧¬b, ¬a∧b and ¬a∧¬b (4, n, n) for all pairs of tests."""
    n_tests = bits.shape[1]
    total = max(float(second.sum()), 1e-12)
    gains = np.zeros((4, n_tests, n_tests), dtype=np.float32)
    for place in range(first.shape[1]):
        for way, sums in enumerate(_four_ways(bits, first[:, place])):
            gains[way] += sums * sums
    for way, sums in enumerate(_four_ways(bits, second)):
        curve = np.maximum(sums - sums * sums / total, 0.0) + caution * total + 1e-9
        gains[way] /= 2.0 * curve
    return gains


def _four_ways(
    bits: NDArray[np.float32], values: NDArray[np.float32]
) -> tuple[NDArray[np.float32], ...]:
    """Sum values over the rows of each of the four combinations of all pairs of tests."""
    together = (bits * values[:, None]).T @ bits
    own = together.diagonal()
    a, b = own[:, None], own[None, :]
    ways = together, a - together, b - together, values.sum() - a - b + together
    return tuple(way.astype(np.float32, copy=False) for way in ways)
