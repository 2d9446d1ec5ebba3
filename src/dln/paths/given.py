"""Rules that are given: the search for small circuits learns the others around them.

For classes, the worth of one vote is chosen first, so that the given rules fit the rows best. All
learned votes are then worth the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dln._util.messages import count_of
from dln.data.table import Table
from dln.errors import OptionError
from dln.paths.budget import Budget
from dln.paths.loss import ClassLoss, Floats
from dln.paths.searches import MOST_LITERALS, longest, most_literals
from dln.paths.size import measure_size
from dln.train.given import Given

_UNITS = 2.0 ** np.arange(-2.0, 0.01, 0.5)
"""What one vote may be worth, in log odds.

With larger units, rounding to whole votes would lose too much; with smaller ones, learned rules
would need many votes.
"""


def check_budget(given: Given, budget: Budget) -> None:
    """Raise `OptionError` if the budget is below what given rules need."""
    size = measure_size(given.circuit)
    needed = {
        "max_rules": (size.n_rules, count_of(size.n_rules, "rule")),
        "max_literals": (size.n_literals, count_of(size.n_literals, "literal")),
        "max_literals_per_rule": (size.longest, count_of(size.longest, "literal") + " in one"),
        "max_columns": (size.n_columns, count_of(size.n_columns, "column")),
        "max_cost": (size.cost(budget.column_costs), "columns of this cost"),
    }
    for name, (number, text) in needed.items():
        limit = getattr(budget, name)
        if limit is not None and number > limit:
            raise OptionError(
                f"{name} is {limit:g}, but the given rules need {number:g} ({text}); "
                "raise the limit or give fewer rules"
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
