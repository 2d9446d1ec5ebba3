"""Claims -> a formula that no row fulfils, and its refutation.

The formula says that some row refutes a claim. Its clauses are facts, each of which can be checked
on its own: about the values of a column, about the region of a claim, and about votes in a box.
docs/reference/certificate.md describes them.

The native search proves a claim by a tree of boxes: in each leaf, votes are lacking. A leaf becomes
facts about the parts of the lack (parts.py), and the tree becomes steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dln.prove.claim import Claim
from dln.prove.clock import Clock, TimeIsUpError
from dln.prove.lrat import Reference, Refutation
from dln.prove.parts import NOTHING, Atoms, Boxes, Group, Part, Tables
from dln.prove.search import BoxProof, Demand

_REGROUP = -(2**31)
"""Begins a node of a native proof that adds up tables."""


@dataclass(frozen=True, eq=False)
class Lack:
    """The lack of votes in a box: a goal, multipliers of its demands, and the parts of the sum."""

    goal: int
    multipliers: tuple[int, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Refuted:
    """The refutation of some claims, and the sums that it is about."""

    made: Refutation
    lacks: tuple[Lack, ...]


def refute(claims: Sequence[Claim], clock: Clock) -> Refuted:
    """Refute that a row refutes one of the claims, which must be true, about one circuit.

    Raises `TimeIsUpError` if the time is over.
    """
    made, tables = Refutation(), Tables(claims[0].search)
    goals = [(claim, goal) for claim in claims for goal in claim.goals]
    some = made.fact([made.variable(("goal", number)) for number in range(len(goals))])
    lacks: list[Lack] = []
    none = []
    for number, (claim, goal) in enumerate(goals):
        left = math.inf if clock.left is None else clock.left
        proof = claim.search.prove(claim.region.box, goal, seconds=left)
        if proof is None:
            raise TimeIsUpError
        region = [
            tuple(np.flatnonzero(claim.search.part(claim.region.box, column)).tolist())
            for column in range(len(claim.search.names))
        ]
        none.append(_Boxes(made, tables, lacks, number, goal, proof, clock).refute(region))
    made.step((), [*none, some])
    return Refuted(made, tuple(lacks))


class _Boxes:
    """The refutation of one goal: no row of a region fulfils all its demands."""

    def __init__(
        self,
        made: Refutation,
        tables: Tables,
        lacks: list[Lack],
        number: int,
        goal: Sequence[Demand],
        proof: BoxProof,
        clock: Clock,
    ) -> None:
        self._made, self._tables, self._lacks, self._clock = made, tables, lacks, clock
        self._number, self._demands = number, goal
        self._goal = made.variable(("goal", number))
        tree, messages, starts, multipliers = proof
        self._tokens = iter(tree.tolist())
        self._messages = messages.tolist()
        self._starts = starts.tolist()
        self._multipliers = multipliers.tolist()

    def refute(self, region: Boxes) -> Reference:
        """Derive that the goal is not reached."""
        inside = [
            self._made.fact([-self._goal, literal])
            for column, atoms in enumerate(region)
            for literal in self._among(column, atoms)
        ]
        return self._made.step([-self._goal], [*inside, self._box(region, [])])

    def _box(self, box: Boxes, groups: list[Group]) -> Reference:
        """Derive that the goal is not reached in a box."""
        self._clock.check()
        token = next(self._tokens)
        if token == _REGROUP:
            members = [self._numbers() for _ in range(next(self._tokens))]
            return self._box(box, self._tables.groups(members, box))
        hints = (
            self._leaf(-1 - token, box, groups) if token < 0 else self._split(token, box, groups)
        )
        return self._made.step([-self._goal, *self._outside(box)], hints)

    def _numbers(self) -> list[int]:
        return [next(self._tokens) for _ in range(next(self._tokens))]

    def _split(self, column: int, box: Boxes, groups: list[Group]) -> list[Reference]:
        """Derive that the goal is not reached in both parts of a box."""
        first = set(self._numbers())
        halves = [
            tuple(atom for atom in box[column] if (atom in first) == inside)
            for inside in (True, False)
        ]
        steps, choices = [], []
        for atoms in halves:
            smaller = [atoms if at == column else own for at, own in enumerate(box)]
            steps.append(self._box(smaller, groups))
            choices += self._among(column, atoms)
        outside = [-literal for literal in self._among(column, box[column])]
        return [*steps, self._made.fact([*outside, *choices])]

    def _leaf(self, leaf: int, box: Boxes, groups: list[Group]) -> list[Reference]:
        """Add up the least values of all parts of the lack in a box."""
        multipliers = self._multipliers[leaf]
        messages = self._messages[self._starts[leaf] : self._starts[leaf + 1]]
        weights = self._tables.weights(self._demands, multipliers)
        parts = tuple(self._tables.parts(groups, weights, messages, box)) or (NOTHING,)
        number = len(self._lacks)
        self._lacks.append(Lack(self._number, tuple(multipliers), parts))
        facts, below = [], []
        for place, part in enumerate(parts):
            below.append(self._made.variable(("part", number, place)))
            read = {v for table in part.group.tables for v in self._tables.patterns[table]}
            outside = [-x for v in sorted(read) for x in self._among(v, box[v])]
            facts.append(self._made.fact([*outside, -below[-1]]))
        return [*facts, self._made.fact([-self._goal, *self._outside(box), *below])]

    def _among(self, column: int, atoms: Atoms) -> list[int]:
        """Return the literal that a column has one of some atoms; none if these are all."""
        if len(atoms) == self._tables.sizes[column]:
            return []
        return [self._made.variable(("in", column, atoms))]

    def _outside(self, box: Boxes) -> list[int]:
        """Return the literals that a row is not in a box."""
        return [-x for column, atoms in enumerate(box) for x in self._among(column, atoms)]
