"""Remove constants, copies, negations, duplicates and parts that no vote depends on.

Promise: the votes of every row stay the same.
"""

from __future__ import annotations

from dln.core.circuit import Circuit
from dln.shrink.simplify.rebuild import rebuild


def fold(circuit: Circuit) -> Circuit:
    """Fold a circuit, in one pass from the literals to the votes.

    >>> from dln.core.parts import Node, Rule
    >>> from dln import GATE_BY_NAME
    >>> from dln.core.literals import Above, Column
    >>> copy = Node(GATE_BY_NAME["A"], 0, 0)
    >>> folded = fold(Circuit((Column("x", "number"),), (Above(0, 1.0),), (copy, copy),
    ...               (Rule(1, (0, 1)), Rule(2, (0, 1))), (0, 0), ("no", "yes")))
    >>> folded.n_gates, folded.rules
    (0, (Rule(wire=0, votes=(0, 2)),))
    """
    return rebuild(circuit)
