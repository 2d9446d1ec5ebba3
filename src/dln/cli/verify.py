"""`dln verify`: prove that two models are the same, or show a row on which they differ."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from dln.cli.files import load_model
from dln.cli.options import Json, TimeLimit
from dln.cli.talk import show, show_json
from dln.prove.equal import prove_equal
from dln.prove.result import Counterexample, Proof, Undecided

EQUAL, DIFFERENT, UNDECIDED = 0, 1, 3


def verify(
    a: Annotated[str, typer.Argument(metavar="A", help="A saved circuit (JSON).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    time_limit: TimeLimit = 60.0,
    json: Json = False,
) -> None:
    """Prove that two models predict the same on every possible row, or show one that differs.

    The exit status is 0 if they are equal, 1 if they are not, 3 if that was not decided in time.

    Example: dln verify heart.json small.json
    """
    result = prove_equal(load_model(a), load_model(b), time_limit=time_limit)
    if json:
        show_json(_document(result))
    else:
        show(str(result))
    status = {Proof: EQUAL, Counterexample: DIFFERENT, Undecided: UNDECIDED}[type(result)]
    raise typer.Exit(status)


def _document(result: Proof | Counterexample | Undecided) -> dict[str, Any]:
    if isinstance(result, Proof):
        return {"equal": True, "method": result.method, "seconds": result.seconds}
    if isinstance(result, Undecided):
        return {"equal": None, "seconds": result.seconds}
    return {
        "equal": False,
        "row": {name: _plain(cell) for name, cell in result.row.items()},
        "votes_a": result.votes_a,
        "votes_b": result.votes_b,
        "seconds": result.seconds,
    }


def _plain(cell: Any) -> Any:
    """Spell what JSON has no number for."""
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell
