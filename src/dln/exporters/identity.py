"""The id of a model: equal circuits have the same id on every machine, different ones do not."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from dln.core.circuit import Circuit
from dln.core.model_file import circuit_to_json

_DIGITS = 16


def circuit_id(circuit: Circuit) -> str:
    """Return the id in every export of this circuit: 16 hexadecimal digits.

    It is the beginning of the SHA-256 of the circuit as JSON, in version 1 of the model file so
    that ids stay the same. The origin of the circuit and what was proven about it are left out,
    since they do not count when circuits are compared.

    >>> circuit_id(Circuit((), (), (), (), (0, 0), ("no", "yes")))
    'bb8434b010dcab6c'
    """
    plain = replace(circuit, origin=None, constraints=None, locked=(), edits=())
    text = circuit_to_json(plain, version=1)
    # Half a surrogate pair has no UTF-8; the model file spells it the same way.
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
