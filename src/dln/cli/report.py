"""`dln report`: everything there is to know about a model, in one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dln.circuit import Circuit
from dln.cli.files import STANDARD, check_output, load_model, open_output
from dln.cli.holdout import data_name, digest_of, split_again
from dln.cli.layout import Layout
from dln.cli.options import Encoding, Model, Quiet, Separator
from dln.cli.talk import say
from dln.errors import OptionError

if TYPE_CHECKING:
    from dln.report import DataNote, Report

_UNSEEN = "the rows that were held out when the model was trained"
_SEEN = "the same rows that the model was trained on: expect less of it on others"


def report(
    model: Model,
    data: Annotated[
        str,
        typer.Option(
            "--data", "-d", metavar="DATA", help="Test rows: CSV, TSV or Parquet, in gzip too."
        ),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the HTML; - to pipe."),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column with the class of each row; that of the training unless given.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="The heading.", show_default=False)] = "",
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    quiet: Quiet = False,
) -> None:
    """Write a report that can be mailed: accuracy, rules, diagram, and the model to try out.

    One HTML file that needs no network. Where DATA is the very file that the model was trained on,
    the rows that were held out then are taken.

    Example: dln report heart.json --data heart.csv --output heart.html
    """
    check_output(output, model, data)
    circuit = load_model(model)
    made, note = _make(circuit, data, Layout(encoding, separator), _target(circuit, target), title)
    with open_output(output) as stream:
        stream.write(made.html.encode("utf-8", "backslashreplace"))
    if not quiet:
        say(f"tested on {note.name}" + (f", {note.note}" if note.note else ""))
        if output != STANDARD:
            say(f"wrote {output} ({len(made.html) / 1000:,.0f} kB); open it in a browser")


def _target(circuit: Circuit, target: str | None) -> str:
    if target is not None:
        return target
    if circuit.origin is None:
        raise OptionError("the model does not tell its target; name the column with --target")
    return circuit.origin.target


def _make(
    circuit: Circuit, path: str, layout: Layout, target: str, title: str
) -> tuple[Report, DataNote]:
    from dln.cli.labelled import read_labelled
    from dln.report import DataNote, make_report

    X, y = read_labelled(path, layout, circuit, target)
    digest = digest_of(path)
    note, numbers = "", None
    split = split_again(circuit, y, digest)
    if split is not None:
        _, held_out = split
        note = _SEEN
        if len(held_out):
            X, y, note = X.take(held_out), y[held_out], _UNSEEN
            numbers = tuple((held_out + 1).tolist())
    about = DataNote(data_name(path), digest, note, numbers)
    return make_report(circuit, X, y, title=title, data=about), about
