"""Make a circuit smaller, move by move, within a budget of accepted loss."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from operator import and_, xor

from dln.core.circuit import Circuit
from dln.core.locked import join_locked, split_locked
from dln.core.parts import Rule
from dln.core.readout import Readout
from dln.core.score import Score
from dln.shrink.prune.moves import Move, Replace, Revote, Votes, find_moves
from dln.shrink.prune.row_numbers import RowNumbers
from dln.shrink.prune.row_votes import RowVotes, Shift
from dln.shrink.prune.rows import ClassRows, NumberRows, Rows
from dln.shrink.prune.saving import Savings, follow_edges
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.net import Net
from dln.shrink.simplify.votes import lower_base

_SLACK = 1e-9
"""Tolerance for rounded sums of weights."""
_FREE = 1e-3
"""Strain that is ignored, as a fraction of the total weight: then the largest saving wins."""
_ABOUT = 1.25
"""A price up to this multiple of the expected price is still accepted."""


def shrink(circuit: Circuit, rows: Rows, budget: float) -> Circuit:
    """Make moves that save something while the loss stays within the budget.

    Locked rules stay as they are. Returns the circuit itself if there is no such move.
    """
    rest, locked = split_locked(circuit) if circuit.locked else (circuit, None)
    pruner = Pruner(rest, rows, () if locked is None else _fires(locked, rows))
    if not pruner.sweep(budget):
        return circuit
    smaller = pruner.to_circuit()
    return smaller if locked is None else join_locked(smaller, locked)


def _fires(circuit: Circuit, rows: Rows) -> list[Shift]:
    """Return the rows on which each rule fires, and its votes."""
    net = Net(circuit.logic, circuit.readout.wires)
    bits = net.evaluate(_leaves(circuit, rows), rows.ones, and_, xor)
    return [
        Shift(0, bits[root >> 1] ^ (rows.ones if root & 1 else 0), rule.votes)
        for root, rule in zip(net.roots, circuit.rules, strict=True)
    ]


def _leaves(circuit: Circuit, rows: Rows) -> list[int]:
    return [0, *(rows.bits[literal] for literal in circuit.literals)]


def _follow(rows: Rows, shifts: Sequence[Shift], readout: Readout) -> RowVotes | RowNumbers:
    """Return the votes or points of all rows; they follow the moves."""
    if isinstance(rows, NumberRows):
        assert isinstance(readout, Score)
        return RowNumbers(rows, shifts, readout)
    assert isinstance(rows, ClassRows)
    return RowVotes(rows, shifts, readout.base_votes)


class Pruner:
    """A folded circuit being pruned, with its wires and votes on all rows.

    `others` are votes of rules that are not pruned.
    """

    def __init__(self, circuit: Circuit, rows: Rows, others: Sequence[Shift] = ()) -> None:
        self._rows = rows
        self._readout = circuit.readout
        self._net = Net(circuit.logic, circuit.readout.wires)
        self._votes: list[Votes] = [rule.votes for rule in circuit.rules]
        self._base = circuit.base_votes
        self._bits = self._net.evaluate(_leaves(circuit, rows), rows.ones, and_, xor)
        roots = zip(self._net.roots, self._votes, strict=True)
        fires = [Shift(0, self._value(root), votes) for root, votes in roots]
        self._row_votes = _follow(rows, [*fires, *others], circuit.readout)
        self._savings = Savings(self._net, self._votes, is_number=isinstance(self._readout, Score))
        self._free = _FREE * float(rows.weight.sum())

    def sweep(self, budget: float) -> int:
        """Try every move, largest saving per harm first; return the number of moves made."""
        moves = find_moves(self._net, self._votes, self._bits, self._rows.n_rows)
        n_made = 0
        queue = [(0.0, place) for place in range(len(moves))]
        while queue:
            expected, place = heapq.heappop(queue)
            price = self._price(moves[place], budget)
            if price is None:
                continue
            # The expected price was measured before the last moves. If the move has become more
            # expensive, it is queued again.
            if expected and price <= expected * _ABOUT:
                self._make(moves[place])
                n_made += 1
            else:
                heapq.heappush(queue, (price, place))
        return n_made

    def _price(self, move: Move, budget: float) -> float | None:
        """Return the strain for each operation that a move saves; None if it must not be made."""
        if not self._is_possible(move):
            return None
        saved = (
            self._savings.of_replacing(move)
            if isinstance(move, Replace)
            else self._savings.of_revoting(move)
        )
        if saved <= 0:
            return None
        harm = self._row_votes.harm_after(self._shifts(move)[0], budget + _SLACK)
        if harm is None:
            return None
        return (max(harm.strain - self._row_votes.harm.strain, 0.0) + self._free) / saved

    def _is_possible(self, move: Move) -> bool:
        """Check whether a move is still possible after earlier moves."""
        net = self._net
        if isinstance(move, Replace):
            return net.is_read(move.node) and (move.edge < 2 or net.is_read(move.edge >> 1))
        given = self._votes[move.place]
        if net.roots[move.place] < 2 or move.kept == given:
            return False
        if any(move.always):  # only votes that the rule gives up may become constant
            votes = zip(move.kept, move.always, given, strict=True)
            return all(kept + always == old for kept, always, old in votes)
        return all(abs(kept) <= abs(old) for kept, old in zip(move.kept, given, strict=True))

    def _shifts(self, move: Move) -> tuple[list[Shift], dict[int, int]]:
        """Return which rows get more or fewer votes after a move, and the new bits of nodes."""
        if isinstance(move, Revote):
            return self._revote_shifts(move), {}
        start = {move.node: self._value(move.edge)}
        changed = self._net.follow(start, self._bits, self._rows.ones, and_, xor)
        shifts: list[Shift] = []
        for node, new in changed.items():
            for place in self._net.root_readers[node]:
                flip = self._rows.ones if self._net.roots[place] & 1 else 0
                shifts.append(Shift(self._bits[node] ^ flip, new ^ flip, self._votes[place]))
        return shifts, changed

    def _revote_shifts(self, move: Revote) -> list[Shift]:
        fires = self._value(self._net.roots[move.place])
        votes = zip(move.kept, move.always, self._votes[move.place], strict=True)
        less = tuple(kept + always - old for kept, always, old in votes)
        return [Shift(0, fires, less), Shift(0, fires ^ self._rows.ones, move.always)]

    def _value(self, edge: int) -> int:
        return self._bits[edge >> 1] ^ (self._rows.ones if edge & 1 else 0)

    def _make(self, move: Move) -> None:
        shifts, changed = self._shifts(move)
        self._row_votes.shift(shifts)
        if isinstance(move, Replace):
            for node, bits in changed.items():
                self._bits[node] = bits
            becomes, _ = follow_edges(self._net, move)
            for node, edge in becomes.items():
                self._net.replace(node, edge)
            return
        self._votes[move.place] = move.kept
        self._base = tuple(x + y for x, y in zip(self._base, move.always, strict=True))
        if not any(move.kept):
            self._silence(move.place)

    def _silence(self, place: int) -> None:
        """Disconnect a rule."""
        net = self._net
        node = net.roots[place] >> 1
        net.root_readers[node].discard(place)
        net.roots[place] = 0
        if not net.is_read(node):
            net.replace(node, 0)

    def to_circuit(self) -> Circuit:
        """Build the current circuit, folded."""
        # The net has the current inputs of the rules; only their votes are updated here.
        voted = zip(self._readout.wires, self._votes, strict=True)
        rules = tuple(Rule(wire, votes) for wire, votes in voted)
        base = tuple(vote + self._row_votes.centre for vote in self._base)
        return lower_base(fold(self._net.to_circuit(self._readout.with_rules(rules, base))))
