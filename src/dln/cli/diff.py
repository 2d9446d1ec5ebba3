"""`dln diff`: the conditions under which two models predict different classes or numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.files import load_model
from dln.cli.layout import DETECT, Layout
from dln.cli.options import Json, Quiet, TimeLimit
from dln.cli.output import print_result
from dln.cli.prove import read_all
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.explain.differences import find_differences
from dln.prove.joint import join_circuits, subtract_circuits

SAME, DIFFERENT, UNDECIDED = 0, 1, 3


@reads_table
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="Model file (JSON).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another model file.")],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Table, to count rows that differ.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0, metavar="NUMBER", help="For numbers: ignore differences up to this."),
    ] = 0.0,
    rules: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show at most this many conditions.")
    ] = 10,
    time_limit: TimeLimit = 60.0,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the conditions under which two models disagree.

    The models differ on all rows that fulfil a condition; "yes and no" means that the first model
    predicts yes, the second no. If the first line says "exactly where", they differ on no other
    rows. The exit status is 0 if the models never differ, 1 if they differ, 3 if undecided within
    the time limit.

    Example: dln diff old.json new.json --data heart.csv
    """
    first, second = load_model(a), load_model(b)
    rows = None if data is None else read_all(_joined(first, second), data, layout)
    found = find_differences(
        first, second, rows, tolerance=tolerance, n=rules, time_limit=time_limit
    )
    print_result(found.to_json() if json else found.to_text())
    raise typer.Exit(DIFFERENT if found.rules else SAME if found.complete else UNDECIDED)


def _joined(a: Circuit, b: Circuit) -> Circuit:
    """Return a circuit with the columns of both."""
    predict_numbers = a.task == b.task == "number"
    return subtract_circuits(a, b) if predict_numbers else join_circuits(a, b).circuit
