"""Soft rules -> soft rules whose conditions suit the rows better.

A change replaces one test of a rule by another test of the same column (another cutoff, other
categories), or one gate by another: "and" by "or" or the other way round, or by one of its inputs,
which drops the rest. A gate only changes to one that moves with each input in a direction in which
the stated gate moves. So a rule that satisfies constraints satisfies them after any change.

A change has to raise the logarithm of the posterior probability by more than that of the number of
changes to choose from, and some more. So a rule keeps its condition if only few rows contradict it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dln.core.builder import LogicBuilder
from dln.core.circuit import Circuit
from dln.core.gates import GATES, Gate
from dln.core.limits import bits_of
from dln.core.literals import Literal
from dln.core.locked import with_entries
from dln.core.logic import Logic
from dln.core.parts import Node
from dln.data.table import Table
from dln.train.candidates import CandidateTests, find_tests
from dln.train.given import move_literals
from dln.train.problem import NumberProblem, Problem

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

_CAUTION = 3.0
"""A change has to gain this much more, in log odds, than the best of as many random changes."""

_SHIFTS = (-0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5)
"""Shifts of the base that are tried, as shares of a rule's points: it may fire on other rows."""

_FACTORS = (0.5, 1.0, 2.0)
"""Factors of the stated points that are tried, relative to the expected one."""

_N_TRIED = 3
"""Number of changes that are fitted exactly before a rule is left as it is."""

_PROMISING = 0.5
"""Only changes that gain this share of their price, without a new fit of all rules, are tried."""

_MOST_SWEEPS = 5
"""Maximum number of passes over all rules."""

_LEAST_ROWS, _MOST_ROWS, _MOST_BITS = 2_000, 10_000, 1_000_000
"""Limits on the rows that determine the conditions; the last one is that of rows times rules."""

_VOTE_ROWS = 50_000
"""Number of rows that determine the votes."""

_Rows = TypeVar("_Rows", Problem, NumberProblem)


