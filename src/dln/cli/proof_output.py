"""How `dln prove` prints verdicts: as text, or as JSON."""

from __future__ import annotations

import math
from typing import Any

from dln.core.labels import label_to_json
from dln.core.values import cell_to_json
from dln.core.verdict import Proof, Undecided, Violation
from dln.prove.claim import Claim, Verdict
from dln.prove.constraints import ConstraintProofs
from dln.prove.robust import Robustness
from dln.prove.share import Share

MOST_RADIUS = 100.0
"""Larger radii are not searched for."""


def proofs_text(proofs: ConstraintProofs) -> str:
    """Write the verdict about each constraint."""
    lines = []
    for claim, verdict in zip(proofs.claims, proofs.verdicts, strict=True):
        if isinstance(verdict, Proof):
            lines.append(f"Proven: {claim} ({verdict.method}, {verdict.seconds:.2f} s).")
        elif isinstance(verdict, Undecided):
            lines.append(f"Undecided after {verdict.seconds:.2f} s: {claim}. Raise --time-limit.")
        else:
            lines.append(f"Refuted: {claim}.\n{str(verdict).removeprefix('refuted: ')}")
    return "\n".join(lines)


def proofs_document(proofs: ConstraintProofs) -> dict[str, Any]:
    """Return the verdict about each constraint as plain values."""
    return {
        "proven": True if proofs else False if proofs.refuted else None,
        "constraints": [
            {
                "claim": claim,
                "proven": None if isinstance(verdict, Undecided) else bool(verdict),
                **({"method": verdict.method} if isinstance(verdict, Proof) else {}),
                **({} if verdict else {"reason": str(verdict)}),
                "seconds": verdict.seconds,
            }
            for claim, verdict in zip(proofs.claims, proofs.verdicts, strict=True)
        ],
    }


def rows_document(
    found: Robustness, radii: list[float] | None, shares: list[Share] | None
) -> dict[str, Any]:
    """Return the result of --robust as plain values."""
    document: dict[str, Any] = {}
    if radii is not None:
        document["radii"] = [None if math.isnan(each) else each for each in radii]
        document["most_radius"] = MOST_RADIUS
    if shares is not None:
        document["box_shares"] = [_share_document(share) for share in shares]
    return {
        **document,
        "certified": found.certified.tolist(),
        "refuted": found.refuted.tolist(),
        "share": found.share,
        "violations": {
            place + 1: _violation_document(violation)
            for place, violation in found.violations.items()
        },
        "seconds": found.seconds,
    }


def rows_text(found: Robustness, radii: list[float] | None, shares: list[Share] | None) -> str:
    """Write the result of --robust."""
    lines = [str(found)]
    for place, violation in list(found.violations.items())[:5]:
        share = "" if shares is None else f"; {shares[place]}"
        lines.append(f"  row {place + 1}: {violation}{share}")
    if len(found.violations) > 5:
        lines.append(f"  and {len(found.violations) - 5} more; see --json")
    return "\n".join([*lines, *_radius_lines(radii or [])])


def _radius_lines(radii: list[float]) -> list[str]:
    """Describe how many times the tolerances are safe, and list the rows with the least."""
    known = sorted((each, place) for place, each in enumerate(radii) if not math.isnan(each))
    if not known:
        return ["radius: undecided for all rows"] if radii else []
    texts = [_radius_text(known[at][0]) for at in (0, len(known) // 2, -1)]
    undecided = len(radii) - len(known)
    more = f"; undecided for {undecided}" if undecided else ""
    first = (
        f"radius, in multiples of the tolerances: smallest {texts[0]}, median {texts[1]}, "
        f"largest {texts[2]}{more}"
    )
    return [first, *(f"  row {place + 1}: {_radius_text(each)}" for each, place in known[:5])]


def _radius_text(radius: float) -> str:
    return f"{radius:.3g}" if radius < MOST_RADIUS else f"{MOST_RADIUS:g} or more"


def verdict_text(claim: Claim, verdict: Verdict, share: Share | None) -> str:
    """Write a verdict, and how much violates the claim."""
    more = "" if share is None else f"\nShare: {share}."
    if isinstance(verdict, Proof):
        return f"Proven: {claim.text} ({verdict.method}, {verdict.seconds:.2f} s)."
    if isinstance(verdict, Undecided):
        text = f"Undecided after {verdict.seconds:.2f} s: {claim.text}. Raise --time-limit."
        return text + more
    return f"Refuted: {claim.text}.\n{str(verdict).removeprefix('refuted: ')}{more}"


def verdict_document(claim: Claim, verdict: Verdict, share: Share | None) -> dict[str, Any]:
    """Return a verdict as plain values."""
    document: dict[str, Any] = {"claim": claim.text, "question": dict(claim.question)}
    document["proven"] = None if isinstance(verdict, Undecided) else bool(verdict)
    if isinstance(verdict, Proof):
        document["method"] = verdict.method
    if isinstance(verdict, Violation):
        document |= _violation_document(verdict)
    if share is not None:
        document["share"] = _share_document(share)
    return {**document, "seconds": verdict.seconds}


def _share_document(share: Share) -> dict[str, Any]:
    rows = {"n_rows": share.n_rows, "n_violating": share.n_violating}
    return {
        **(rows if share.n_rows is not None else {}),
        "lower": share.lower,
        "upper": share.upper,
        "estimate": share.estimate,
        "seconds": share.seconds,
    }


def _violation_document(found: Violation) -> dict[str, Any]:
    document: dict[str, Any] = {
        "row": {name: cell_to_json(cell) for name, cell in found.row.items()},
        "class": label_to_json(found.label),
        "votes": list(found.votes),
    }
    if found.label_after is not None:
        document["changed"] = {name: cell_to_json(cell) for name, cell in found.changed.items()}
        document["class_after"] = label_to_json(found.label_after)
    return document
