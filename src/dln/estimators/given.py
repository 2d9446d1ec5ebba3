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
from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.core.score import Link, Score
from dln.encode.encoder import columns_of
from dln.errors import OptionError
from dln.language.rules import read_number_rules, read_rules
from dln.language.sums import points_and_digits
from dln.train.given import with_columns
from dln.train.problem import NumberProblem, Problem


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
) -> Circuit | None:
    """Read given rules for a table of classes; raises an error of one line if they do not fit it.

    A circuit gives its locked rules, or all its rules if none is locked. `columns` are those of the
    table, if they are known. The rules must keep the constraints.
    """
    if rules is None:
        return None
    columns = columns or columns_of(problem.table)
    if isinstance(rules, str):
        circuit = read_rules(rules, columns, problem.classes)
    else:
        circuit = _for_classes(rules, columns, problem)
    return _checked(circuit, name, constraints)


def read_given_numbers(
    rules: str | Circuit | None,
    problem: NumberProblem,
    link: Link,
    name: str = "rules",
    columns: tuple[Column, ...] | None = None,
    constraints: Constraints | None = None,
) -> Circuit | None:
    """Read given rules for a table of numbers, as `read_given` does for classes.

    The start of their sum is not kept: it is learned.
    """
    if rules is None:
        return None
    columns = columns or columns_of(problem.table)
    if isinstance(rules, str):
        circuit = read_number_rules(rules, columns, link)
    else:
        circuit = _for_number(rules, columns, link)
    return _checked(circuit, name, constraints)


def _checked(circuit: Circuit, name: str, constraints: Constraints | None) -> Circuit:
    """Return rules alone; raises `OptionError` if there are none, or if they break a constraint."""
    if any(circuit.base_votes):
        raise OptionError(
            f'{name} has the rule "always"; what every row gets is learned, so leave the rule out'
        )
    if not circuit.rules:
        raise OptionError(f"{name} has no rule; leave it out, or give at least one")
    if constraints is not None:
        breach = find_breach(constraints, circuit.logic, circuit.rules, circuit.readout.outputs)
        if breach is not None:
            raise OptionError(
                f"{name} breaks a constraint: {breach}; change the rule or leave out the constraint"
            )
    return circuit


def _for_classes(circuit: Circuit, columns: tuple[Column, ...], problem: Problem) -> Circuit:
    """Return the rules that a circuit gives, over the columns and classes of a table."""
    if circuit.task != "classes":
        raise OptionError(
            "the given rules are those of a number, but the rows have classes; give rules of "
            "classes, or use DLNRegressor"
        )
    readout = circuit.class_readout
    if set(readout.classes) != set(problem.classes):
        raise OptionError(
            f"the given rules are for the classes {list_names(map(repr, readout.classes))}, but "
            f"the rows have {list_names(map(repr, problem.classes))}"
        )
    order = [readout.classes.index(label) for label in problem.classes]
    given = _given_alone(circuit)
    rules = tuple(
        rule._replace(votes=tuple(rule.votes[place] for place in order)) for rule in given.rules
    )
    alone = Circuit(logic=given.logic, readout=Votes(rules, (0,) * len(order), problem.classes))
    return with_columns(alone, _extended(columns, alone))


def _for_number(circuit: Circuit, columns: tuple[Column, ...], link: Link) -> Circuit:
    """Return the rules that a circuit gives, over the columns of a table."""
    if circuit.task != "number":
        raise OptionError(
            "the given rules are those of classes, but the rows have numbers; give rules of a "
            "number, or use DLNClassifier"
        )
    score = circuit.number_readout
    if score.link != link:
        raise OptionError(
            f"the given rules have the link {score.link!r}, but this loss has {link!r}; use the "
            "loss that they were trained with"
        )
    given = _given_alone(circuit)
    amounts = [score.decimal(rule.votes[0]) for rule in given.rules]
    points, digits = points_and_digits(amounts)  # as many decimals as these rules need
    rules = tuple(Rule(rule.wire, (own,)) for rule, own in zip(given.rules, points, strict=True))
    alone = Circuit(logic=given.logic, readout=Score(rules, (0,), digits, link, score.name))
    return with_columns(alone, _extended(columns, alone))


def _given_alone(circuit: Circuit) -> Circuit:
    """Return the locked rules of a circuit alone, or all its rules if none is locked."""
    everything = replace(circuit, locked=tuple(range(len(circuit.rules))))
    return split_locked(circuit if circuit.locked else everything)[1]


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
