"""Circuit + rows -> which of its wires are 1.

Promise: rows are read and wires are evaluated by the same code as in prediction. A helper circuit
encodes the wires in its votes: 30 wires for each class, since votes have 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.parts import Rule
from dln.core.readout import Votes

_WIRES_PER_CLASS = 30


def wire_values(circuit: Circuit, wires: Sequence[int], X: Any) -> NDArray[np.bool_]:
    """Return which wires are 1 in each row: (n_rows, n_wires).

    >>> from dln import Above, Circuit, Column
    >>> circuit = Circuit((Column("x", "number"),), (Above(0, 1.0),), (), (), (0,), ("a",))
    >>> wire_values(circuit, [0], [[0.5], [1.5]]).tolist()
    [[False], [True]]
    """
    n_classes = max(1, -(-len(wires) // _WIRES_PER_CLASS))
    rules = []
    for number, wire in enumerate(wires):
        votes = [0] * n_classes
        votes[number // _WIRES_PER_CLASS] = 1 << number % _WIRES_PER_CLASS
        rules.append(Rule(wire, tuple(votes)))
    readout = Votes(tuple(rules), (0,) * n_classes, tuple(range(n_classes)))
    helper = Circuit(logic=circuit.logic, readout=readout)
    encoded = np.asfortranarray(helper.votes(X))  # read class by class and wire by wire
    values = np.empty((len(encoded), len(wires)), dtype=bool, order="F")
    for number in range(len(wires)):
        place, bit = divmod(number, _WIRES_PER_CLASS)
        values[:, number] = encoded[:, place] >> bit & 1
    return values
