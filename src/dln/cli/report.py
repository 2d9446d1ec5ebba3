"""`dln report`: write a report on a model as one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dln.cli.asking import find_names
from dln.cli.conditions import read_numbers
from dln.cli.files import STANDARD, check_output, load_model, open_output
from dln.cli.holdout import data_name, digest_of, target_of
from dln.cli.layout import DETECT, Layout
from dln.cli.options import AllRows, KnownTarget, Quiet
from dln.cli.output import print_message
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.paths.path import CircuitPath
from dln.paths.path_file import is_path, load_path

if TYPE_CHECKING:
    from dln.report import DataNote, Report


@reads_table
def report(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Model file, or a file of dln train --path (JSON). - reads a model from standard "
            "input.",
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            "--data", "-d", metavar="DATA", help="Table with test rows: CSV, TSV or Parquet."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file (HTML). - writes to standard output.",
        ),
    ],
    target: KnownTarget = None,
    all_rows: AllRows = False,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="Heading of the page.", show_default=False)
    ] = "",
    no_rows: Annotated[
        bool, typer.Option("--no-rows", help="Leave out test rows: show counts and ranges only.")
    ] = False,
    prove_independent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Prove or refute that these columns alone never change the prediction. "
            "Comma-separated; repeat for another claim.",
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Prove for each row that changes within the tolerances keep its class. "
            "Repeatable.",
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Prove or refute that every possible prediction of a number is at least this.",
            show_default=False,
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Prove or refute that every possible prediction of a number is at most this.",
            show_default=False,
        ),
    ] = None,
    layout: Layout = DETECT,
    quiet: Quiet = False,
) -> None:
    """Write a report of a model as one web page.

    The page shows performance, rules and a diagram, and runs the model. It needs no network. Rows
    that the model was trained on are left out. For a file of dln train --path, a slider switches
    between models of different sizes.

    The page contains test rows. If they are confidential, add --no-rows or do not share the file.

    Example: dln report heart.json --data heart.csv --output heart.html
    """
    check_output(output, model, data)
    found = _load(model)
    circuit = found.circuit if isinstance(found, CircuitPath) else found
    made, note = _make(
        found,
        circuit,
        data,
        layout,
        target_of(circuit, target),
        title,
        all_rows=all_rows,
        with_rows=not no_rows,
        independent=[find_names(circuit, [names]) for names in prove_independent or ()],
        tolerances=read_numbers(circuit, tolerance, "--tolerance"),
        limits={"at_least": at_least, "at_most": at_most},
    )
    with open_output(output) as stream:
        stream.write(made.html.encode("utf-8", "backslashreplace"))
    if not quiet:
        if note.note:
            print_message(note.note)
        if output != STANDARD:
            print_message(f"wrote {output} ({len(made.html) / 1000:,.0f} kB); open it in a browser")
        if not no_rows:
            print_message("The file contains rows of the table; --no-rows leaves them out.")


def _load(file: str) -> Circuit | CircuitPath:
    """Read a model file, or the circuits that `dln train --path` has saved."""
    if file == STANDARD:
        return load_model(file)
    with open(file, encoding="utf-8", errors="replace") as stream:
        start = stream.read(200)
    return load_path(file) if is_path(start) else load_model(file)


def _make(
    found: Circuit | CircuitPath,
    circuit: Circuit,
    path: str,
    layout: Layout,
    target: str,
    title: str,
    *,
    all_rows: bool,
    with_rows: bool,
    independent: list[list[str]],
    tolerances: dict[str, float],
    limits: dict[str, float | None],
) -> tuple[Report, DataNote]:
    from dln.cli.own_rows import choose_rows
    from dln.report import DataNote, make_report

    chosen = choose_rows(
        path, layout, circuit, target, purpose="The model is tested on", all_rows=all_rows
    )
    numbers = tuple((chosen.numbers + 1).tolist()) if chosen.choice.n_left_out else None
    choice = chosen.choice
    about = DataNote(
        data_name(path), digest_of(path), choice.note, numbers, is_test=not choice.uses_own
    )
    made = make_report(
        found,
        chosen.X,
        chosen.y,
        title=title,
        data=about,
        rows=with_rows,
        independent=independent,
        tolerances=tolerances,
        **limits,
    )
    return made, about
