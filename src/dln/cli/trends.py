"""`dln trends`: which way each feature moves a class, proven."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from dln.cells import cell_to_json
from dln.circuit import Circuit
from dln.cli.files import load_model
from dln.cli.options import Json, Model, TimeLimit
from dln.cli.talk import show, show_json, unknown
from dln.errors import OptionError
from dln.explain.trends import find_trends
from dln.labels import Label, label_text
from dln.prove.clock import Clock
from dln.prove.monotone import Direction, prove_monotone
from dln.prove.result import Proof, Reversal, Undecided

SO, NOT_SO, UNDECIDED = 0, 1, 3

Answer = tuple[Direction, str, Proof | Reversal | Undecided]


def trends(
    model: Model,
    label: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="The class that is asked about.")
    ] = None,
    rising: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Ask: does the class never lose as this grows?"),
    ] = None,
    falling: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Ask: does the class never gain as this grows?"),
    ] = None,
    time_limit: TimeLimit = 60.0,
    json: Json = False,
) -> None:
    """Prove which way each feature moves the classes as it grows, all else being equal.

    With --class, --rising and --falling, which can be given often, only that is asked, and rows are
    shown that go against it. The exit status is 0 if all is so, 1 if something is not, 3 if
    something was not decided in time.

    Example: dln trends heart.json --class ill --rising age --falling pulse
    """
    circuit = load_model(model)
    questions: list[tuple[Direction, str]] = [
        *(("rising", name) for name in rising or ()),
        *(("falling", name) for name in falling or ()),
    ]
    if not questions and label is None:
        found = find_trends(circuit, time_limit=time_limit)
        show(found.to_json() if json else found.to_text())
        return
    answers = _ask(circuit, _find_class(circuit, label), questions, time_limit)
    if json:
        show_json([_document(*answer) for answer in answers])
    else:
        show("\n".join(_line(*answer) for answer in answers))
    raise typer.Exit(_status(result for _, _, result in answers))


def _ask(
    circuit: Circuit, label: Label, questions: list[tuple[Direction, str]], time_limit: float
) -> list[Answer]:
    if not questions:
        raise OptionError("--class asks nothing alone; say --rising COLUMN or --falling COLUMN")
    known = [column.name for column in circuit.columns]
    for _, name in questions:
        if name not in known:
            raise OptionError(unknown(name, known))
    clock = Clock(time_limit)
    return [
        (way, name, prove_monotone(circuit, name, label, direction=way, time_limit=clock.left))
        for way, name in questions
    ]


def _find_class(circuit: Circuit, text: str | None) -> Label:
    """Find a class by what rules call it, or by its plain text."""
    for label in circuit.classes:
        if text in (label_text(label), str(label)):
            return label
    classes = ", ".join(map(label_text, circuit.classes))
    found = "--class is missing" if text is None else f"there is no class {text!r}"
    raise OptionError(f"{found}; the classes are: {classes}")


def _line(way: Direction, name: str, result: Proof | Reversal | Undecided) -> str:
    return str(result) if isinstance(result, Proof) else f"{way} {name}: {result}"


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
    return NOT_SO if Reversal in kinds else UNDECIDED if Undecided in kinds else SO
