"""Rules that are given: the search learns the others around them.

Given rules keep their conditions and votes. What one vote is worth is chosen first, as it suits the
given rules best. All learned votes are then worth the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

import numpy as np

from dln._util.messages import count_of
from dln.core.circuit import Circuit
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.locked import join_locked
from dln.data.table import Table
from dln.errors import OptionError
from dln.paths.budget import Budget
from dln.paths.loss import ClassLoss, Floats
from dln.paths.size import Size, measure_size

_UNITS = 2.0 ** np.arange(-2.0, 0.01, 0.5)
"""What one vote may be worth, in log odds.

With larger units, rounding to whole votes would lose too much; with smaller ones, learned rules
would need many votes.
"""


@dataclass(frozen=True)
class GivenRules:
    """Rules that stay as they are; `circuit` has no other rules and no base votes."""

    circuit: Circuit

    @cached_property
    def size(self) -> Size:
        """What the reader has to read anyway."""
        return measure_size(self.circuit)

    @property
    def places(self) -> list[int]:
        """The numbers of the columns that they read."""
        used = self.circuit.logic.cone(self.circuit.readout.wires)
        n_literals = self.circuit.n_literals
        return sorted({self.circuit.literals[wire].column for wire in used if wire < n_literals})

    def scores(self, table: Table, n_outputs: int) -> Floats:
        """Return what they say about rows, in votes: (n_rows, n_outputs)."""
        votes = self.circuit.votes(table).astype(np.float64)
        return votes[:, 1:] - votes[:, :1] if n_outputs == 1 else votes

    def join(self, learned: Circuit) -> Circuit:
        """Add them, locked, to a learned circuit."""
        return join_locked(with_columns(learned, self.circuit.columns), self.circuit)

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


def with_columns(circuit: Circuit, columns: Sequence[Column]) -> Circuit:
    """Return a circuit that reads other columns of the same names, which have its categories."""
    places = {column.name: place for place, column in enumerate(columns)}

    def moved(literal: Literal) -> Literal:
        own = circuit.columns[literal.column]
        place = places[own.name]
        match literal:
            case Above() | Missing():
                return replace(literal, column=place)
            case Among(_, chosen):
                known = columns[place].categories
                return Among(place, tuple(known.index(own.categories[each]) for each in chosen))
            case _:
                assert_never(literal)

    literals = tuple(map(moved, circuit.literals))
    logic = replace(circuit.logic, columns=tuple(columns), literals=literals)
    return replace(circuit, logic=logic)
