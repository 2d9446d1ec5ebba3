"""Rules that are given: the search for small circuits learns the others around them.

For classes, the worth of one vote is chosen first, so that the given rules fit the rows best. All
learned votes are then worth the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dln._util.messages import count_of
from dln.core.circuit import Circuit
from dln.data.table import Table
from dln.errors import OptionError
from dln.paths.budget import Budget
from dln.paths.loss import ClassLoss, Floats
from dln.paths.searches import MOST_LITERALS, longest, most_literals
from dln.paths.size import Size, measure_size
from dln.train.given import Given
from dln.train.number_loss import NumberLoss
from dln.train.problem import NumberProblem, Problem
from dln.train.soft_amounts import learn_soft_amounts
from dln.train.soft_conditions import fires_of
from dln.train.soft_votes import learn_soft_votes

_UNITS = 2.0 ** np.arange(-2.0, 0.01, 0.5)
"""What one vote may be worth, in log odds.

With larger units, rounding to whole votes would lose too much; with smaller ones, learned rules
would need many votes.
"""


@dataclass(frozen=True)
class StatedRules:
    """Rules alone, as people stated them: locked ones, and soft ones, which are learned from rows.

    Each search learns the soft rules from its own rows, so that nothing leaks into validation.
    """

    locked: Circuit | None = None
    soft: Circuit | None = None

    def check_budget(self, budget: Budget) -> None:
        """Raise `OptionError` if a budget is below what the locked rules, or a soft one, need."""
        if not budget.is_limited:
            return
        if self.locked is not None:
            _check_budget(measure_size(self.locked), budget, "the given rules need")
        given = None if self.locked is None else Given(self.locked)
        for place in range(0 if self.soft is None else len(self.soft.rules)):
            size = measure_size(_with_soft(given, self.soft, [place]).circuit)
            need = "the given rules and one of the soft rules need"
            _check_budget(size, budget, need if given else "one of the soft rules needs")

    def with_votes(self, problem: Problem, budget: Budget) -> Given | None:
        """Learn the soft rules from rows with classes."""

        def learn(soft: Circuit, given: Given | None) -> Circuit:
            unit = float(_UNITS[0])
            if given is None:
                return learn_soft_votes(soft, problem, unit)
            weight = problem.weight.astype(np.float64)
            loss = ClassLoss(problem.target, weight / weight.sum(), len(problem.classes))
            unit = best_unit(loss, votes_of(given, problem.table, loss.n_outputs))
            before = unit * given.votes(problem.table)
            return learn_soft_votes(soft, replace(problem, given=before), unit)

        return self._learned(learn, problem, budget)

    def with_amounts(
        self, problem: NumberProblem, loss: NumberLoss, budget: Budget
    ) -> Given | None:
        """Learn the soft rules from rows with numbers."""

        def learn(soft: Circuit, given: Given | None) -> Circuit:
            before = None if given is None else given.scores(problem.table)
            return learn_soft_amounts(soft, replace(problem, given=before), loss)

        return self._learned(learn, problem, budget)

    def _learned(
        self,
        learn: Callable[[Circuit, Given | None], Circuit],
        problem: Problem | NumberProblem,
        budget: Budget,
    ) -> Given | None:
        """Learn the soft rules, and add them to the locked ones as far as the budget allows.

        The rules that matter most come first: those that move the points of rows most.
        """
        given = None if self.locked is None else Given(self.locked)
        if self.soft is None:
            return given
        soft = learn(self.soft, given)
        if not budget.is_limited:
            return _with_soft(given, soft, list(range(len(soft.rules)))) if soft.rules else given
        moves = fires_of(soft, problem.table).std(axis=0)
        moves = moves * [np.ptp((0, *rule.votes)) for rule in soft.rules]
        kept: list[int] = []
        for place in np.argsort(-moves, kind="stable").tolist():
            tried = sorted([*kept, place])
            if budget.allows(measure_size(_with_soft(given, soft, tried).circuit)):
                kept = tried
        return _with_soft(given, soft, kept) if kept else given


def _with_soft(given: Given | None, soft: Circuit | None, places: list[int]) -> Given:
    """Add some soft rules to locked ones."""
    assert soft is not None
    rules = tuple(soft.rules[place] for place in places)
    some = replace(soft, readout=soft.readout.with_rules(rules, soft.base_votes))
    return Given(some, 0) if given is None else given.with_soft(some)


def _check_budget(size: Size, budget: Budget, need: str) -> None:
    cost = size.cost(budget.column_costs)
    needed = {
        "max_rules": (size.n_rules, count_of(size.n_rules, "rule")),
        "max_literals": (size.n_literals, count_of(size.n_literals, "literal")),
        "max_literals_per_rule": (size.longest, count_of(size.longest, "literal") + " in one rule"),
        "max_columns": (size.n_columns, count_of(size.n_columns, "column")),
        "max_cost": (cost, f"columns that cost {cost:g}"),
    }
    for name, (number, text) in needed.items():
        limit = getattr(budget, name)
        if limit is not None and number > limit:
            raise OptionError(
                f"{name} is {limit:g}, but {need} {text}; raise the limit, or give fewer rules"
            )


def most_left(budget: Budget, given: Given | None) -> int:
    """Return the number of literals that may be learned beside given rules."""
    if given is None:
        return most_literals(budget)
    size = measure_size(given.circuit)
    left = None if budget.max_rules is None else budget.max_rules - size.n_rules
    by_rules = MOST_LITERALS if left is None else left * longest(budget)
    return min(MOST_LITERALS, by_rules, (budget.max_literals or MOST_LITERALS) - size.n_literals)


def votes_of(given: Given, table: Table, n_outputs: int) -> Floats:
    """Return the votes of given rules on rows, (n_rows, n_outputs); leads if there is one."""
    votes = given.votes(table)
    return votes[:, 1:] - votes[:, :1] if n_outputs == 1 else votes


def best_unit(loss: ClassLoss, scores: Floats) -> float:
    """Return what one vote of the given rules is worth: the unit that suits the rows best."""
    constant = np.ones((len(scores), 1))

    def total(unit: float) -> float:
        around = replace(loss, start=unit * scores)
        base = around.fit(constant, np.zeros((1, loss.n_outputs)), 6)
        return around.total(constant @ base, base)

    return float(min(_UNITS.tolist(), key=total))