def sampled(problem: _Rows, n_rules: int) -> tuple[_Rows, _Rows]:
    """Return the rows that conditions are chosen on, and those that votes are fitted on."""
    n_rows = len(problem.target)
    n_few = int(np.clip(_MOST_BITS // n_rules, _LEAST_ROWS, _MOST_ROWS))

    def take(wanted: int) -> _Rows:
        rows = np.linspace(0, n_rows - 1, wanted).astype(np.int64)
        return (problem if n_rows <= wanted else problem.take(rows)).kept()

    return take(n_few), take(_VOTE_ROWS)


def fires_of(rules: Circuit, table: Table) -> Bits:
    """Return where each rule of a circuit fires (n_rows, n_rules)."""
    return rules.evaluate(table).wires(rules.readout.wires)


def candidates_for(rules: Circuit, problem: Problem | NumberProblem) -> CandidateTests:
    """Find the tests that may replace those of rules, on the columns of the rules."""
    read = bits_of(literal.column for literal in rules.literals)
    tests = find_tests(problem, bits_of(range(len(rules.columns))) & ~read)
    literals = tuple(move_literals(tests.literals, tests.columns, rules.columns))
    return CandidateTests(rules.columns, literals)


class SoftFit(NamedTuple):
    """The best factors of soft rules for their conditions.

    Attributes
    ----------
    factors : (n_rules,)
        What the stated points of each rule are multiplied by, at least 0.
    points : (n_rows, n_outputs)
        All points of the rows.
    cost
        Minus the logarithm of the posterior probability, up to a constant.
    """

    factors: Floats
    points: Floats
    cost: float


class SoftRows(Protocol):
    """Rows that soft rules are learned from."""

    @property
    def stated(self) -> Floats:
        """The stated points of the rules (n_rules, n_outputs)."""

    @property
    def expected(self) -> float:
        """The factor to expect."""

    def fit(self, fires: Bits) -> SoftFit:
        """Fit the factors of rules that fire (n_rows, n_rules)."""

    def losses(self, points: Floats) -> Floats:
        """Return what each row (n_rows,) with these points adds to the cost."""

    def prior(self, rule: int, factor: float) -> float:
        """Return what the factor of a rule adds to the cost."""


def adapt_conditions(
    rules: Circuit, table: Table, tests: CandidateTests, rows: SoftRows
) -> Circuit:
    """Change the conditions of soft rules, one step after another, while that pays.

    `rules` has no other rules. `tests` are those to choose from, on its columns. The votes stay.
    """
    conditions = [_Condition.of(rules, rule.wire, table) for rule in rules.rules]
    bits = tests.evaluate(table)
    best = rows.fit(_fires(conditions))
    for _ in range(_MOST_SWEEPS):
        before = best.cost
        for place in range(len(conditions)):
            conditions[place], best = _changed(conditions, place, best, tests, bits, rows)
        if best.cost == before:
            break
    builder = LogicBuilder(rules.columns)
    signals = [builder.copy(condition.logic)[condition.wire] for condition in conditions]
    entries = [(signal, rule.votes) for signal, rule in zip(signals, rules.rules, strict=True)]
    return with_entries(rules, builder, entries, rules.base_votes, ())


@dataclass(frozen=True)
class _Condition:
    """The condition of one rule, and the bits (n_rows, n_wires) of its wires."""

    logic: Logic
    wire: int
    bits: Bits

    @classmethod
    def of(cls, circuit: Circuit, wire: int, table: Table) -> _Condition:
        """Take the condition of a wire alone."""
        builder = LogicBuilder(circuit.columns)
        signal = builder.copy(circuit.logic)[wire]
        logic, wires = builder.build([signal])
        literals = CandidateTests(logic.columns, logic.literals).evaluate(table) > 0
        return cls(logic, wires[signal], _with_gates(logic, literals))

    @property
    def fires(self) -> Bits:
        return self.bits[:, self.wire]

    def if_wire(self, wire: int, value: bool) -> Bits:
        """Return where the rule would fire if a wire had a value in all rows."""
        forced = np.full(len(self.bits), value)
        return _with_gates(self.logic, self.bits[:, : self.logic.n_literals], {wire: forced})[
            :, self.wire
        ]

    def with_change(self, change: _Change) -> _Condition:
        """Return the condition with another literal or gate on a wire."""
        logic, n_literals = self.logic, self.logic.n_literals
        if isinstance(change.part, Gate):
            nodes = list(logic.nodes)
            place = change.wire - n_literals
            nodes[place] = Node(change.part, nodes[place].a, nodes[place].b)
            logic = replace(logic, nodes=tuple(nodes))
        else:
            literals = list(logic.literals)
            literals[change.wire] = change.part
            logic = replace(logic, literals=tuple(literals))
        known = {change.wire: change.bits}
        return replace(self, logic=logic, bits=_with_gates(logic, self.bits[:, :n_literals], known))


class _Change(NamedTuple):
    """Another literal or gate on a wire, with its bits (n_rows,), and an estimate of its cost."""

    wire: int
    part: Literal | Gate
    bits: Bits
    cost: float


def _changed(
    conditions: list[_Condition],
    place: int,
    best: SoftFit,
    tests: CandidateTests,
    bits: NDArray[np.float32],
    rows: SoftRows,
) -> tuple[_Condition, SoftFit]:
    """Make the best change of a rule; the condition stays as it is if none pays."""
    condition = conditions[place]
    changes = list(_changes(condition, tests, bits, _Costs.of(condition, place, best, rows)))
    price = _CAUTION + np.log(max(1, len(changes)))
    for change in sorted(changes, key=lambda own: own.cost)[:_N_TRIED]:
        if change.cost > best.cost - _PROMISING * price:
            break
        other = condition.with_change(change)
        if other.fires.all() or not other.fires.any():
            continue
        found = rows.fit(_fires([*conditions[:place], other, *conditions[place + 1 :]]))
        if found.cost < best.cost - price:
            return other, found
    return condition, best


@dataclass(frozen=True)
class _Costs:
    """The cost with several factors of a rule, by where it fires; the other factors stay.

    `without` (n,) are the costs if it fires nowhere, `more` (n_rows, n) is what each row where it
    fires adds to them.
    """

    without: Floats
    more: Floats

    @classmethod
    def of(cls, condition: _Condition, place: int, best: SoftFit, rows: SoftRows) -> _Costs:
        own, stated = float(best.factors[place]), rows.stated[place]
        rest = best.points - own * condition.fires[:, None] * stated
        now = float(rows.losses(best.points).sum()) + rows.prior(place, own)
        factors = {own, *(rows.expected * factor for factor in _FACTORS)} - {0.0}
        without, more = [], []
        for factor in sorted(factors):
            for shift in _SHIFTS:
                start = rest - shift * factor * stated
                costs = rows.losses(start)
                without.append(best.cost - now + costs.sum() + rows.prior(place, factor))
                more.append(rows.losses(start + factor * stated) - costs)
        return cls(np.array(without), np.stack(more, axis=1))


def _changes(
    condition: _Condition,
    tests: CandidateTests,
    bits: NDArray[np.float32],
    costs: _Costs,
) -> Iterator[_Change]:
    """Yield all changes of a rule, with the lowest cost of some factors."""
    logic = condition.logic
    for wire in range(logic.n_wires):
        low, high = (condition.if_wire(wire, value) for value in (False, True))
        options = list(_other_parts(condition, wire, tests, bits))
        if not options or np.array_equal(low, high):
            continue
        # The rule fires where `low` does and the wire is 0, and where `high` does and it is 1.
        steps = costs.more * (high.astype(np.float64) - low)[:, None]
        start = costs.without + low @ costs.more
        found = np.stack([own for _, own in options], axis=1).T @ steps + start
        for (part, own), cost in zip(options, found.min(axis=1).tolist(), strict=True):
            yield _Change(wire, part, own, cost)


def _other_parts(
    condition: _Condition, wire: int, tests: CandidateTests, bits: NDArray[np.float32]
) -> Iterator[tuple[Literal | Gate, Bits]]:
    """Yield other literals or gates for a wire, with their bits."""
    logic = condition.logic
    if wire < logic.n_literals:
        literal = logic.literals[wire]
        for place, test in enumerate(tests.literals):
            is_alike = test.column == literal.column and type(test) is type(literal)
            if is_alike and test != literal:
                yield test, bits[:, place] > 0
        return
    node = logic.nodes[wire - logic.n_literals]
    for gate in similar_gates(node.gate):
        yield gate, _outputs(gate, condition.bits[:, node.a], condition.bits[:, node.b])


def similar_gates(gate: Gate) -> tuple[Gate, ...]:
    """Return the gates that move with each input only in directions in which a gate moves.

    >>> from dln import GATE_BY_NAME
    >>> [other.name for other in similar_gates(GATE_BY_NAME["AND"])]
    ['A', 'B', 'OR']
    """
    directions = _directions(gate)
    return tuple(
        other
        for other in GATES
        if other not in (gate, gate.negate())
        and any(_directions(other))
        and all(a <= b for a, b in zip(_directions(other), directions, strict=True))
    )


def _directions(gate: Gate) -> tuple[set[int], set[int]]:
    """Return the directions in which the output moves as each input grows."""
    t00, t01, t10, t11 = gate.table
    return {t10 - t00, t11 - t01} - {0}, {t01 - t00, t11 - t10} - {0}


def _fires(conditions: list[_Condition]) -> Bits:
    return np.stack([condition.fires for condition in conditions], axis=1)


def _with_gates(logic: Logic, literals: Bits, known: dict[int, Bits] | None = None) -> Bits:
    """Return the bits (n_rows, n_wires) of all wires; those of some wires are `known`."""
    known = known or {}
    bits = np.empty((len(literals), logic.n_wires), dtype=bool)
    for wire in range(logic.n_literals):
        bits[:, wire] = known.get(wire, literals[:, wire])
    for wire, (gate, a, b) in enumerate(logic.nodes, start=logic.n_literals):
        bits[:, wire] = known[wire] if wire in known else _outputs(gate, bits[:, a], bits[:, b])
    return bits


def _outputs(gate: Gate, a: Bits, b: Bits) -> Bits:
    outputs: Bits = np.array(gate.table, dtype=bool)[2 * a.astype(np.intp) + b]
    return outputs
