"""Merge nodes that are equal on every possible row, even if their structure differs.

Side conditions are used: `x > 3 and x > 5` is `x > 5`. Promise: every row keeps its votes.
"""

from __future__ import annotations

from collections.abc import Sequence

from dln.core.circuit import Circuit
from dln.shrink.simplify.claims import Limits
from dln.shrink.simplify.net import Net, leaf_cost
from dln.shrink.simplify.samples import Samples

_MOST_TRIES = 4
"""Number of candidates that are tried for each node."""


def merge_equal(circuit: Circuit, limits: Limits = Limits()) -> Circuit:  # noqa: B008
    """Connect the readers of each node to the first node that is equal or opposite to it.

    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> both = Node(GATE_BY_NAME["AND"], 0, 1)
    >>> merged = merge_equal(Circuit((Column("x", "number"),), (Above(0, 3.0), Above(0, 5.0)),
    ...                      (both,), (Rule(2, (0, 1)),), (0, 0), ("no", "yes")))
    >>> merged.literals, merged.n_gates
    ((Above(column=0, cutoff=5.0),), 0)
    """
    net = Net(circuit.logic, circuit.readout.wires)
    samples = Samples(net, limits)
    heads: dict[int, list[int]] = {}
    for node in [0, *_literals_by_cost(net), *net.gates]:
        if node and not net.is_read(node):
            continue
        samples.renew_meaning(node)  # its inputs may have been replaced
        # A head without readers has been removed, with its inputs.
        likely = [head for head in heads.get(_key(samples, node), ()) if net.is_kept(head)]
        partner = _find_equal(samples, likely, node)
        if partner is None:
            heads.setdefault(_key(samples, node), []).append(node)
        else:
            net.replace(node, partner)
    return net.to_circuit(circuit.readout)


def _literals_by_cost(net: Net) -> list[int]:
    """List the literals, cheapest first: the others are replaced by them."""
    return sorted(range(1, net.n_leaves), key=lambda leaf: (leaf_cost(net, leaf), leaf))


def _find_equal(samples: Samples, likely: Sequence[int], node: int) -> int | None:
    """Return an edge of another node that equals this node, or None."""
    for head in likely[:_MOST_TRIES]:
        edge = 2 * head + ((samples.bits[head] ^ samples.bits[node]) & 1)
        verdict = samples.claims.are_equal(samples.meaning_of(edge), samples.meaning[node])
        if verdict.equal:
            return edge
    return None


def _key(samples: Samples, node: int) -> int:
    """Return a key that equal and opposite nodes share."""
    bits = samples.bits[node]
    return bits ^ samples.ones if bits & 1 else bits
