"""Rules that are given: the search for small circuits learns the others around them.

The worth of one vote is chosen first, so that the given rules fit the rows best. All learned votes
are then worth the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dln._util.messages import count_of
from dln.data.table import Table
from dln.errors import OptionError
from dln.paths.budget import Budget
from dln.paths.loss import ClassLoss, Floats
from dln.paths.size import Size, measure_size
from dln.train.given import Given

_UNITS = 2.0 ** np.arange(-2.0, 0.01, 0.5)
"""What one vote may be worth, in log odds.

With larger units, rounding to whole votes would lose too much; with smaller ones, learned rules
would need many votes.
"""


@dataclass(frozen=True)
class GivenRules(Given):
    """Given rules, with what a budget has to know of them."""

    @cached_property
    def size(self) -> Size:
        """What the reader has to read anyway."""
        return measure_size(self.circuit)

    def scores(self, table: Table, n_outputs: int) -> Floats:
        """Return what they say about rows, in votes: (n_rows, n_outputs)."""
        votes = self.votes(table)
        return votes[:, 1:] - votes[:, :1] if n_outputs == 1 else votes

    def check_budget(self, budget: Budget) -> None:
        """Raise `OptionError` if the budget is below what they need."""
        size = self.size
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


def best_unit(loss: ClassLoss, scores: Floats) -> float:
    """Return what one vote of the given rules is worth: the unit that suits the rows best."""
    constant = np.ones((len(scores), 1))

    def total(unit: float) -> float:
        around = replace(loss, start=unit * scores)
        base = around.fit(constant, np.zeros((1, loss.n_outputs)), 6)
        return around.total(constant @ base, base)

    return float(min(_UNITS.tolist(), key=total))
