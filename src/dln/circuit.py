"""Circuit: the immutable trained result that everything downstream reads.

A row becomes bits (literals), bits pass through two-input gates, and each rule whose wire is 1
gives its votes to the classes. The class with the most votes wins; **ties go to the first class**,
here and in everything that is made from a circuit. A circuit stands alone: cutoffs are in the
user's units, columns and classes have the user's names.

Promise: a Circuit that exists is valid. What breaks the rules is refused when it is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.errors import CircuitError
from dln.explain.text import render_rules
from dln.gates import Gate
from dln.labels import Label, label_array
from dln.literals import COLUMN_KINDS, Above, Among, Column, Literal
from dln.predict import Predictor
from dln.store import read_circuit_file, write_circuit_file

MAX_VOTES = 2**31 - 1
"""Votes of a class stay below this, in every engine and export."""


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
    n_literals = len(circuit.literals)
    for wire, (gate, a, b) in enumerate(circuit.nodes, start=n_literals):
        if not isinstance(gate, Gate):
            raise CircuitError(f"gate {wire - n_literals} is {gate!r}, expected a Gate")
        if not (_is_index(a, wire) and _is_index(b, wire)):
            raise CircuitError(
                f"gate {wire - n_literals} (wire {wire}) reads wires {a} and {b}; "
                f"it may read only wires 0 to {wire - 1}"
            )
    _check_votes(circuit)


def _check_columns(columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    for column in columns:
        if not isinstance(column.name, str):
            raise CircuitError(f"column name {column.name!r} is not text")
        if column.kind not in COLUMN_KINDS:
            raise CircuitError(f"column {column.name!r} is of unknown kind {column.kind!r}")
        if column.categories and column.kind != "category":
            raise CircuitError(f"column {column.name!r} holds {column.kind}s but has categories")
        if len(set(column.categories)) != len(column.categories):
            raise CircuitError(f"column {column.name!r} lists a category twice")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CircuitError(f"two columns are named {twice!r}; names must differ")


def _check_literal(literal: Literal, columns: Sequence[Column], where: str) -> None:
    if not _is_index(literal.column, len(columns)):
        raise CircuitError(f"{where} reads column {literal.column}; there are {len(columns)}")
    column = columns[literal.column]
    if isinstance(literal, Above):
        if not column.is_numeric:
            raise CircuitError(f"{where} compares {column.name!r}, which holds categories")
        if not isinstance(literal.cutoff, float) or not math.isfinite(literal.cutoff):
            raise CircuitError(f"{where} has cutoff {literal.cutoff!r}, expected a finite float")
    elif isinstance(literal, Among):
        if column.is_numeric:
            raise CircuitError(f"{where} matches categories of {column.name!r}, a {column.kind}")
        if not literal.categories or len(set(literal.categories)) != len(literal.categories):
            raise CircuitError(f"{where} must list at least one category, each once")
        if not all(_is_index(index, len(column.categories)) for index in literal.categories):
            raise CircuitError(
                f"{where} lists category {max(literal.categories, key=abs)}; "
                f"{column.name!r} has {len(column.categories)}"
            )


def _check_votes(circuit: Circuit) -> None:
    n_classes = len(circuit.classes)
    if n_classes == 0:
        raise CircuitError("a circuit needs at least one class")
    if len(set(circuit.classes)) != n_classes:
        raise CircuitError("a class is listed twice")
    if len(circuit.base_votes) != n_classes:
        raise CircuitError(f"{len(circuit.base_votes)} base votes for {n_classes} classes")
    totals = [0] * n_classes
    for wire, votes in [(0, circuit.base_votes), *circuit.rules]:
        if len(votes) != n_classes:
            raise CircuitError(f"a rule has {len(votes)} votes for {n_classes} classes")
        for index, vote in enumerate(votes):
            if type(vote) is not int:
                raise CircuitError(f"vote {vote!r} is not an integer")
            totals[index] += abs(vote)
    if max(totals) > MAX_VOTES:
        raise CircuitError(f"a class can get {max(totals)} votes, at most {MAX_VOTES} are allowed")
    for wire, _ in circuit.rules:
        if not _is_index(wire, circuit.n_wires):
            raise CircuitError(f"a rule reads wire {wire}; there are {circuit.n_wires} wires")
    if not (isinstance(circuit.temperature, float) and 0 < circuit.temperature < math.inf):
        raise CircuitError(f"temperature is {circuit.temperature!r}, expected a positive float")


def _is_index(value: object, size: int) -> bool:
    return type(value) is int and 0 <= value < size
