"""A claim -> a file that proves it, for check_certificate.py, which shares no code with dln.

docs/reference/certificate.md describes the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dln._util.atomic_file import open_atomically
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.obedience import find_breach
from dln.core.readout import target_name
from dln.errors import CircuitError
from dln.prove.claim import Claim
from dln.prove.clock import Clock, TimeIsUpError
from dln.prove.lrat import Meaning
from dln.prove.parts import Atoms, Group
from dln.prove.refute import Lack, refute


def write_certificate(
    claims: Sequence[Claim],
    model: str,
    path: str,
    *,
    other: str | None = None,
    time_limit: float | None = 60.0,
) -> bool:
    """Write the proofs of claims about a model file; False if the time limit was reached.

    The claims must be true. `other` is the second model file of the claim that two are equal.
    """
    second = None if other is None else Path(other).read_bytes()
    document = certificate_of(claims, Path(model).read_bytes(), Clock(time_limit), second)
    if document is None:
        return False
    with open_atomically(path) as file:
        file.write(json.dumps(document, ensure_ascii=False).encode())
        file.write(b"\n")
    return True


def write_constraints_certificate(
    circuit: Circuit, constraints: Constraints, model: str, path: str
) -> None:
    """Write a certificate that a model file satisfies constraints.

    Raises `CircuitError` if that cannot be seen rule by rule.
    """
    with open_atomically(path) as file:
        document = constraints_certificate(circuit, constraints, Path(model).read_bytes())
        file.write(json.dumps(document, ensure_ascii=False).encode())
        file.write(b"\n")


def constraints_certificate(
    circuit: Circuit, constraints: Constraints, model: bytes
) -> dict[str, Any]:
    """Return the certificate that a circuit satisfies constraints, as plain values.

    It has no more than the question: the checker follows the literals to the rules by itself.
    """
    readout = circuit.readout
    target = target_name(readout)
    breach = find_breach(constraints, circuit.logic, readout.rules, readout.outputs, target)
    if breach is not None:
        raise CircuitError(
            "there is a certificate only if every rule satisfies the constraints, but "
            f"{breach}; train the model with the constraints"
        )
    question = {"kind": "constraints", **constraints.to_dict()}
    return _document("; ".join(constraints.lines(target)), model, question)


def certificate_of(
    claims: Sequence[Claim], model: bytes, clock: Clock, other: bytes | None = None
) -> dict[str, Any] | None:
    """Return the certificate as plain values; None if the time is over.

    Several claims must be about single rows of the same circuit.
    """
    search = claims[0].search
    if search.tables.has_definitions:
        raise CircuitError(
            "a rule has too many literals for a certificate; train with fewer layers, or prune"
        )
    try:
        refuted = refute(claims, clock)
    except TimeIsUpError:
        return None
    atoms = [
        ["".join("01"[int(bit)] for bit in atom) for atom in truths.T.tolist()]
        for truths in search.variables.truths
    ]
    tables: dict[Group, int] = {}
    question: Mapping[str, Any] = claims[0].question
    if len(claims) > 1:
        question = {"kind": "all", "questions": [dict(claim.question) for claim in claims]}
    return {
        **_document("; ".join(claim.text for claim in claims), model, question, other),
        "columns": search.names,
        "atoms": atoms,
        "variables": [_variable(meaning) for meaning in refuted.made.meanings],
        "sums": [_sum(lack, tables) for lack in refuted.lacks],
        "tables": [_table(group) for group in tables],
        "dimacs": refuted.made.dimacs(),
        "lrat": refuted.made.lrat(),
    }


def _variable(meaning: Meaning) -> list[Any]:
    """Return what a variable says as plain values."""
    match meaning:
        case "in", int(column), tuple(atoms):
            return ["in", column, _ranges(atoms)]
        case _:
            return list(meaning)


def _sum(lack: Lack, tables: dict[Group, int]) -> dict[str, Any]:
    """Return a sum of parts as plain values, and number its tables."""
    parts = [
        [tables.setdefault(part.group, len(tables)), part.least, *part.messages]
        for part in lack.parts
    ]
    return {"goal": lack.goal, "factors": lack.multipliers, "parts": parts}


def _table(group: Group) -> dict[str, Any]:
    axes = [[axis.variable, *axis.patterns] for axis in group.axes]
    return {"rules": group.rules, "columns": axes}


def _ranges(atoms: Atoms) -> list[tuple[int, int]]:
    """Return the first and the last of consecutive numbers.

    >>> _ranges((0, 1, 2, 5))
    [(0, 2), (5, 5)]
    """
    starts = [n for n, atom in enumerate(atoms) if n == 0 or atoms[n - 1] != atom - 1]
    ends = [*(start - 1 for start in starts[1:]), len(atoms) - 1]
    return [(atoms[first], atoms[last]) for first, last in zip(starts, ends, strict=True)]


def _document(
    text: str, model: bytes, question: Mapping[str, Any], other: bytes | None = None
) -> dict[str, Any]:
    second = {} if other is None else {"other_sha256": hashlib.sha256(other).hexdigest()}
    return {
        "format": "dln-certificate",
        "version": 4,
        "claim": text,
        "model_sha256": hashlib.sha256(model).hexdigest(),
        **second,
        "question": dict(question),
    }
