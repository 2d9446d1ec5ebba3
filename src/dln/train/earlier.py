"""An earlier circuit -> the start of a fit on other rows.

Promise: on every row of the new table, the moved circuit gives the votes of the earlier one, times
a constant. Its columns and classes are those of the new table, so that new rules can be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.labels import Label
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.obedience import find_breach
from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.core.score import Link, Score
from dln.data.codes import UNSEEN_CODE, encode_cells, places_of
from dln.data.table import RawColumn, Table
from dln.decisions.points import Floats
from dln.encode.encoder import ColumnCode, Encoder
from dln.errors import ColumnTypeError, OptionError, TableError


@dataclass(frozen=True)
class Earlier:
    """A circuit on another table.

    Attributes
    ----------
    order
        For each class of the new rows, its number in the circuit.
    places
        The place in the new table of each column that the circuit reads, by number.
    """

    circuit: Circuit
    order: tuple[int, ...]
    places: dict[int, int]

    def points(self, table: Table) -> Floats:
        """Return votes / temperature of rows, (n_rows, n_classes)."""
        return self.circuit.votes(table)[:, self.order] / self.circuit.temperature

    def scores(self, table: Table) -> Floats:
        """Return the scores of rows by a circuit that predicts a number, (n_rows,)."""
        return self.circuit.number_readout.scores(self.circuit.votes(table))

    def check(self, columns: tuple[Column, ...], wanted: Constraints) -> None:
        """Raise `OptionError` if a rule of the circuit may break constraints."""
        moved = self.move(columns, 1)
        breach = find_breach(wanted, moved.logic, moved.rules, moved.readout.outputs)
        if breach is not None:
            raise OptionError(
                f"init does not satisfy the constraints: {breach}; leave out init or the constraint"
            )

    def extend(self, encoder: Encoder, cells: NDArray[np.float32]) -> Encoder:
        """Add the circuit's categories to the columns of an encoder; the encoded cells stay."""
        codes = list(encoder.codes)
        for number, place in self.places.items():
            old = self.circuit.columns[number]
            if np.isnan(cells[:, place]).all():  # without values, the table tells no kind
                codes[place] = ColumnCode(replace(old, name=codes[place].column.name), None)
            else:
                codes[place] = _merge(old, codes[place])
        return replace(encoder, codes=tuple(codes))

    def move(self, columns: tuple[Column, ...], factor: int) -> Circuit:
        """Return the circuit on the columns of an extended encoder, with `factor` times its votes.

        The temperature is that of votes times the factor, and there is no calibration. Points of a
        number get as many more decimals as the factor, a power of ten, has zeros.
        """
        circuit = self.circuit

        def scaled(votes: Sequence[int]) -> tuple[int, ...]:
            return tuple(factor * votes[number] for number in self.order)

        literals = [_on(literal, self.places[literal.column]) for literal in circuit.literals]
        logic = replace(circuit.logic, columns=columns, literals=tuple(literals))
        rules = tuple(Rule(rule.wire, scaled(rule.votes)) for rule in circuit.rules)
        base = scaled(circuit.base_votes)
        score = circuit.readout
        if isinstance(score, Score):
            digits = score.digits + len(str(factor)) - 1
            return Circuit(
                logic=logic, readout=replace(score, rules=rules, base_votes=base, digits=digits)
            )
        classes = tuple(circuit.classes[number] for number in self.order)
        temperature = factor * circuit.temperature
        return Circuit(logic=logic, readout=Votes(rules, base, classes, temperature))


def find_earlier(circuit: Circuit, table: Table, classes: tuple[Label, ...]) -> Earlier:
    """Find the columns and classes of a circuit in new rows.

    Raises `MissingColumnError` if the table lacks a column that the circuit reads, and
    `TableError` if the classes differ, or `OptionError` if it has none.
    """
    if not isinstance(circuit.readout, Votes):
        raise OptionError(
            "init predicts a number, expected the circuit of a classifier; leave out init"
        )
    if set(circuit.classes) != set(classes):
        known, found = (list_names(map(repr, each)) for each in (circuit.classes, classes))
        raise TableError(
            f"init predicts the classes {known}, but the training rows have {found}; "
            "give rows of the same classes, or leave out init"
        )
    order = tuple(circuit.classes.index(label) for label in classes)
    places = places_of(table, circuit.columns, circuit.logic.used_columns)
    return Earlier(circuit, order, places)


def find_earlier_number(circuit: Circuit, table: Table, link: Link) -> Earlier:
    """Find the columns of a circuit that predicts a number in new rows.

    Raises `MissingColumnError` if the table lacks a column that the circuit reads, and
    `OptionError` if it predicts classes or has another link.
    """
    if not isinstance(circuit.readout, Score):
        raise OptionError(
            "init predicts classes, expected the circuit of a regressor; leave out init"
        )
    if circuit.readout.link != link:
        raise OptionError(
            f"init has the link {circuit.readout.link!r}, but this loss has {link!r}; give the "
            "loss that init was trained with, or leave out init"
        )
    places = places_of(table, circuit.columns, circuit.logic.used_columns)
    return Earlier(circuit, (0,), places)


def _merge(old: Column, code: ColumnCode) -> ColumnCode:
    """Return the code of a column that an earlier circuit reads too."""
    new = code.column
    if old.is_numeric != new.is_numeric:
        wanted, found = ("numbers", "categories") if old.is_numeric else ("categories", "numbers")
        raise ColumnTypeError(
            f"column {new.name!r} holds {found}, but init was trained on {wanted}; "
            f"convert the column to {wanted}"
        )
    if old.is_numeric:
        kind = old.kind if old.kind == new.kind else "number"
        binary = old.binary and new.binary
        column = replace(new, kind=kind, binary=binary, immutable=old.immutable)
        return replace(code, column=column)
    values = np.empty(len(new.categories), dtype=object)
    values[:] = new.categories
    numbers = encode_cells(RawColumn("category", values), old).tolist()
    categories = list(old.categories)
    for place, category in enumerate(new.categories):
        if numbers[place] == UNSEEN_CODE:
            numbers[place] = len(categories)
            categories.append(category)
    return ColumnCode(
        replace(old, name=new.name, categories=tuple(categories)),
        None,
        tuple(tuple(numbers[category] for category in group) for group in code.groups),
    )


def _on(literal: Literal, column: int) -> Above | Among | Missing:
    """Return the literal on another column."""
    return replace(literal, column=column)
