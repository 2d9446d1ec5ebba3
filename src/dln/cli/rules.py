"""`dln rules`: a circuit in the user's words."""

from __future__ import annotations

from typing import Annotated
from typing import Literal as OneOf

import typer

from dln.circuit import Circuit
from dln.cli.files import load_model
from dln.cli.layout import Layout
from dln.cli.options import Encoding, Model, Separator
from dln.cli.talk import show
from dln.errors import OptionError
from dln.explain.card import ScoreCard
from dln.explain.rules import RuleTable, rule_table, score_card

Format = OneOf["text", "markdown", "html", "json"]


def rules(
    model: Model,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="How to write the rules.")
    ] = "text",
    card: Annotated[
        bool, typer.Option("--card", help="Two classes as one signed score card.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help="A table to count support, precision and lift on; with --target."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="Column of DATA with the class of each row."
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
) -> None:
    """Print the rules of a model, exactly as it applies them.

    Example: dln rules heart.json --data test.csv --target disease --format markdown
    """
    circuit = load_model(model)
    found = _describe(circuit, card, data, target, Layout(encoding, separator))
    write = {
        "text": found.to_text,
        "markdown": found.to_markdown,
        "html": found.to_html,
        "json": found.to_json,
    }
    show(write[format]().rstrip("\n"))


def _describe(
    circuit: Circuit, card: bool, data: str | None, target: str | None, layout: Layout
) -> RuleTable | ScoreCard:
    make = score_card if card else rule_table
    if (data is None) != (target is None):
        raise OptionError("--data and --target go together: give both or neither")
    if data is None or target is None:
        return make(circuit)
    from dln.cli.holdout import tell_of_own_rows
    from dln.cli.labelled import read_labelled

    X, y = read_labelled(data, layout, circuit, target)
    tell_of_own_rows(circuit, data)
    return make(circuit, X, y)
