"""Circuit: the immutable trained result that everything downstream reads.

A row becomes bits (literals), bits pass through two-input gates, and each rule whose wire is 1
gives its votes to the classes. The class with the most votes wins; **ties go to the first class**,
here and in everything that is made from a circuit. A circuit stands alone: cutoffs are in the
user's units, columns and classes have the user's names.

Promise: a Circuit that exists is valid. What breaks the rules is refused when it is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dln.errors import CircuitError
from dln.explain.text import render_rules
from dln.gates import GATE_BY_NAME, Gate
from dln.labels import Label, is_label, label_array
from dln.literals import COLUMN_KINDS, Above, Among, Column, Literal, Missing
from dln.predict import Predictor
from dln.store import read_circuit_file, write_circuit_file

MAX_VOTES = 2**31 - 1
"""Votes of a class, without their signs, add up to no more: they fit in 32 bits everywhere."""

_T = TypeVar("_T")


class Node(NamedTuple):
    """A gate placed in a circuit, with the two wires that it reads."""

    gate: Gate
    a: int
    b: int


class Rule(NamedTuple):
    """A wire and the votes that it gives to each class when it is 1."""

    wire: int
    votes: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Circuit:
    """A discrete classifier made of literals, two-input gates and votes.

    Wires are numbered once: literals first, then nodes; a node reads only smaller wires.

    Parameters
    ----------
    columns
        The columns of the table, in its order, read or not.
    literals
        Bits computed from a row.
    nodes
        Gates with their two source wires, in topological order.
    rules
        Wires that vote.
    base_votes
        Votes that each class has before any rule fires.
    classes
        Class labels, in the order that decides ties.
    temperature
        Divides the votes before the softmax of `predict_proba`.

    Examples
    --------
    >>> from dln.gates import GATE_BY_NAME
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
    ...     rules=(Rule(2, (0, 1)),),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> circuit.predict([[60, True], [60, False]]).tolist()
    ['ill', 'healthy']
    >>> print(circuit)
    Most votes win; a tie goes to healthy.
    healthy: no votes
    ill:
      +1  age > 54 and smoker
    """

    columns: tuple[Column, ...]
    literals: tuple[Literal, ...]
    nodes: tuple[Node, ...]
    rules: tuple[Rule, ...]
    base_votes: tuple[int, ...]
    classes: tuple[Label, ...]
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for name in ("columns", "literals", "nodes", "rules", "base_votes", "classes"):
            # A list could be changed behind the circuit's back.
            object.__setattr__(self, name, tuple(getattr(self, name)))
        _check(self)

    # -- size ---------------------------------------------------------------------------------

    @property
    def n_literals(self) -> int:
        """How many bits are computed from a row."""
        return len(self.literals)

    @property
    def n_gates(self) -> int:
        """How many gates the circuit has."""
        return len(self.nodes)

    @property
    def n_wires(self) -> int:
        """How many wires there are: literals and gates."""
        return len(self.literals) + len(self.nodes)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    # -- prediction ---------------------------------------------------------------------------

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Count the votes of each row.

        Parameters
        ----------
        X
            pandas or polars frame (columns are found by name), NumPy array or list of rows
            (columns are found by position). Missing cells (NaN, None, NA) are above no cutoff
            and match no category; unknown categories match nothing.

        Returns
        -------
        votes : (n_rows, n_classes)
        """
        return self._predictor.votes(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class with the most votes for each row; ties go to the first class."""
        return self._predictor.predict(X)

    def winners(self, X: Any) -> NDArray[np.int64]:
        """Give the number of the class with the most votes for each row."""
        return self._predictor.winners(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the softmax of votes / temperature: (n_rows, n_classes), monotone in the margin."""
        return self._predictor.predict_proba(X)

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self)

    @cached_property
    def class_labels(self) -> NDArray[Any]:
        """The class labels as an array."""
        return label_array(self.classes)

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the circuit as JSON; a file of that name is replaced only by a whole new one."""
        write_circuit_file(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Circuit:
        """Read a circuit back; raises `CircuitFileError` for anything but a valid file."""
        return read_circuit_file(path)

    # -- faces --------------------------------------------------------------------------------

    def __str__(self) -> str:
        return render_rules(self)

    def __repr__(self) -> str:
        return (
            f"<Circuit: {self.n_literals} literals, {self.n_gates} gates, "
            f"{len(self.rules)} rules, {self.n_classes} classes>"
        )

    def __getstate__(self) -> dict[str, Any]:
        # Only the fields: what is derived is made again, natively, where the pickle is read.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _check(circuit: Circuit) -> None:
    _check_columns(circuit.columns)
    for index, literal in enumerate(circuit.literals):
        _check_literal(literal, circuit.columns, f"literal {index}")
    _check_nodes(circuit)
    _check_classes(circuit.classes)
    _check_rules(circuit)
    if not (isinstance(circuit.temperature, float) and 0 < circuit.temperature < math.inf):
        raise CircuitError(f"temperature is {circuit.temperature!r}, expected a positive float")


def _check_columns(columns: tuple[Column, ...]) -> None:
    for index, column in enumerate(columns):
        if not isinstance(column, Column) or not isinstance(column.name, str):
            raise CircuitError(f"column {index} is {column!r}, expected a Column with a text name")
        if column.kind not in COLUMN_KINDS:
            raise CircuitError(
                f"column {column.name!r} is of kind {column.kind!r}, "
                f"expected one of {', '.join(COLUMN_KINDS)}"
            )
        _check_categories(column)
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


def _check_literal(literal: Literal, columns: tuple[Column, ...], where: str) -> None:
    if not isinstance(literal, (Above, Among, Missing)):
        raise CircuitError(f"{where} is {literal!r}, expected Above, Among or Missing")
    if not _is_index(literal.column, len(columns)):
        raise CircuitError(
            f"{where} reads column {literal.column!r}; there are {len(columns)}, numbered from 0"
        )
    column = columns[literal.column]
    if isinstance(literal, Above):
        if not column.is_numeric:
            raise CircuitError(
                f"{where} compares column {column.name!r}, which holds categories, with a cutoff"
            )
        if not isinstance(literal.cutoff, float) or not math.isfinite(literal.cutoff):
            raise CircuitError(f"{where} has cutoff {literal.cutoff!r}, expected a finite float")
    elif isinstance(literal, Among):
        if column.is_numeric:
            raise CircuitError(
                f"{where} looks for categories in column {column.name!r}, "
                f"which is of kind {column.kind!r}"
            )
        _check_choice(literal.categories, column, where)


def _check_choice(choice: tuple[int, ...], column: Column, where: str) -> None:
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


def _check_nodes(circuit: Circuit) -> None:
    n_literals = circuit.n_literals
    for wire, node in enumerate(circuit.nodes, start=n_literals):
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


def _check_classes(classes: tuple[Label, ...]) -> None:
    if not classes:
        raise CircuitError("the circuit has no class, expected at least one")
    for label in classes:
        if not is_label(label):
            raise CircuitError(f"class label {label!r} is not text, a number, a boolean or a date")
    twice = _find_twin(classes)
    if twice is not None:
        raise CircuitError(f"class {twice!r} is listed twice")


def _check_rules(circuit: Circuit) -> None:
    _check_votes(circuit.base_votes, circuit.n_classes, "base_votes")
    totals = [abs(vote) for vote in circuit.base_votes]
    for index, rule in enumerate(circuit.rules):
        if not isinstance(rule, Rule):
            raise CircuitError(f"rule {index} is {rule!r}, expected a Rule")
        if not _is_index(rule.wire, circuit.n_wires):
            raise CircuitError(
                f"rule {index} reads wire {rule.wire!r}; "
                f"there are {circuit.n_wires}, numbered from 0"
            )
        _check_votes(rule.votes, circuit.n_classes, f"rule {index}")
        totals = [total + abs(vote) for total, vote in zip(totals, rule.votes, strict=True)]
    if max(totals) > MAX_VOTES:
        raise CircuitError(
            f"the votes for class {circuit.classes[totals.index(max(totals))]!r} may add up to "
            f"{max(totals)}, at most {MAX_VOTES} are allowed"
        )


def _check_votes(votes: tuple[int, ...], n_classes: int, where: str) -> None:
    if not isinstance(votes, tuple) or len(votes) != n_classes:
        raise CircuitError(f"{where} has votes {votes!r}, expected a tuple of {n_classes}")
    for vote in votes:
        if type(vote) is not int:
            raise CircuitError(f"{where} has the vote {vote!r}, expected a plain integer")


def _is_index(value: object, size: int) -> bool:
    return type(value) is int and 0 <= value < size


def _find_twin(values: Iterable[_T]) -> _T | None:
    """Find the first value that equals one before it."""
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
