"""`dln diff`: the conditions under which two models predict different classes."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.files import load_model
from dln.cli.layout import DETECT, Layout
from dln.cli.options import Json, Quiet, TimeLimit
from dln.cli.output import print_result
from dln.cli.prove import read_all
from dln.cli.table_options import reads_table
from dln.explain.differences import find_differences
from dln.prove.joint import join_circuits

SAME, DIFFERENT, UNDECIDED = 0, 1, 3


@reads_table
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="Model file (JSON).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another model file.")],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Table, to count rows that differ.")
    ] = None,
    rules: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show at most this many conditions.")
    ] = 10,
    time_limit: TimeLimit = 60.0,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the conditions under which two models disagree.

    The conditions are exact: all rows that fulfil one differ. If the first line says "exactly
    where", no other rows do. The exit status is 0 if the models never differ, 1 if they differ, 3
    if undecided within the time limit.

    Example: dln diff old.json new.json --data heart.csv
    """
    first, second = load_model(a), load_model(b)
    joint = join_circuits(first, second).circuit
    rows = None if data is None else read_all(joint, data, layout)
    found = find_differences(first, second, rows, n=rules, time_limit=time_limit)
    print_result(found.to_json() if json else found.to_text())
    raise typer.Exit(DIFFERENT if found.rules else SAME if found.complete else UNDECIDED)
