"""`dln rules`: print the rules of a model."""

from __future__ import annotations

import json
from typing import Annotated, Any
from typing import Literal as OneOf

import typer

from dln.cli.files import load_model
from dln.cli.holdout import target_of
from dln.cli.layout import DETECT, Layout
from dln.cli.options import AllRows, KnownTarget, Model, Quiet
from dln.cli.output import print_json, print_message, print_result
from dln.cli.table_options import reads_table
from dln.edits.editing import edit
from dln.errors import OptionError
from dln.explain.formatted import Formatted
from dln.explain.rules import rule_table, score_card

Format = OneOf["text", "markdown", "html", "json"]


@reads_table
def rules(
    model: Model,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = "text",
    card: Annotated[
        bool, typer.Option("--card", help="Print a score card. For two classes.")
    ] = False,
    numbers: Annotated[
        bool,
        typer.Option(
            "--numbers",
            help="Print each rule once with its number, which dln edit and the exports use.",
        ),
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help="Table to measure the rules on: support, precision, lift."
        ),
    ] = None,
    target: KnownTarget = None,
    all_rows: AllRows = False,
    layout: Layout = DETECT,
    quiet: Quiet = False,
) -> None:
    """Print the rules of a model.

    With --data, rows that the model was trained on are left out of the figures.

    Example: dln rules heart.json --data test.csv --format markdown
    """
    circuit = load_model(model)
    if numbers:
        if card or data is not None or format != "text":
            raise OptionError("--numbers prints a list; leave out --card, --data and --format")
        print_result(str(edit(circuit)))
        return
    make = score_card if card else rule_table
    if data is None:
        for option, given in (("--target", target is not None), ("--all-rows", all_rows)):
            if given:
                raise OptionError(f"{option} is only used with --data; add --data DATA")
        _show(make(circuit), format, {})
        return
    from dln.cli.own_rows import choose_rows

    chosen = choose_rows(
        data,
        layout,
        circuit,
        target_of(circuit, target),
        purpose="Figures are counted on",
        all_rows=all_rows,
    )
    if chosen.choice.note and not quiet:
        print_message(chosen.choice.note)
    _show(make(circuit, chosen.X, chosen.y), format, chosen.choice.document())


def _show(found: Formatted, format: Format, about: dict[str, Any]) -> None:
    if format == "json":
        print_json({**json.loads(found.to_json()), **about})
        return
    write = {"text": found.to_text, "markdown": found.to_markdown, "html": found.to_html}
    print_result(write[format]().rstrip("\n"))
