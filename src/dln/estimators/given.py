"""The parameters `rules` and `soft_rules`: text or a circuit -> rules that a fit starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dln._util.messages import list_names, no_such_name, type_name
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.literals import Column
from dln.core.locked import split_locked
from dln.core.obedience import find_breach
from dln.core.readout import Votes
from dln.encode.encoder import columns_of
from dln.errors import OptionError
from dln.language.rules import read_rules
from dln.paths.given import GivenRules
from dln.train.given import with_columns
from dln.train.problem import Problem


def check_rules(rules: Any, name: str = "rules") -> None:
    """Raise `OptionError` for anything but text, a circuit or None."""
    if rules is not None and not isinstance(rules, (str, Circuit)):
        raise OptionError(
            f"{name} is {type_name(rules)}, expected text as dln rules prints it, or a Circuit"
        )


def read_given(
    rules: str | Circuit | None,
    problem: Problem,
    name: str = "rules",
    columns: tuple[Column, ...] | None = None,
    constraints: Constraints | None = None,
) -> GivenRules | None:
    """Read given rules for a table; raises an error of one line if they do not fit it.

    A circuit gives its locked rules, or all its rules if none is locked. `columns` are those of the
    table, if they are known. The rules must keep the constraints.
    """
    if rules is None:
        return None
    columns = columns or columns_of(problem.table)
    unit = None
    if isinstance(rules, str):
        circuit = read_rules(rules, columns, problem.classes)
    else:
        circuit = _for_table(rules, columns, problem)
        if rules.temperature != 1.0:  # a trained circuit tells what its votes are worth
            unit = 1.0 / rules.temperature
    if any(circuit.base_votes):
        raise OptionError(
            f'{name} gives votes that hold "always"; these are learned, so leave the line out'
        )
    if not circuit.rules:
        raise OptionError(f"{name} has no rule; leave it out, or give at least one")
    if constraints is not None:
        breach = find_breach(constraints, circuit.logic, circuit.rules, circuit.readout.outputs)
        if breach is not None:
            raise OptionError(
                f"{name} breaks a constraint: {breach}; change the rule or leave out the constraint"
            )
    return GivenRules(circuit, unit)


def _for_table(circuit: Circuit, columns: tuple[Column, ...], problem: Problem) -> Circuit:
    """Return the locked rules of a circuit, or all, over the columns and classes of a table."""
    readout = circuit.class_readout
    if set(readout.classes) != set(problem.classes):
        raise OptionError(
            f"the given rules are for the classes {list_names(map(repr, readout.classes))}, but "
            f"the rows have {list_names(map(repr, problem.classes))}"
        )
    everything = replace(circuit, locked=tuple(range(len(circuit.rules))))
    _, locked = split_locked(circuit if circuit.locked else everything)
    order = [readout.classes.index(label) for label in problem.classes]
    rules = tuple(
        rule._replace(votes=tuple(rule.votes[place] for place in order)) for rule in locked.rules
    )
    alone = Circuit(logic=locked.logic, readout=Votes(rules, (0,) * len(order), problem.classes))
    return with_columns(alone, _extended(columns, alone))


def _extended(columns: Sequence[Column], circuit: Circuit) -> tuple[Column, ...]:
    """Add the categories that a circuit knows to the columns of a table."""
    known = {column.name: column for column in circuit.columns}
    places = {column.name for column in columns}
    for index in circuit.logic.used_columns:
        column = circuit.columns[index]
        if column.name not in places:
            raise OptionError(no_such_name("column", column.name, [each.name for each in columns]))
    found = []
    for column in columns:
        own = known.get(column.name, column)
        if own.is_numeric != column.is_numeric:
            raise OptionError(
                f"column {column.name!r} is of kind {column.kind!r} in the table, but of kind "
                f"{own.kind!r} in the given rules"
            )
        more = tuple(each for each in own.categories if each not in column.categories)
        found.append(replace(column, categories=(*column.categories, *more)))
    return tuple(found)
