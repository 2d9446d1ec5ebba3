"""The question of a proof: whether the leads (see `miter`) or the classes of two circuits differ.

A question can be checked on simulated rows, and converted to logic for the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.prove.adder import is_negative, is_not_zero
from dln.prove.clock import Clock
from dln.prove.graph import TRUE, Graph
from dln.prove.miter import Leads, Miter, Sums
from dln.prove.simulate import Look, add_up_rows, find_difference, first_row

Aspect = OneOf["probabilities", "classes"]


@dataclass(frozen=True)
class Question:
    """Asks for a row on which two circuits differ.

    Attributes
    ----------
    nodes
        The nodes that the answer depends on.
    look
        Finds a row on which they differ among simulated rows.
    edges
        Returns edges of the graph: the circuits differ exactly if one of them is true. Takes the
        remaining difference of the leads.
    """

    nodes: frozenset[int]
    look: Look
    edges: Callable[[Sums], Iterator[int]]


def ask(miter: Miter, of: Aspect, clock: Clock) -> Question:
    """Make the question for an aspect."""
    return {"probabilities": _ask_leads, "classes": _ask_classes}[of](miter, clock)


def _ask_leads(miter: Miter, _: Clock) -> Question:
    return Question(
        frozenset(miter.sums.weights),
        partial(find_difference, miter.sums),
        partial(_unequal_leads, miter.graph),
    )


def _unequal_leads(graph: Graph, sums: Sums) -> Iterator[int]:
    for lead, constant in enumerate(sums.constant):
        weights = [(2 * node, leads[lead]) for node, leads in sums.weights.items() if leads[lead]]
        yield is_not_zero(graph, constant, weights)


def _ask_classes(miter: Miter, clock: Clock) -> Question:
    a, b = miter.sides
    return Question(
        frozenset([*a.weights, *b.weights]),
        partial(_find_other_winner, miter.sides),
        partial(_unequal_winners, miter, clock),
    )


def _find_other_winner(
    sides: tuple[Sums, Sums], bits: Mapping[int, int], n_rows: int
) -> int | None:
    a, b = (_winners(add_up_rows(side, bits, n_rows)) for side in sides)
    return first_row(a != b)


def _winners(leads: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the first class with the most votes, given the leads over the first class."""
    winners: NDArray[np.intp] = np.column_stack([np.zeros(len(leads)), leads]).argmax(axis=1)
    return winners


def _unequal_winners(miter: Miter, clock: Clock, _: Sums) -> Iterator[int]:
    graph = miter.graph
    wins_a, wins_b = (_wins(graph, side, clock) for side in miter.sides)
    # If all classes except one win or lose equally in both, so does that one.
    for a, b in list(zip(wins_a, wins_b, strict=True))[1:]:
        yield graph.differ(a, b)


def _wins(graph: Graph, side: Sums, clock: Clock) -> list[int]:
    """Make an edge for each class that is true if the class wins."""
    leads: list[Leads] = [side.constant, *side.weights.values()]
    columns = [(0,) * len(leads), *zip(*leads, strict=True)]
    edges = [2 * node for node in side.weights]
    wins = [TRUE] * len(columns)
    for first in range(len(columns)):
        for later in range(first + 1, len(columns)):
            clock.check()
            behind = [x - y for x, y in zip(columns[first], columns[later], strict=True)]
            weights = [(edge, w) for edge, w in zip(edges, behind[1:], strict=True) if w]
            # A tie goes to the class that comes first.
            beaten = is_negative(graph, behind[0], weights)
            wins[first] = graph.both(wins[first], beaten ^ 1)
            wins[later] = graph.both(wins[later], beaten)
    return wins
