"""The rules that every circuit keeps, checked by the constructors of its parts.

Wires point backwards, literals fit their columns, votes fit their classes, nothing is listed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar, assert_never

from dln.core.calibration import Calibration
from dln.core.gates import GATE_BY_NAME, Gate
from dln.core.labels import Label, is_label
from dln.core.literals import COLUMN_KINDS, Above, Among, Column, Literal, Missing
from dln.core.parts import MAX_VOTES, Node, Rule
from dln.errors import CircuitError

_T = TypeVar("_T")


def check_columns(columns: tuple[Column, ...]) -> None:
    """Raise `CircuitError` for the first column that is not valid."""
    for index, column in enumerate(columns):
        if not isinstance(column, Column) or not isinstance(column.name, str):
            raise CircuitError(f"column {index} is {column!r}, expected a Column with a text name")
        if column.kind not in COLUMN_KINDS:
            raise CircuitError(
                f"column {column.name!r} is of kind {column.kind!r}, "
                f"expected one of {', '.join(COLUMN_KINDS)}"
            )
        _check_categories(column)
        if type(column.binary) is not bool:
            raise CircuitError(
                f"column {column.name!r} has binary {column.binary!r}, expected True or False"
            )
        if type(column.immutable) is not bool:
            raise CircuitError(
                f"column {column.name!r} has immutable {column.immutable!r}, expected True or False"
            )
        if column.binary and column.kind not in ("number", "integer"):
            raise CircuitError(
                f"column {column.name!r} is of kind {column.kind!r} and cannot be binary; "
                "only columns of kind 'number' or 'integer' can"
            )
    twice = _find_twin(column.name for column in columns)
    if twice is not None:
        raise CircuitError(f"two columns are named {twice!r}; names must differ")


def _check_categories(column: Column) -> None:
    if not isinstance(column.categories, tuple):
        raise CircuitError(f"the categories of column {column.name!r} are not in a tuple")
    if column.categories and column.is_numeric:
        raise CircuitError(
            f"column {column.name!r} has categories, but is of kind {column.kind!r}; "
            "only columns of kind 'category' have them"
        )
    for category in column.categories:
        if not isinstance(category, (str, bool, int, float)) or category != category:
            raise CircuitError(
                f"column {column.name!r} has category {category!r}, "
                "expected text, a number or a boolean"
            )
    twice = _find_twin(column.categories)
    if twice is not None:
        raise CircuitError(f"column {column.name!r} lists category {twice!r} twice")


def check_literals(literals: tuple[Literal, ...], columns: tuple[Column, ...]) -> None:
    """Raise `CircuitError` for the first literal that does not fit its column."""
    for index, literal in enumerate(literals):
        _check_literal(literal, columns, f"literal {index}")


def _check_literal(literal: Literal, columns: tuple[Column, ...], where: str) -> None:
    if not isinstance(literal, Literal):
        raise CircuitError(f"{where} is {literal!r}, expected Above, Among or Missing")
    if not _is_index(literal.column, len(columns)):
        raise CircuitError(
            f"{where} reads column {literal.column!r}; there are {len(columns)}, numbered from 0"
        )
    column = columns[literal.column]
    match literal:
        case Above():
            _check_cutoff(literal.cutoff, column, where)
        case Among():
            _check_choice(literal.categories, column, where)
        case Missing():
            pass
        case _:
            assert_never(literal)


def _check_cutoff(cutoff: float, column: Column, where: str) -> None:
    if not column.is_numeric:
        raise CircuitError(
            f"{where} compares column {column.name!r}, which holds categories, with a cutoff"
        )
    if not isinstance(cutoff, float) or not math.isfinite(cutoff):
        raise CircuitError(f"{where} has cutoff {cutoff!r}, expected a finite float")


def _check_choice(choice: tuple[int, ...], column: Column, where: str) -> None:
    if column.is_numeric:
        raise CircuitError(
            f"{where} looks for categories in column {column.name!r}, "
            f"which is of kind {column.kind!r}"
        )
    if not isinstance(choice, tuple) or not choice:
        raise CircuitError(f"{where} has categories {choice!r}, expected a tuple of at least one")
    for index in choice:
        if not _is_index(index, len(column.categories)):
            raise CircuitError(
                f"{where} lists category {index!r}; column {column.name!r} has "
                f"{len(column.categories)}, numbered from 0"
            )
    twice = _find_twin(choice)
    if twice is not None:
        raise CircuitError(f"{where} lists category {twice} twice")


def check_nodes(nodes: tuple[Node, ...], n_literals: int) -> None:
    """Raise `CircuitError` for the first node that is not a gate of two smaller wires."""
    for wire, node in enumerate(nodes, start=n_literals):
        if not (isinstance(node, Node) and _is_gate(node.gate)):
            raise CircuitError(
                f"gate {wire - n_literals} is {node!r}, expected a Node with one of the 16 gates"
            )
        if not (_is_index(node.a, wire) and _is_index(node.b, wire)):
            raise CircuitError(
                f"gate {wire - n_literals} is wire {wire} and reads wires {node.a!r} and "
                f"{node.b!r}; it may read only wires below its own"
            )


def _is_gate(gate: object) -> bool:
    return isinstance(gate, Gate) and GATE_BY_NAME.get(gate.name) == gate


def check_classes(classes: tuple[Label, ...]) -> None:
    """Raise `CircuitError` for the first class that is not a label, or is listed twice."""
    if not classes:
        raise CircuitError("the circuit has no class, expected at least one")
    for label in classes:
        if not is_label(label):
            raise CircuitError(f"class label {label!r} is not text, a number, a boolean or a date")
    twice = _find_twin(classes)
    if twice is not None:
        raise CircuitError(f"class {twice!r} is listed twice")


def check_points(
    rules: tuple[Rule, ...],
    base_votes: tuple[int, ...],
    n_outputs: int,
    output_name: Callable[[int], str],
) -> None:
    """Raise `CircuitError` for the first rule whose votes do not fit the outputs of a readout.

    `output_name` returns the words for what an output adds up.
    """
    _check_points(base_votes, n_outputs, "base_votes")
    totals = [abs(vote) for vote in base_votes]
    for index, rule in enumerate(rules):
        if not isinstance(rule, Rule):
            raise CircuitError(f"rule {index} is {rule!r}, expected a Rule")
        _check_points(rule.votes, n_outputs, f"rule {index}")
        totals = [total + abs(vote) for total, vote in zip(totals, rule.votes, strict=True)]
    if max(totals) > MAX_VOTES:
        raise CircuitError(
            f"{output_name(totals.index(max(totals)))} may add up to {max(totals)}, "
            f"at most {MAX_VOTES} are allowed"
        )


def check_wires(rules: tuple[Rule, ...], n_wires: int) -> None:
    """Raise `CircuitError` for the first rule that reads a wire that does not exist."""
    for index, rule in enumerate(rules):
        if not _is_index(rule.wire, n_wires):
            raise CircuitError(
                f"rule {index} reads wire {rule.wire!r}; there are {n_wires}, numbered from 0"
            )


def check_locked(locked: tuple[int, ...], n_rules: int) -> None:
    """Raise `CircuitError` unless the places are those of rules, ascending."""
    for place in locked:
        if not _is_index(place, n_rules):
            raise CircuitError(f"locked lists rule {place!r}; there are {n_rules}, numbered from 0")
    if list(locked) != sorted(set(locked)):
        raise CircuitError(f"locked is {locked}, expected ascending numbers of rules")


def check_temperature(temperature: float) -> None:
    """Raise `CircuitError` for anything but a positive float."""
    if not (isinstance(temperature, float) and 0 < temperature < math.inf):
        raise CircuitError(f"temperature is {temperature!r}, expected a positive float")


def check_calibration(calibration: object) -> None:
    """Raise `CircuitError` for anything but a calibration."""
    if not isinstance(calibration, Calibration):
        raise CircuitError(f"calibration is {calibration!r}, expected a Calibration or None")


def _check_points(votes: tuple[int, ...], n_outputs: int, where: str) -> None:
    if not isinstance(votes, tuple) or len(votes) != n_outputs:
        raise CircuitError(f"{where} has votes {votes!r}, expected a tuple of {n_outputs}")
    for vote in votes:
        if type(vote) is not int:
            raise CircuitError(f"{where} has the vote {vote!r}, expected a plain integer")


def _is_index(value: object, size: int) -> bool:
    return type(value) is int and 0 <= value < size


def _find_twin(values: Iterable[_T]) -> _T | None:
    """Find the first value that equals an earlier one."""
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
