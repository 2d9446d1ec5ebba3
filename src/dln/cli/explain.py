"""`dln explain`: why a row gets its class, and what would change it."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.files import load_model
from dln.cli.layout import DETECT, Layout
from dln.cli.options import Data, Json, Model, Quiet
from dln.cli.output import print_result
from dln.cli.table_options import reads_table
from dln.errors import TableError


@reads_table
def explain(
    model: Model,
    data: Data,
    row: Annotated[
        int, typer.Option("--row", "-r", min=1, metavar="N", help="Number of the row, from 1.")
    ] = 1,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain the prediction of one row.

    Prints the rules that fired and the smallest change that flips the class.

    Example: dln explain heart.json patients.csv --row 3
    """
    from dln.cli.read import kinds_for, open_table, typed

    circuit = load_model(model)
    left = row
    with open_table(data, layout) as source:
        kinds = kinds_for(circuit, source)
        for chunk in source.chunks(list(kinds) or list(source.names[:1])):
            if left <= len(chunk):
                found = circuit.explain(typed(chunk.slice(left - 1, 1), kinds))
                print_result(found.to_json() if json else str(found))
                return
            left -= len(chunk)
    raise TableError(f"{data} has {row - left:,} rows; there is no row {row:,}")
