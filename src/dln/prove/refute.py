"""Claims -> a formula that no row fulfils, and its refutation.

The formula says that some row refutes a claim. Its clauses are facts, each of which can be checked
on its own: about the values of a column, about a gate, about a sum of votes, and about the region
and the votes of a row that refutes a claim. docs/reference/certificate.md describes them.

The refutation is a tree of boxes. In a box, the sum of each table of votes has a least value. If
these show together that votes are lacking, no row of the box refutes the claim. Otherwise the box
is split.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from dln.prove.bounds import Atoms, Lack, Lacks, Table, View, multipliers_to_try
from dln.prove.box_tree import Leaf, Split, find_tree
from dln.prove.claim import Claim
from dln.prove.clock import Clock
from dln.prove.lrat import Reference, Refutation
from dln.prove.search import Search

Terms = tuple[tuple[int, int], ...]
"""A sum: wires and their coefficients."""


def refute(claims: Sequence[Claim], clock: Clock) -> Refutation:
    """Refute that a row refutes one of the claims, which must be true, about one circuit.

    Raises `TimeIsUpError` if the time is over.
    """
    made = Refutation()
    goals = [(claim, goal) for claim in claims for goal in claim.goals]
    some = made.fact([made.variable(("goal", number)) for number in range(len(goals))])
    facts, lacks = Facts(claims[0].search, made), Lacks(claims[0].search)
    none = []
    for number, (claim, goal) in enumerate(goals):
        region = [
            tuple(np.flatnonzero(claim.search.part(claim.region.box, column)).tolist())
            for column in range(len(facts.sizes))
        ]
        left = math.inf if clock.left is None else clock.left
        tried = multipliers_to_try(claim.search, claim.region.box, goal, left)
        given = [lacks.of(region, goal, multipliers) for multipliers in tried]
        tree = find_tree(region, given, clock)
        none.append(_Boxes(facts, number, clock).refute(region, tree))
    made.step((), [*none, some])
    return made


class Facts:
    """The variables of a circuit, and what follows from its tables."""

    def __init__(self, search: Search, made: Refutation) -> None:
        self.search = search
        self.made = made
        self.sizes = search.variables.sizes
        self._steps: dict[View, Reference] = {}
        self._inside: dict[View, list[list[int]]] = {}
        self._sums: dict[Table, Terms] = {}
        self._cones: dict[Table, list[int]] = {}

    def wire(self, wire: int, value: bool) -> int:
        """Return the literal that a wire has a value."""
        variable = self.made.variable(("wire", wire))
        return variable if value else -variable

    def among(self, column: int, atoms: Atoms) -> list[int]:
        """Return the literal that a column has one of some atoms; none if these are all."""
        if len(atoms) == self.sizes[column]:
            return []
        return [self.made.variable(("in", column, atoms))]

    def outside(self, column: int, atoms: Atoms) -> list[int]:
        """Return the literal that a column has another atom."""
        return [-literal for literal in self.among(column, atoms)]

    def below(self, table: Table, bound: int) -> int:
        """Return the literal that the sum of a table is less than a number."""
        return self.made.variable(("sum", self._terms(table), bound - 1))

    def _terms(self, table: Table) -> Terms:
        if table not in self._sums:
            terms: dict[int, int] = {}
            for rule, points in table.rules.items():
                wire = self.search.circuit.rules[rule].wire
                terms[wire] = terms.get(wire, 0) + points
            self._sums[table] = tuple(terms.items())
        return self._sums[table]

    def inside(self, view: View) -> list[list[int]]:
        """Return for each column the literal that a row is in the cells of a table."""
        if view not in self._inside:
            pairs = zip(view.table.scope, view.atoms, strict=True)
            self._inside[view] = [self.among(column, atoms) for column, atoms in pairs]
        return self._inside[view]

    def outside_view(self, view: View) -> list[int]:
        """Return literals that a row is not in the cells of a table."""
        return [-literal for literals in self.inside(view) for literal in literals]

    def at_least(self, view: View) -> Reference:
        """Derive that the sum of a table has at least its least value in some cells."""
        if view not in self._steps:
            several = [place for place, own in enumerate(view.patterns) if len(own) > 1]
            # The column of most patterns is the last one to be split, which takes fewest steps.
            several.sort(key=lambda place: len(view.patterns[place]))
            if several:
                self._steps[view] = self._cover(view, several[0])
            else:
                self._steps[view] = self._sum(view) if view.table.members else self._cell(view)
        return self._steps[view]

    def add_up(
        self, views: Iterable[View], box: Mapping[int, Atoms]
    ) -> tuple[list[Reference], list[int]]:
        """Derive the least values of tables in a box; return the steps and their negations."""
        own = {column: self.among(column, atoms) for column, atoms in box.items()}
        wider, steps, below = {}, [], []
        for view in views:
            for column, literals in zip(view.table.scope, self.inside(view), strict=True):
                if literals and literals != own[column] and literals[0] not in wider:
                    outside = [-literal for literal in own[column]]
                    wider[literals[0]] = self.made.fact([*outside, *literals])
            steps.append(self.at_least(view))
            below.append(self.below(view.table, view.least))
        return [*wider.values(), *steps], below

    def _sum(self, view: View) -> Reference:
        """Derive the sum of several tables for one pattern of each column."""
        box = dict(zip(view.table.scope, view.atoms, strict=True))
        members = []
        for member in view.table.members:
            for column in member.table.scope:
                member = member.within(column, box[column])
            members.append(member)
        hints, below = self.add_up(members, box)
        own = self.below(view.table, view.least)
        return self.made.step(
            [*self.outside_view(view), -own], [*hints, self.made.fact([*below, -own])]
        )

    def _cover(self, view: View, place: int) -> Reference:
        """Derive the least value from those of the patterns of one column."""
        below = self.below(view.table, view.least)
        lower, steps, choices = {}, [], []
        for at in range(len(view.patterns[place])):
            part = view.choose(place, view.patterns[place][at : at + 1])
            if part.least > view.least:
                literal = self.below(view.table, part.least)
                lower[literal] = self.made.fact([-below, literal])
            steps.append(self.at_least(part))
            choices += self.inside(part)[place]
        outside = [-literal for literal in self.inside(view)[place]]
        some = self.made.fact([*outside, *choices])
        clause = [*self.outside_view(view), -below]
        return self.made.step(clause, [*lower.values(), *steps, some])

    def _cell(self, view: View) -> Reference:
        """Derive the sum of a table for one pattern of each column."""
        circuit = self.search.circuit
        atoms = dict(zip(view.table.scope, view.atoms, strict=True))
        inside = dict(zip(view.table.scope, self.inside(view), strict=True))
        truth: dict[int, bool] = {}
        hints = []
        for wire in self._cone(view.table):
            if wire < circuit.n_literals:
                column, place = self._literals[wire]
                truth[wire] = bool(self.search.variables.truths[column][place, atoms[column][0]])
                given = [-literal for literal in inside[column]]
            else:
                node = circuit.nodes[wire - circuit.n_literals]
                a, b = truth.get(node.a, False), truth.get(node.b, False)
                truth[wire] = bool(node.gate.table[2 * a + b])
                given = [self.wire(source, not truth[source]) for source in node.sources]
            hints.append(self.made.fact([*given, self.wire(wire, truth[wire])]))
        below = self.below(view.table, view.least)
        wires = [circuit.rules[rule].wire for rule in view.table.rules]
        hints.append(self.made.fact([*(self.wire(w, not truth[w]) for w in wires), -below]))
        return self.made.step([*self.outside_view(view), -below], hints)

    @cached_property
    def _literals(self) -> dict[int, tuple[int, int]]:
        """The column of each literal, and its place among the literals of the column."""
        return {
            wire: (column, place)
            for column, wires in enumerate(self.search.variables.literals)
            for place, wire in enumerate(wires)
        }

    def _cone(self, table: Table) -> list[int]:
        """List the wires that the rules of a table depend on, ascending."""
        if table not in self._cones:
            wires = [self.search.circuit.rules[rule].wire for rule in table.rules]
            self._cones[table] = self.search.circuit.logic.cone(wires)
        return self._cones[table]


class _Boxes:
    """The refutation of one goal: no row of a region fulfils all its demands."""

    def __init__(self, facts: Facts, number: int, clock: Clock) -> None:
        self._facts, self._made, self._clock = facts, facts.made, clock
        self._number = number
        self._goal = facts.made.variable(("goal", number))

    def refute(self, region: Sequence[Atoms], tree: Leaf | Split) -> Reference:
        """Derive that the goal is not reached."""
        hints = [
            self._made.fact([-self._goal, literal])
            for column, atoms in enumerate(region)
            for literal in self._facts.among(column, atoms)
        ]
        return self._made.step([-self._goal], [*hints, self._box(region, tree)])

    def _box(self, box: Sequence[Atoms], tree: Leaf | Split) -> Reference:
        """Derive that the goal is not reached in a box."""
        self._clock.check()
        hints = self._lacking(box, tree.lack) if isinstance(tree, Leaf) else self._parts(box, tree)
        outside = [
            literal
            for column, atoms in enumerate(box)
            for literal in self._facts.outside(column, atoms)
        ]
        return self._made.step([-self._goal, *outside], hints)

    def _parts(self, box: Sequence[Atoms], split: Split) -> list[Reference]:
        """Derive that the goal is not reached in both parts of a box."""
        hints, choices = [], []
        for atoms, tree in split.parts:
            smaller = [atoms if at == split.column else own for at, own in enumerate(box)]
            hints.append(self._box(smaller, tree))
            choices += self._facts.among(split.column, atoms)
        outside = self._facts.outside(split.column, box[split.column])
        return [*hints, self._made.fact([*outside, *choices])]

    def _lacking(self, box: Sequence[Atoms], lack: Lack) -> list[Reference]:
        """Add up the least values of all tables in a box."""
        made = self._made
        demands = made.variable(("demands", self._number, lack.multipliers))
        hints, below = self._facts.add_up(lack.views, dict(enumerate(box)))
        reached = made.fact([-self._goal, demands])
        return [reached, *hints, made.fact([-demands, *below])]
