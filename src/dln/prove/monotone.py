"""Prove that a class or a number only gains, or only loses, as one feature grows.

A circuit is constant between two cutoffs of a feature. So it is enough to compare each gap between
cutoffs with the next one, and to look for a row on which the class loses votes against another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal as OneOf
from typing import get_args

import numpy as np

from dln._util.messages import list_names
from dln.core.bands import points_as_votes
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import Cell
from dln.core.labels import Label, label_text
from dln.core.literals import format_name
from dln.core.readout import target_name
from dln.core.score import Score
from dln.core.verdict import METHODS, Method, Proof, Reversal, Undecided
from dln.errors import OptionError
from dln.prove.adder import is_negative
from dln.prove.claim import check_no_label, find_class
from dln.prove.clock import Clock, TimeIsUpError, check_time_limit
from dln.prove.graph import Graph
from dln.prove.miter import Sums
from dln.prove.region import likely_atoms
from dln.prove.sat import Clauses
from dln.prove.simulate import Rows, Support, find_negative, likelier_row, try_all
from dln.prove.slices import Slice, Slices, slice_by
from dln.prove.votes import votes_of

Direction = OneOf["rising", "falling"]


def prove_monotone(
    circuit: Circuit,
    feature: str,
    label: Label | None = None,
    *,
    direction: Direction = "rising",
    time_limit: float | None = 60.0,
) -> Proof | Reversal | Undecided:
    """Prove that a class, or the number predicted, never falls as a feature grows.

    *Rising* means: if this feature grows and all others stay the same, the vote margin of the class
    over each other class never shrinks. So a row that is predicted as this class keeps the
    prediction. Its probability does not decrease, unless there are more than two classes and a
    calibration. *Falling* means that no margin ever grows. For a circuit that predicts a number,
    *rising* means that the number never shrinks. Missing values are not compared with others.

    Parameters
    ----------
    circuit
        Any circuit.
    feature
        Name of a column of numbers, booleans or dates.
    label
        Class label; None for a circuit that predicts a number.
    direction
        "rising" or "falling".
    time_limit
        Seconds after which the result is `Undecided`; None for no limit.

    Returns
    -------
    Proof | Reversal | Undecided
        Only a `Proof` is true in a boolean context.

    Raises
    ------
    OptionError
        If there is no such class or column, or the column has no order.
    ExtraMissingError
        If the proof requires a SAT solver and python-sat is not installed.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> xor = GATE_BY_NAME["XOR"]
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(xor, 0, 1),),
    ...     rules=(Rule(0, (0, 1)), Rule(2, (0, 1))),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> print(prove_monotone(circuit, "age", "ill"))  # doctest: +ELLIPSIS
    ill never loses as age grows (proven by structure, ...)
    >>> print(prove_monotone(circuit, "smoker", "ill"))
    refuted: raising smoker from False to True changes the votes from (0, 2) to (0, 1)
    where age = 80
    """
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    number = find_ordered_column(circuit, feature, direction)
    winner, voting = find_winner(circuit, label)
    try:
        found = find_fall(slice_by(voting, number, clock), winner, direction, clock)
    except TimeIsUpError:
        return Undecided(clock.seconds)
    if isinstance(found, Fall):
        return _reversal(circuit, found, clock)
    verbs = ("loses", "gains") if circuit.task == "classes" else ("falls", "rises")
    verb = verbs[0] if direction == "rising" else verbs[1]
    name = target_name(circuit.readout) if label is None else label_text(label)
    return Proof(found, clock.seconds, f"{name} never {verb} as {format_name(feature)} grows")


@dataclass(frozen=True)
class Fall:
    """A row, (n_columns, 1), and two neighbouring slices between which a vote margin falls."""

    slices: Slices
    row: Rows
    low: Slice
    high: Slice


def find_fall(slices: Slices, winner: int, direction: Direction, clock: Clock) -> Fall | Method:
    """Return where a class violates a direction, or the method that proved that it never does."""
    rng = np.random.default_rng(0)  # a fixed seed: results are reproducible
    needed: Method = "structure"
    likely = [likely_atoms(column, found) for column, found in slices.columns]
    # Likely values of the feature come first.
    for low, high in sorted(
        pairwise(slices.gaps), key=lambda pair: -pair[0].likely - pair[1].likely
    ):
        clock.check()
        pair = (low, high) if direction == "rising" else (high, low)
        sums = slices.gain(*pair, winner)
        found = find_below_zero(slices.graph, likely, sums, rng, clock)
        if not isinstance(found, str):
            return Fall(slices, found, low, high)
        needed = max(needed, found, key=METHODS.index)
    return needed


def find_below_zero(
    graph: Graph,
    likely: Sequence[Sequence[bool]],
    sums: Sums,
    rng: np.random.Generator,
    clock: Clock,
) -> Rows | Method:
    """Return a row, (n_columns, 1), on which a sum is below 0, or the method of the proof.

    `likely` tells for each column which atoms are preferred in the row.
    """
    n_columns = len(likely)
    leads = [
        (constant, [(2 * node, w[lead]) for node, w in sums.weights.items() if w[lead]])
        for lead, constant in enumerate(sums.constant)
    ]
    if all(constant + sum(min(0, w) for _, w in weights) >= 0 for constant, weights in leads):
        return "structure"
    support = Support(graph, graph.cone(sums.weights), n_columns)
    look = partial(find_negative, sums)
    if support.is_small:
        found = try_all(support, look, clock)
        return "exhaustion" if found is None else likelier_row(support, look, found, likely)
    rows = support.some_rows(rng)
    negative = look(support.bits_of(rows), rows.shape[1])
    if negative is not None:
        return likelier_row(support, look, rows[:, [negative]], likely)
    with Clauses(graph, clock) as clauses:
        clauses.add(support.cone)
        for constant, weights in leads:
            edge = is_negative(graph, constant, weights)
            clauses.add([edge >> 1])
            if clauses.solve([edge]):
                return likelier_row(support, look, clauses.find_row(n_columns), likely)
    return "SAT"


def _reversal(circuit: Circuit, fall: Fall, clock: Clock) -> Reversal:
    """Convert atoms to values of the user's table."""
    feature = fall.slices.feature.name
    cells: dict[str, Cell] = {
        column.name: found.atoms[int(atom)].cell
        for (column, found), atom in zip(fall.slices.columns, fall.row[:, 0], strict=True)
        if column.name != feature
    }
    before, after = fall.low.cell, fall.high.cell
    votes = [votes_of(circuit, {**cells, feature: cell}) for cell in (before, after)]
    numbers = None
    if isinstance(circuit.readout, Score):
        numbers = (circuit.readout.answer(votes[0][0]), circuit.readout.answer(votes[1][0]))
    return Reversal(feature, before, after, cells, votes[0], votes[1], clock.seconds, numbers)


def find_ordered_column(circuit: Circuit, feature: str, direction: Direction) -> int:
    """Return the number of a column of numbers, after a check of the direction."""
    if direction not in get_args(Direction):
        raise OptionError(f'direction is {direction!r}, expected "rising" or "falling"')
    check_is_circuit(circuit, "prove_monotone")
    names = [column.name for column in circuit.columns]
    if feature not in names:
        raise OptionError(f"the circuit has no column {feature!r}; it has {list_names(names)}")
    number = names.index(feature)
    if not circuit.columns[number].is_numeric:
        raise OptionError(
            f"column {feature!r} has categories, which have no order; "
            "choose a column of numbers, booleans or dates"
        )
    return number


def find_winner(circuit: Circuit, label: Label | None) -> tuple[int, Circuit]:
    """Return the number of a class, and the circuit that votes for it."""
    if circuit.task == "number":
        check_no_label(circuit, label)
        return 1, points_as_votes(circuit)
    return find_class(circuit, label), circuit
