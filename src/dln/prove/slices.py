"""A circuit -> one slice for each gap between the cutoffs of a feature, all in one graph.

In a gap the feature's literals are constants. Parts that do not depend on the feature are the same
node in every slice, so they cancel when two slices are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dln.core.circuit import Circuit
from dln.core.conditions import Cell, ColumnAtoms, Gap, column_atoms
from dln.core.literals import Column
from dln.core.logic import Logic
from dln.core.parts import Rule
from dln.prove.clock import Clock
from dln.prove.graph import FALSE, TRUE, Graph
from dln.prove.miter import Leads, Sums, add_up


@dataclass(frozen=True)
class Slice:
    """The circuit in one gap of the feature: a value in the gap, and the edges of `rules`."""

    cell: Cell
    likely: bool
    rules: Sequence[int]


@dataclass(frozen=True)
class Slices:
    """A circuit, sliced by a feature.

    Attributes
    ----------
    graph
        The logic of all slices.
    columns
        The columns that the circuit reads, with their atoms, which the graph's steps refer to.
    feature
        The column by which the circuit is sliced; the graph has no steps of it.
    rules
        The rules that depend on the feature.
    gaps
        The slices, in the order of the feature's values; empty if the circuit does not read it.
    """

    n_classes: int
    graph: Graph
    columns: Sequence[tuple[Column, ColumnAtoms]]
    feature: Column
    rules: Sequence[Rule]
    gaps: Sequence[Slice]

    def gain(self, low: Slice, high: Slice, winner: int) -> Sums:
        """Return the vote margins of a class over the others in `high`, minus those in `low`."""
        votes: list[tuple[int, Leads]] = []
        for rule, old, new in zip(self.rules, low.rules, high.rules, strict=True):
            if old != new:
                leads = _leads(rule.votes, winner)
                votes += [(new, leads), (old, tuple(-lead for lead in leads))]
        return add_up(votes, self.n_classes - 1)


def slice_by(circuit: Circuit, number: int, clock: Clock) -> Slices:
    """Slice a circuit by the column `number`, which must have an order."""
    graph, logic = Graph(), circuit.logic
    read = logic.used_columns
    wires: dict[int, list[int]] = {at: [] for at in (number, *read)}
    for wire, literal in enumerate(logic.literals):
        wires[literal.column].append(wire)
    atoms = {
        at: column_atoms(logic.columns[at], [logic.literals[wire] for wire in wires[at]])
        for at in wires
    }
    edges = [FALSE] * logic.n_wires
    for place, at in enumerate(read):
        if at != number:
            for wire, where in zip(wires[at], atoms[at].where, strict=True):
                edges[wire] = graph.among(place, where, len(atoms[at].atoms))
    moved = _readers(logic, wires[number])
    rules = [rule for rule in circuit.rules if rule.wire in moved]
    changing: Sequence[int] = range(logic.n_literals, logic.n_wires)  # in the first gap, all
    gaps = []
    for atom, gap in enumerate(atoms[number].atoms):
        if isinstance(gap, Gap) and number in read:
            clock.check()
            for wire, true in zip(wires[number], atoms[number].truths(atom), strict=True):
                edges[wire] = TRUE if true else FALSE
            for wire in changing:
                gate, a, b = logic.nodes[wire - logic.n_literals]
                edges[wire] = graph.gate(gate, edges[a], edges[b])
            gaps.append(Slice(gap.cell, gap.is_likely, [edges[rule.wire] for rule in rules]))
            changing = sorted(wire for wire in moved if wire >= logic.n_literals)
    columns = [(logic.columns[at], atoms[at]) for at in read]
    return Slices(circuit.n_classes, graph, columns, logic.columns[number], rules, gaps)


def _readers(logic: Logic, literals: Sequence[int]) -> set[int]:
    """Return some literals and all wires that depend on them."""
    found = set(literals)
    for wire, node in enumerate(logic.nodes, start=logic.n_literals):
        if node.sources & found:
            found.add(wire)
    return found


def _leads(votes: tuple[int, ...], winner: int) -> Leads:
    return tuple(votes[winner] - vote for number, vote in enumerate(votes) if number != winner)
