"""`dln trends`: prove how each feature moves the classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from dln._util.messages import list_names
from dln.cli.asking import find_class
from dln.cli.files import load_model
from dln.cli.options import Json, Model, Quiet, TimeLimit
from dln.cli.output import no_such_column, print_json, print_message, print_result
from dln.core.circuit import Circuit
from dln.core.labels import Label, label_text
from dln.core.literals import format_text
from dln.core.values import cell_text, cell_to_json
from dln.core.verdict import Proof, Reversal, Undecided
from dln.errors import OptionError
from dln.explain.trends import find_trends
from dln.prove.clock import Clock
from dln.prove.monotone import Direction, prove_monotone

PROVEN, REFUTED, UNDECIDED = 0, 1, 3

Answer = tuple[Direction, str, Proof | Reversal | Undecided]


def trends(
    model: Model,
    label: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="The class to check.")
    ] = None,
    rising: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Check that the class never loses as this grows. Repeatable."
        ),
    ] = None,
    falling: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Check that the class never gains as this grows. Repeatable."
        ),
    ] = None,
    time_limit: TimeLimit = 60.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prove how each feature moves the prediction, others fixed.

    With --class and --rising or --falling: check only these, and print counterexamples. The exit
    status is then 0 if proven, 1 if refuted, 3 if undecided within the time limit.

    Example: dln trends heart.json --class ill --rising age --falling pulse
    """
    circuit = load_model(model)
    questions: list[tuple[Direction, str]] = [
        *(("rising", name) for name in rising or ()),
        *(("falling", name) for name in falling or ()),
    ]
    if not questions and label is None:
        found = find_trends(circuit, time_limit=time_limit)
        print_result(found.to_json() if json else found.to_text())
        if not quiet:
            _print_unordered(circuit)
        return
    asked = find_class(circuit, label, "--class")
    answers = _ask(circuit, asked, questions, time_limit)
    if json:
        print_json([_document(*answer) for answer in answers])
    else:
        print_result("\n".join(_line(circuit, asked, *answer) for answer in answers))
    raise typer.Exit(_status(result for _, _, result in answers))


def _ask(
    circuit: Circuit, label: Label, questions: list[tuple[Direction, str]], time_limit: float
) -> list[Answer]:
    if not questions:
        raise OptionError(
            "--class needs a column to check; add --rising COLUMN or --falling COLUMN"
        )
    known = [column.name for column in circuit.columns]
    for _, name in questions:
        if name not in known:
            raise OptionError(no_such_column(name, known))
    clock = Clock(time_limit)
    return [
        (way, name, prove_monotone(circuit, name, label, direction=way, time_limit=clock.left))
        for way, name in questions
    ]


def _print_unordered(circuit: Circuit) -> None:
    """Name the columns that the model reads but that cannot grow."""
    read = circuit.logic.used_columns
    names = [circuit.columns[place].name for place in read if not circuit.columns[place].is_numeric]
    if names:
        print_message(
            f"Categories have no order, so these columns have no trend: {list_names(names)}."
        )


def _line(
    circuit: Circuit, label: Label, way: Direction, name: str, result: Proof | Reversal | Undecided
) -> str:
    verb = "loses" if way == "rising" else "gains"
    claim = f"{label_text(label)} never {verb} as {format_text(name)} grows"
    if name not in {circuit.columns[literal.column].name for literal in circuit.literals}:
        return f"Proven: {claim}. The model does not read this column."
    if isinstance(result, Proof):
        return f"Proven: {claim} ({result.method}, {result.seconds:.2f} s)."
    if isinstance(result, Undecided):
        return f"Undecided after {result.seconds:.2f} s: {claim}. Raise --time-limit."
    return f"Refuted: {_refutation(circuit, label, way, result)}"


def _refutation(circuit: Circuit, label: Label, way: Direction, found: Reversal) -> str:
    """Describe two rows that refute a claim: "raising age from 0 to 50 costs 'ill' a vote."."""
    place = circuit.classes.index(label)

    def change(other: int) -> int:
        before, after = found.votes_before, found.votes_after
        return (after[place] - after[other]) - (before[place] - before[other])

    others = [number for number in range(len(circuit.classes)) if number != place]
    other = (min if way == "rising" else max)(others, key=change)
    n_votes = abs(change(other))
    votes = "a vote" if n_votes == 1 else f"{n_votes:,} votes"
    against = f" against {_class(circuit.classes[other])}" if len(others) > 1 else ""
    where = ", ".join(f"{format_text(n)} = {cell_text(cell)}" for n, cell in found.row.items())
    return (
        f"raising {format_text(found.feature)} from {cell_text(found.before)} to "
        f"{cell_text(found.after)} {'costs' if way == 'rising' else 'gives'} {_class(label)} "
        f"{votes}{against}" + (f", where {where}." if where else ".")
    )


def _class(label: Label) -> str:
    return repr(label) if isinstance(label, str) else f"class {label_text(label)}"


def _document(way: Direction, name: str, result: Proof | Reversal | Undecided) -> dict[str, Any]:
    question: dict[str, Any] = {"feature": name, "direction": way}
    if isinstance(result, Undecided):
        return {**question, "proven": None, "seconds": result.seconds}
    if isinstance(result, Proof):
        return {
            **question,
            "proven": True,
            "method": result.method,
            "seconds": result.seconds,
        }
    return {
        **question,
        "proven": False,
        "before": cell_to_json(result.before),
        "after": cell_to_json(result.after),
        "row": {column: cell_to_json(cell) for column, cell in result.row.items()},
        "votes_before": result.votes_before,
        "votes_after": result.votes_after,
        "seconds": result.seconds,
    }


def _status(results: Iterable[Proof | Reversal | Undecided]) -> int:
    kinds = {type(result) for result in results}
    return REFUTED if Reversal in kinds else UNDECIDED if Undecided in kinds else PROVEN
