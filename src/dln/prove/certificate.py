"""A claim -> a file that proves it, for check_certificate.py, which shares no code with dln.

docs/guides/audit.md describes the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from dln._util.atomic_file import open_atomically
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.obedience import find_breach
from dln.core.readout import target_name
from dln.errors import CircuitError
from dln.prove.claim import Claim
from dln.prove.clock import Clock
from dln.prove.search import BoxProof, Search


def write_certificate(
    claims: Sequence[Claim], model: str, path: str, *, time_limit: float | None = 60.0
) -> bool:
    """Write the proofs of claims about a model file; False if the time limit was reached.

    The claims must be true.
    """
    document = certificate_of(claims, Path(model).read_bytes(), Clock(time_limit))
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


def certificate_of(claims: Sequence[Claim], model: bytes, clock: Clock) -> dict[str, Any] | None:
    """Return the certificate as plain values; None if the time is over.

    Several claims must be about single rows of the same circuit.
    """
    first, search = claims[0], claims[0].search
    if search.tables.has_definitions:
        raise CircuitError(
            "a rule has too many literals for a certificate; train with fewer layers, or prune"
        )
    proofs = []
    for claim in claims:
        for goal in claim.goals:
            left = math.inf if clock.left is None else clock.left
            proof = search.prove(claim.region.box, goal, seconds=left)
            if proof is None:
                return None
            proofs.append(_proof_to_json(proof))
    atoms = [
        ["".join("01"[int(bit)] for bit in atom) for atom in truths.T.tolist()]
        for truths in search.variables.truths
    ]
    question: Mapping[str, Any] = first.question
    if len(claims) > 1:
        question = {"kind": "all", "questions": [dict(claim.question) for claim in claims]}
    return {
        **_document("; ".join(claim.text for claim in claims), model, question),
        "columns": search.names,
        "atoms": atoms,
        "tables": _tables(search),
        "proofs": proofs,
    }


def _proof_to_json(proof: BoxProof) -> dict[str, Any]:
    tree, messages, starts, multipliers = (part.tolist() for part in proof)
    return {
        "tree": tree,
        "messages": [messages[first:last] for first, last in pairwise(starts)],
        "multipliers": multipliers,
    }


def _document(text: str, model: bytes, question: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": "dln-certificate",
        "version": 2,
        "claim": text,
        "model_sha256": hashlib.sha256(model).hexdigest(),
        "question": dict(question),
    }


def _tables(search: Search) -> list[dict[str, Any]]:
    given, rules = search.tables.arguments, search.tables.rules
    sizes, starts = given["n_atoms"].tolist(), given["factor_start"].tolist()
    tables, at = [], 0
    for number, of_table in enumerate(rules):
        scope = given["scope"][starts[number] : starts[number + 1]].tolist()
        patterns = []
        for column in scope:
            patterns.append(given["pattern"][at : at + sizes[column]].tolist())
            at += sizes[column]
        tables.append({"rules": list(of_table), "columns": scope, "patterns": patterns})
    return tables
