"""`dln explain`: why rows get their class, and what would change it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dln.cli.asking import find_class, find_names
from dln.cli.certificates import (
    CERTIFICATE_SECONDS,
    check_certificate_output,
    write_checked_certificate,
)
from dln.cli.conditions import read_conditions, read_numbers
from dln.cli.files import load_model
from dln.cli.layout import DETECT, Layout
from dln.cli.options import Data, Json, Model, Quiet
from dln.cli.output import print_json, print_result
from dln.cli.reason_table import write_reasons
from dln.cli.table_options import reads_table
from dln.core.bands import as_classifier
from dln.core.circuit import Circuit
from dln.errors import OptionError, TableError
from dln.explain.why import Widen, reason_claim


@reads_table
def explain(
    model: Model,
    data: Data,
    row: Annotated[
        int, typer.Option("--row", "-r", min=1, metavar="N", help="Number of the row, from 1.")
    ] = 1,
    to: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Show changes that give this class.")
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="For a number: explain why it is at least this, or which change makes it so.",
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="For a number: explain why it is at most this, or which change makes it so.",
        ),
    ] = None,
    changes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Show this many changes of several features."),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Comma-separated columns that changes keep."),
    ] = None,
    only_up: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Comma-separated columns that may only grow."),
    ] = None,
    only_down: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Comma-separated columns that may only shrink."),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Range or categories that changes keep: income=20..60, income=20.., "
            "city=Bern,Chur. Repeatable.",
        ),
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Show this many reasons, the smallest first, and the columns in all of them.",
        ),
    ] = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Comma-separated columns that reasons should use."),
    ] = None,
    widen: Annotated[
        Widen,
        typer.Option(
            help="How far reasons are widened. no: each value stays between its nearest "
            "thresholds, which is several times as fast for many rows.",
        ),
    ] = "quick",
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Cost of a column in reasons and changes, 1 if not stated. Repeatable.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write a reason for every row: .csv, .tsv, .jsonl, .parquet or .xlsx.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="With --output: add a text with {row}, {class}, {reason}, {features}, {values}; "
            "{prediction} instead of {class} for a number.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="With --output: copy a column. Repeatable."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="With --output: check every reason independently.")
    ] = False,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a proof that the values of the reason are enough, in DIMACS and LRAT, for "
            "check_certificate.py.",
        ),
    ] = None,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain the prediction of one row, or of all rows.

    For one row: values that are enough for the class whatever the other columns hold, the smallest
    change that flips the class, and the rules that fired. With --to or --changes: the cheapest
    changes of several features. With --output: a reason for every row, in a table. Reasons and
    changes of a number need --at-least or --at-most.

    Example: dln explain heart.json patients.csv --row 3
    """
    circuit = load_model(model)
    bounds: dict[str, Any] = {"at_least": at_least, "at_most": at_most}
    is_bounded = at_least is not None or at_most is not None
    preferred, costs = find_names(circuit, prefer), read_numbers(circuit, cost, "--cost")
    limits: dict[str, Any] = {
        "fixed": find_names(circuit, fixed),
        "only_up": find_names(circuit, only_up),
        "only_down": find_names(circuit, only_down),
        "within": read_conditions(circuit, within, "--within"),
    }
    if certificate is not None:
        if output is not None or circuit.task == "number":
            raise OptionError(
                "--certificate is for the reason of one row of a model of classes, without --output"
            )
        check_certificate_output(certificate, model, data)
    wants_changes = to is not None or changes is not None or any(limits.values())
    if output is not None:
        if wants_changes or json or reasons is not None or costs:
            raise OptionError(
                "--output writes reasons; it cannot be used with --json, --reasons, --cost, --to, "
                "--changes, --fixed, --only-up, --only-down or --within"
            )
        write_reasons(
            as_classifier(circuit, **bounds),
            "class" if circuit.task == "classes" else "prediction",
            model,
            data,
            output,
            template,
            keep or [],
            preferred,
            widen,
            check,
            layout,
            quiet,
        )
        return
    if template is not None or keep or check:
        raise OptionError("--template, --keep and --check are only used with --output")
    cells = _read_row(circuit, data, row, layout)
    found = circuit.explain(cells, fixed=limits["fixed"], **bounds)
    parts: dict[str, Any] = {}
    given: dict[str, Any] = {"costs": costs, **bounds}
    if reasons is not None:
        parts["reasons"] = circuit.reasons(cells, n=reasons, prefer=preferred, **given)
    if (reasons is None or certificate is not None) and (circuit.task == "classes" or is_bounded):
        parts["reason"] = circuit.reason(cells, prefer=preferred, widen=widen, **given)
    if wants_changes:
        goal = None if to is None else find_class(circuit, to, "--to")
        parts["options"] = circuit.changes(cells, to=goal, n=changes or 1, **limits, **given)
    if certificate is not None:
        claim = reason_claim(circuit, parts["reason"])
        write_checked_certificate([claim], model, certificate, CERTIFICATE_SECONDS, quiet=quiet)
    if json:
        print_json(found.to_dict() | {name: part.to_dict() for name, part in parts.items()})
        return
    print_result(found.to_text(list(parts.values()), single_changes=not wants_changes))


def _read_row(circuit: Circuit, data: str, row: int, layout: Layout) -> Any:
    from dln.cli.read import kinds_for, open_table, typed

    left = row
    with open_table(data, layout) as source:
        kinds = kinds_for(circuit, source)
        for chunk in source.chunks(list(kinds) or list(source.names[:1])):
            if left <= len(chunk):
                return typed(chunk.slice(left - 1, 1), kinds)
            left -= len(chunk)
    raise TableError(f"{data} has {row - left:,} rows; there is no row {row:,}")
