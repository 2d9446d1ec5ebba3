"""The id of a model: the same for equal circuits, on every machine, and different otherwise."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from dln.circuit import Circuit
from dln.store import circuit_to_json

_DIGITS = 16


def circuit_id(circuit: Circuit) -> str:
    """Give the id that every export of this circuit carries: 16 hexadecimal digits.

    It is the beginning of the SHA-256 of the circuit as JSON, without what is not compared: where
    it came from and what was proven about it.

    >>> circuit_id(Circuit((), (), (), (), (0, 0), ("no", "yes")))
    'bb8434b010dcab6c'
    """
    text = circuit_to_json(replace(circuit, origin=None))
    # Half a surrogate pair has no UTF-8; the model file spells it the same way.
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
