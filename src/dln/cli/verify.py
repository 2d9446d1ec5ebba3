"""`dln verify`: prove that two models are equal, or show a row on which they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from dln.cli.certificates import (
    check_certificate_output,
    print_not_written,
    write_checked_certificate,
)
from dln.cli.files import load_model
from dln.cli.options import Json, Quiet, TimeLimit
from dln.cli.output import print_json, print_result
from dln.core.labels import Label, label_text, label_to_json
from dln.core.values import cell_to_json
from dln.core.verdict import Counterexample, Proof, Undecided
from dln.prove.equal import prove_equal
from dln.prove.equality import equality_claim
from dln.prove.question import Aspect

Result = Proof | Counterexample | Undecided
EQUAL, DIFFERENT, UNDECIDED = 0, 1, 3


def verify(
    a: Annotated[str, typer.Argument(metavar="A", help="Model file (JSON).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another model file.")],
    classes: Annotated[
        bool, typer.Option("--classes", help="Compare only classes, not probabilities.")
    ] = False,
    tolerance: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="For numbers: how far apart they may be."),
    ] = 0.0,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the proof in DIMACS and LRAT, for check_certificate.py."
        ),
    ] = None,
    time_limit: TimeLimit = 60.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prove that two models are equal on every possible row.

    Equal models give the same class and the same probabilities, or with --classes the same class.
    Equal models of a number give the same number, or with --tolerance numbers that are near.
    If they differ, a row that shows it is printed. The exit status is 0 if equal, 1 if not equal,
    3 if undecided within the time limit.

    Example: dln verify heart.json small.json

    With a proof: dln verify heart.json small.json --certificate proof.json
    """
    if certificate is not None:
        for model, other in ((a, b), (b, a)):
            check_certificate_output(certificate, model, other)
    first, second = load_model(a), load_model(b)
    of: Aspect = "classes" if classes else "probabilities"
    result = prove_equal(first, second, of=of, tolerance=tolerance, time_limit=time_limit)
    labels = first.classes if first.task == "classes" else ()
    if json:
        print_json(_document(result, labels))
    else:
        print_result("\n".join([str(result), *_classes_line(result, labels)]))
    if certificate is not None and result:
        claim = equality_claim(first, second, of=of, tolerance=tolerance)
        write_checked_certificate([claim], a, certificate, time_limit, other=b, quiet=quiet)
    elif certificate is not None:
        print_not_written(certificate, quiet=quiet)
    status = {Proof: EQUAL, Counterexample: DIFFERENT, Undecided: UNDECIDED}[type(result)]
    raise typer.Exit(status)


def _classes_line(result: Result, classes: tuple[Label, ...]) -> Iterator[str]:
    """Describe whether the models also predict different classes."""
    if isinstance(result, Counterexample) and classes:
        a, b = (label_text(_winner(votes, classes)) for votes in (result.votes_a, result.votes_b))
        yield f"The classes differ: {a} and {b}." if a != b else f"Both models predict {a}."


def _winner(votes: tuple[int, ...], classes: tuple[Label, ...]) -> Label:
    return classes[votes.index(max(votes))]


def _document(result: Result, classes: tuple[Label, ...]) -> dict[str, Any]:
    if isinstance(result, Proof):
        return {"equal": True, "method": result.method, "seconds": result.seconds}
    if isinstance(result, Undecided):
        return {"equal": None, "seconds": result.seconds}
    row = {name: cell_to_json(cell) for name, cell in result.row.items()}
    if result.numbers is not None:
        a, b = result.numbers
        return {
            "equal": False,
            "row": row,
            "number_a": a,
            "number_b": b,
            "seconds": result.seconds,
        }
    return {
        "equal": False,
        "row": row,
        "votes_a": result.votes_a,
        "votes_b": result.votes_b,
        "class_a": label_to_json(_winner(result.votes_a, classes)),
        "class_b": label_to_json(_winner(result.votes_b, classes)),
        "seconds": result.seconds,
    }
