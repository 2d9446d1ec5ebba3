"""Replace nodes by simpler ones if no vote depends on the difference.

In `x > 5 and (x > 3 or y)` the second part can be replaced by true, because it matters only if
`x > 5`. Promise: the votes of every row stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from dln.core.circuit import Circuit
from dln.shrink.simplify.claims import Limits
from dln.shrink.simplify.net import XOR, Net, leaf_cost
from dln.shrink.simplify.samples import Samples

_MOST_TRIES = 6
"""Number of likely replacements of a node that are tried."""
_MANY_NODES = 2_000
"""In larger circuits a gate is compared only with its neighbours, which keeps the time linear."""


def replace_unseen(circuit: Circuit, limits: Limits = Limits()) -> Circuit:  # noqa: B008
    """Replace literals and gates by constants, literals or other gates with the same effect.

    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> columns = Column("x", "number"), Column("y", "boolean")
    >>> inner, outer = Node(GATE_BY_NAME["OR"], 0, 2), Node(GATE_BY_NAME["AND"], 1, 3)
    >>> circuit = Circuit(columns, (Above(0, 3.0), Above(0, 5.0), Above(1, 0.5)),
    ...                   (inner, outer), (Rule(4, (0, 1)),), (0, 0), ("no", "yes"))
    >>> replace_unseen(circuit).literals
    (Above(column=0, cutoff=5.0),)
    """
    net = Net(circuit.logic, circuit.readout.wires)
    samples = Samples(net, limits)
    for node in _worthwhile_first(net):
        if samples.claims.are_over:
            break
        if not net.is_read(node):
            continue
        edge = _find_replacement(net, samples, node)
        if edge is not None:
            _replace(net, samples, node, edge)
        elif net.kinds[node] == XOR:
            _weaken_xor(net, samples, node)
    return net.to_circuit(circuit.readout)


def _worthwhile_first(net: Net) -> list[int]:
    """List the literals, most expensive first, then the gates, those closest to the votes first."""
    literals = sorted(range(1, net.n_leaves), key=lambda leaf: (-leaf_cost(net, leaf), leaf))
    return [*literals, *reversed(net.gates)]


def _find_replacement(net: Net, samples: Samples, node: int) -> int | None:
    """Find an edge that may replace a node, proven for all possible rows."""
    tried: set[int] = set()
    while len(tried) < _MOST_TRIES:
        # Searched again each time: a row that refutes one candidate may refute others too.
        likely = (edge for edge in _likely(net, samples, node) if edge not in tried)
        edge = next(likely, None)
        if edge is None or _keeps_votes(net, samples, node, samples.meaning_of(edge)):
            return edge
        tried.add(edge)
    return None


def _find_seen(net: Net, samples: Samples, node: int) -> int:
    """Return the sample rows on which a rule changes if the node changes."""
    flipped = samples.follow_bits(node, samples.bits[node] ^ samples.ones)
    seen = 0
    for reached, bits in flipped.items():
        if net.root_readers[reached]:
            seen |= bits ^ samples.bits[reached]
    return seen


def _likely(net: Net, samples: Samples, node: int) -> Iterator[int]:
    """Return the edges that have the same effect as the node on all sample rows."""
    own = samples.bits[node]
    seen = _find_seen(net, samples, node)
    for place, other in enumerate(_candidates(net, node)):
        if place % 16 == 0:
            samples.claims.spend(1)
        if not net.is_kept(other):
            continue
        different = (samples.bits[other] ^ own) & seen
        if different == 0:
            yield 2 * other
        elif different == seen:
            yield 2 * other + 1


def _candidates(net: Net, node: int) -> Iterator[int]:
    """Return nodes that may replace a node, cheapest first. None of them depends on it."""
    yield 0
    if node < net.n_leaves:
        # Literals of the same column first, so that the rule stays similar.
        alike = net.leaves_of_column(node)
        yield from (leaf for leaf in alike if leaf != node)
        if net.n_leaves < _MANY_NODES:
            yield from sorted(set(range(1, net.n_leaves)).difference(alike))
    elif net.n_nodes < _MANY_NODES:
        yield from range(1, node)
    else:
        near = {edge >> 1 for edge in net.inputs[node]}
        near |= {edge >> 1 for source in near for edge in net.inputs[source]}
        yield from sorted(near - {0})


def _keeps_votes(net: Net, samples: Samples, node: int, meaning: int) -> bool:
    """Prove that all rules stay the same on every possible row if the node has this meaning."""
    for reached, new in samples.follow_meaning(node, meaning).items():
        if net.root_readers[reached]:
            verdict = samples.claims.are_equal(new, samples.meaning[reached])
            if not verdict.equal:
                if verdict.row is not None:
                    samples.refine(verdict.row)
                return False
    return True


def _weaken_xor(net: Net, samples: Samples, node: int) -> None:
    """Replace an XOR by an AND of some polarity, if one case of its inputs never matters.

    If x and y are never both true, for example, `x xor y` is `x or y`: a third of the operations.
    """
    x, y = net.inputs[node]
    seen = _find_seen(net, samples, node)
    for a, b in ((x, y), (x, y ^ 1), (x ^ 1, y), (x ^ 1, y ^ 1)):
        if samples.value(a) & samples.value(b) & seen:
            continue
        # Without the case "a and b", a xor b is a or b, which is not (not a and not b).
        negated = 1 ^ (x ^ y ^ a ^ b) & 1
        neither = samples.graph.both(samples.meaning_of(a) ^ 1, samples.meaning_of(b) ^ 1)
        if _keeps_votes(net, samples, node, neither ^ negated):
            net.become_and(node, a ^ 1, b ^ 1, negated=bool(negated))
            samples.recompute()
            return


def _replace(net: Net, samples: Samples, node: int, edge: int) -> None:
    for reached, bits in samples.follow_bits(node, samples.value(edge)).items():
        samples.bits[reached] = bits
    for reached, meaning in samples.follow_meaning(node, samples.meaning_of(edge)).items():
        samples.meaning[reached] = meaning
    net.replace(node, edge)
