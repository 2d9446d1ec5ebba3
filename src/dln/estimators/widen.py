"""Circuits of some columns of a table -> the same circuits for the whole table."""

from __future__ import annotations

from dataclasses import replace

from dln.core.circuit import Circuit
from dln.core.literals import Column
from dln.core.logic import Logic
from dln.data.table import Table
from dln.paths.path import CircuitPath


def widen(circuit: Circuit, table: Table) -> Circuit:
    """Let a circuit read the table that `table` was chosen from, by `Table.narrow`."""
    if table.places is None or table.sparse is None:
        return circuit
    kind = table.read(0).kind  # one for all columns of a matrix
    columns = [Column(f"x{index}", kind) for index in range(table.sparse.shape[1])]
    for place, column in zip(table.places, circuit.columns, strict=True):
        columns[place] = column
    literals = tuple(replace(x, column=table.places[x.column]) for x in circuit.literals)
    return replace(circuit, logic=Logic(tuple(columns), literals, circuit.nodes))


def widen_path(path: CircuitPath, table: Table) -> CircuitPath:
    """Do the same with every circuit of a path."""
    return path.changed(lambda circuit: widen(circuit, table))
