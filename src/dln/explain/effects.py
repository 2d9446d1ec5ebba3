"""A circuit that predicts a number -> what each feature adds by its value.

Rules that read one feature are added up to a table of its values. Rules that read several features
stay as they are.

Promise: for every possible row, the offset, the entry of each table that the row is in, and the
points of the other rules that fire add up to the circuit's points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dln.core.conditions import ColumnAtoms, Gap, column_atoms
from dln.explain.condition import describe_atoms

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True)
class Step:
    """Values of a feature that add the same points.

    Attributes
    ----------
    condition
        The condition that these values fulfil.
    points
        What they add.
    atoms
        The numbers of the feature's atoms.
    """

    condition: str
    points: int
    atoms: tuple[int, ...]


@dataclass(frozen=True)
class Effect:
    """What one feature adds by its value, through rules that read no other feature.

    Attributes
    ----------
    column
        The number of the column.
    found
        The values that the circuit tells apart.
    steps
        Numbers in ascending order, then missing values; categories as they are listed.
    """

    column: int
    found: ColumnAtoms
    steps: tuple[Step, ...]

    @property
    def points(self) -> dict[int, int]:
        """The points of each atom."""
        return {atom: step.points for step in self.steps for atom in step.atoms}


@dataclass(frozen=True)
class Effects:
    """What features add alone, and the rules that read several.

    Attributes
    ----------
    alone
        One for each feature that some rule reads alone.
    joint
        The numbers of the rules that read several features.
    """

    alone: tuple[Effect, ...]
    joint: tuple[int, ...]


def find_effects(circuit: Circuit) -> Effects:
    """Add up the rules that read one feature only."""
    by_column: dict[int, list[int]] = {}
    joint = []
    for number, columns in enumerate(rule_columns(circuit)):
        if len(columns) == 1:
            by_column.setdefault(min(columns), []).append(number)
        else:
            joint.append(number)
    alone = [_effect(circuit, column, rules) for column, rules in sorted(by_column.items())]
    return Effects(tuple(alone), tuple(joint))


def rule_columns(circuit: Circuit) -> list[frozenset[int]]:
    """Find the columns that each rule reads, directly or through gates."""
    reads = [frozenset((literal.column,)) for literal in circuit.literals]
    for _, a, b in circuit.nodes:
        reads.append(reads[a] | reads[b])
    return [reads[rule.wire] for rule in circuit.rules]


def _effect(circuit: Circuit, column: int, rules: list[int]) -> Effect:
    wires = [wire for wire, literal in enumerate(circuit.literals) if literal.column == column]
    found = column_atoms(circuit.columns[column], [circuit.literals[wire] for wire in wires])
    points = _points(circuit, rules, wires, found)
    groups: list[list[int]] = []
    for atom, value in enumerate(points):
        # Numbers join only with their neighbours; categories with all that add the same.
        near = [
            group
            for group in groups
            if points[group[0]] == value and _joins(found, group[-1], atom)
        ]
        if near:
            near[-1].append(atom)
        else:
            groups.append([atom])
    # Missing values come last, unless the lowest numbers add the same.
    groups.sort(key=lambda group: all(found.atoms[atom].cell is None for atom in group))
    steps = (
        Step(describe_atoms(circuit.logic, column, found, group), points[group[0]], tuple(group))
        for group in groups
    )
    return Effect(column, found, tuple(steps))


def _joins(found: ColumnAtoms, last: int, atom: int) -> bool:
    if isinstance(found.atoms[atom], Gap):
        return last == atom - 1
    return True


def _points(circuit: Circuit, rules: list[int], wires: list[int], found: ColumnAtoms) -> list[int]:
    """Add up some rules for each atom of the one column that they read."""
    values: dict[int, NDArray[np.bool_]] = {}
    for wire, true in zip(wires, found.where, strict=True):
        values[wire] = np.zeros(len(found.atoms), dtype=bool)
        values[wire][list(true)] = True
    for number, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        if a in values and b in values:
            values[number] = np.array(gate.table, dtype=bool)[2 * values[a] + values[b]]
    total = np.zeros(len(found.atoms), dtype=np.int64)
    for rule in rules:
        wire, votes = circuit.rules[rule]
        total += votes[0] * values[wire].astype(np.int64)
    return [int(value) for value in total]
