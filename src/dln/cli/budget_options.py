"""The options that limit the size of a circuit -> parameters of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer

from dln.cli.option_groups import takes
from dln.cli.options import parameter
from dln.errors import OptionError

Limits = Mapping[str, Any]
"""The limits that are given, by parameter."""

NO_LIMITS: Limits = MappingProxyType({})


def _options(
    max_rules: Annotated[
        int | None, parameter("max_rules", metavar="N", show_default=False)
    ] = None,
    max_literals: Annotated[
        int | None, parameter("max_literals", metavar="N", show_default=False)
    ] = None,
    max_literals_per_rule: Annotated[
        int | None, parameter("max_literals_per_rule", metavar="N", show_default=False)
    ] = None,
    max_columns: Annotated[
        int | None, parameter("max_columns", metavar="N", show_default=False)
    ] = None,
    column_cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=COST", help="Cost of measuring a column. Others are free. Repeatable."
        ),
    ] = None,
    max_cost: Annotated[
        float | None, parameter("max_cost", metavar="COST", show_default=False)
    ] = None,
) -> Limits:
    limits = {
        "max_rules": max_rules,
        "max_literals": max_literals,
        "max_literals_per_rule": max_literals_per_rule,
        "max_columns": max_columns,
        "column_costs": _read_costs(column_cost),
        "max_cost": max_cost,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


takes_limits = takes("limits", _options)
"""Replace the parameter `limits` of a command by the options of a budget."""


def _read_costs(given: list[str] | None) -> dict[str, float] | None:
    """Read COLUMN=COST; the estimator checks the names and the numbers."""
    if not given:
        return None
    costs = {}
    for text in given:
        name, found, cost = text.rpartition("=")
        try:
            costs[name] = float(cost)
        except ValueError:
            found = ""
        if not found:
            raise OptionError(
                f"--column-cost is {text!r}, expected a column and its cost, such as age=5"
            )
    return costs
