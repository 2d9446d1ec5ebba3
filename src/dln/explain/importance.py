"""Circuit -> the share of each column in the points of its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


def column_shares(circuit: Circuit) -> NDArray[np.float64]:
    """Return a share for each column; they sum to 1, or are 0 if no rule reads a column.

    The points of a rule, from its lowest to its highest for a class, are divided equally among the
    columns that it reads. So the shares say how much of the model a column takes part in. They say
    nothing about how often a rule is true; use scikit-learn's permutation importance for that.

    >>> from dln import GATE_BY_NAME, Above, Circuit, Column, Node, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"), Column("dose", "number"), Column("name", "number")),
    ...     (Above(0, 54.0), Above(1, 0.5)), (Node(GATE_BY_NAME["AND"], 0, 1),),
    ...     (Rule(2, (0, 2)), Rule(0, (1, 3))), (0, 0), ("no", "yes"),
    ... )
    >>> column_shares(circuit).tolist()
    [0.75, 0.25, 0.0]
    """
    # One bit for each column that a wire depends on.
    reads = [1 << literal.column for literal in circuit.literals]
    for node in circuit.nodes:
        reads.append(reads[node.a] | reads[node.b])
    shares = np.zeros(len(circuit.columns))
    for rule in circuit.rules:
        columns = [number for number in range(len(shares)) if reads[rule.wire] >> number & 1]
        points = max(rule.votes) - min(rule.votes) if len(rule.votes) > 1 else abs(rule.votes[0])
        shares[columns] += points / max(len(columns), 1)
    total = shares.sum()
    return shares / total if total else shares
