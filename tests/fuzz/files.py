"""Fuzz loading: a mutated file is a valid circuit or one `CircuitFileError`, and nothing else."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from typing import Any

from dln.core.circuit import Circuit
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.errors import CircuitFileError, TableError

from .draw import draw_rows, draw_text
from .predictors import as_table
from .reader import Model

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, -(2**31), 2**63, 10**40, 1.5, 1e308, -0.0),
    *("", "AND", "category", "x" * 300, "\x00", "\ud800", [], {}, [[]], [0, 1], {"date": "x"}),
    *({"moment": "2024-01-01"}, {"number": "inf"}, {"number": "nan"}, {"above": 1}, [None] * 9),
)
BYTES = (b"", b"{", b"}", b"[", b"]", b",", b'"', b"0", b"9" * 400, b"-", b"1e999", b"NaN", b"\xff")


def fuzz_files(rng: random.Random) -> int:
    """Mutate one random file many times, as bytes and as a JSON structure."""
    text, n_checks = draw_text(rng), 40
    for _ in range(n_checks):
        mutated = _edit_bytes(rng, text) if rng.random() < 0.5 else _edit_structure(rng, text)
        _check(rng, mutated)
    return n_checks


def _check(rng: random.Random, text: str) -> None:
    try:
        circuit = circuit_from_json(text)
    except CircuitFileError as error:
        message = str(error)
    else:
        _check_circuit(rng, circuit)
        message = ""
    assert "\n" not in message, message
    assert len(message) < 2000, message


def _check_circuit(rng: random.Random, circuit: Circuit) -> None:
    saved = circuit_to_json(circuit)
    assert circuit_from_json(saved) == circuit
    model = Model(saved)
    rows = draw_rows(rng, model, 3)
    # A mutated category column may list numbers only. Rows of text are then refused.
    with contextlib.suppress(TableError):
        found = circuit.votes(as_table(circuit, rows)).tolist()
        assert found == [model.votes(row) for row in rows]


def _edit_bytes(rng: random.Random, text: str) -> str:
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([0, 1, 1, 5, 50]))
        match rng.randrange(4):
            case 0:
                data[start:end] = rng.choice(BYTES)
            case 1:
                data[start:end] = rng.randbytes(end - start)
            case 2:
                data[start:start] = data[start:end]
            case _:
                del data[start if rng.random() < 0.2 else end :]
        if not data:
            break
    return data.decode("utf-8", "replace")


def _edit_structure(rng: random.Random, text: str) -> str:
    document = json.loads(text)
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(_places(document))
        match rng.randrange(5):
            case 0 | 1:
                holder[key] = copy.deepcopy(rng.choice(JUNK))
            case 2:
                del holder[key]
            case 3 if isinstance(holder, list):
                holder.insert(rng.randint(0, len(holder)), holder[key])
            case 3:
                name = rng.choice(["more", "name", "votes", "wire", ""])
                holder[name] = copy.deepcopy(rng.choice(JUNK))
            case _:
                other, place = rng.choice(_places(document))
                holder[key] = json.loads(json.dumps(other[place]))
        if not document:
            break
    return json.dumps(document)


def _places(node: Any) -> list[tuple[Any, Any]]:
    """List every place in a JSON structure, as its holder and the key or index in it."""
    if not isinstance(node, (dict, list)):
        return []
    keys = list(node) if isinstance(node, dict) else range(len(node))
    own = [(node, key) for key in keys]
    return own + [place for key in keys for place in _places(node[key])]
