"""Claims that a report proves or refutes: constraints, ranges, independent columns, robust rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from dln.core.circuit import Circuit
from dln.core.verdict import Proof, Undecided
from dln.prove.certify import independence_claim
from dln.prove.claim import Claim, decide
from dln.prove.constraints import prove_constraints
from dln.prove.numbers import number_range_claim
from dln.prove.robust import prove_robust

_SECONDS = 20.0
"""Time limit for each claim."""
_MOST_ROWS = 5
"""Refuted rows that are shown."""


@dataclass(frozen=True)
class Certified:
    """A claim and its result, in words; `details` are counterexamples."""

    claim: str
    result: OneOf["proven", "refuted", "undecided"]
    details: tuple[str, ...] = ()


def certify(
    circuit: Circuit,
    X: Any,
    independent: Sequence[str | Sequence[str]],
    tolerances: Mapping[str, float],
    *,
    limits: tuple[float | None, float | None] = (None, None),
    rows: bool,
    numbers: Sequence[int] | None,
    row_word: str,
) -> list[Certified]:
    """Decide the claims. Without `rows`, no detail contains a value of a row.

    `limits` are the lowest and the highest prediction that a number may have.
    """
    data = X if rows else None
    found = _constraints(circuit)
    if any(limit is not None for limit in limits):
        found.append(_decided(number_range_claim(circuit, *limits, {}, data)))
    for names in independent:
        columns = [names] if isinstance(names, str) else list(names)
        found.append(_decided(independence_claim(circuit, columns, {}, data)))
    if tolerances:
        found.append(_robustness(circuit, X, tolerances, rows, numbers, row_word))
    return found


def _constraints(circuit: Circuit) -> list[Certified]:
    """Prove again what the circuit was trained to satisfy."""
    if circuit.constraints is None:
        return []
    proofs = prove_constraints(circuit, time_limit=_SECONDS)
    found = []
    for claim, verdict in zip(proofs.claims, proofs.verdicts, strict=True):
        assert isinstance(verdict, Proof)  # a circuit that breaks a constraint cannot be made
        how = "Every rule satisfies it."
        if verdict.method != "structure":
            how = f"{how} Also proven for all rules together ({verdict.method})."
        found.append(Certified(f"For every possible row, {claim}.", "proven", (how,)))
    return found


def _decided(claim: Claim) -> Certified:
    verdict = decide(claim, _SECONDS)
    text = f"For every possible row, {claim.text}."
    if isinstance(verdict, Proof):
        return Certified(text, "proven")
    if isinstance(verdict, Undecided):
        return Certified(text, "undecided")
    return Certified(text, "refuted", (_example(verdict),))


def _robustness(
    circuit: Circuit,
    X: Any,
    tolerances: Mapping[str, float],
    rows: bool,
    numbers: Sequence[int] | None,
    row_word: str,
) -> Certified:
    found = prove_robust(circuit, X, tolerances, time_limit=_SECONDS)
    steps = ", ".join(f"{name} ± {tolerance:g}" for name, tolerance in tolerances.items())
    claim = f"No change within these tolerances changes the class of a {row_word}: {steps}."
    n_rows, n_proven, n_refuted = map(
        int, (len(found.certified), found.certified.sum(), found.refuted.sum())
    )
    n_open = n_rows - n_proven - n_refuted
    count = f"Proven for {n_proven:,} of {n_rows:,} {row_word}s, refuted for {n_refuted:,}"
    details = [f"{count}, undecided for {n_open:,}." if n_open else f"{count}."]
    if rows:
        for place, violation in list(found.violations.items())[:_MOST_ROWS]:
            number = place + 1 if numbers is None else numbers[place]
            details.append(f"Row {number}: {_example(violation)}")
    result = "refuted" if n_refuted else "undecided" if n_open else "proven"
    return Certified(claim, result, tuple(details))  # type: ignore[arg-type]


def _example(verdict: object) -> str:
    text = str(verdict).removeprefix("refuted: ")
    return f"{text[:1].upper()}{text[1:]}."
