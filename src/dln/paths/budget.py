"""Budget: limits on what a reader has to read and on what has to be measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dln._util.messages import list_names
from dln._util.option import check_integer, check_number
from dln.errors import OptionError
from dln.paths.size import Size

MOST = 10**9
"""The largest limit that may be given."""


@dataclass(frozen=True)
class Budget:
    """Hard limits on a circuit; None is no limit. `dln.paths.size` says how each is counted.

    Attributes
    ----------
    max_rules, max_literals, max_literals_per_rule, max_columns
        The most rules, literals, literals in one rule, and columns.
    column_costs
        The cost of measuring a column, by name. Other columns are free.
    max_cost
        The most that all columns of the circuit may cost together.
    """

    max_rules: int | None = None
    max_literals: int | None = None
    max_literals_per_rule: int | None = None
    max_columns: int | None = None
    column_costs: Mapping[str, float] = field(default_factory=dict)
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_rules", "max_literals", "max_literals_per_rule", "max_columns"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, MOST)
        object.__setattr__(self, "column_costs", _read_costs(self.column_costs))
        if self.max_cost is not None:
            check_number("max_cost", self.max_cost, 0, math.inf)
            if not self.column_costs:
                raise OptionError(
                    f"max_cost is {self.max_cost}, but no column has a cost; give column_costs too"
                )
        elif self.column_costs:
            raise OptionError("column_costs is given without max_cost; give the total budget too")

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        limits = (self.max_rules, self.max_literals, self.max_literals_per_rule, self.max_columns)
        return any(limit is not None for limit in (*limits, self.max_cost))

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse costs of columns that the table lacks, and a total that buys no column."""
        unknown = [repr(name) for name in self.column_costs if name not in set(names)]
        if unknown:
            raise OptionError(
                f"column_costs names {list_names(unknown, most=4)}, which the table lacks; its "
                f"columns are {list_names([repr(name) for name in names], most=8)}"
            )
        if self.max_cost is not None and names:
            cheapest = min(names, key=lambda name: self.column_costs.get(name, 0.0))
            cost = self.column_costs.get(cheapest, 0.0)
            if cost > self.max_cost:
                raise OptionError(
                    f"max_cost is {self.max_cost:g}, but the cheapest column, {cheapest!r}, costs "
                    f"{cost:g}; give a larger budget"
                )

    def allows(self, size: Size) -> bool:
        """Check whether a circuit of this size keeps every limit."""
        return (
            size.n_rules <= _limit(self.max_rules)
            and size.n_literals <= _limit(self.max_literals)
            and size.longest <= _limit(self.max_literals_per_rule)
            and size.n_columns <= _limit(self.max_columns)
            and size.cost(self.column_costs) <= _limit(self.max_cost)
        )

    def describe(self) -> str:
        """Write the limits as they are given in Python."""
        names = ("max_rules", "max_literals", "max_literals_per_rule", "max_columns", "max_cost")
        given = {name: getattr(self, name) for name in names}
        return ", ".join(f"{name}={limit:g}" for name, limit in given.items() if limit is not None)


def _limit(limit: float | None) -> float:
    return math.inf if limit is None else limit


def _read_costs(costs: Any) -> Mapping[str, float]:
    if costs is None:
        return MappingProxyType({})
    if not isinstance(costs, Mapping):
        raise OptionError(
            f"column_costs is {costs!r}, expected a dict of column names and their costs"
        )
    for name, cost in costs.items():
        check_number(f"column_costs[{name!r}]", cost, 0, math.inf)
    return MappingProxyType({str(name): float(cost) for name, cost in costs.items()})
