"""The options that describe the layout of a table, for all commands that read one."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.layout import Layout
from dln.cli.missing import MissingWords
from dln.cli.option_groups import takes


def _options(
    encoding: Annotated[
        str, typer.Option("--encoding", metavar="NAME", help="Encoding of a text table.")
    ] = "utf-8",
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="CHAR",
            help="Column separator. Detected by default.",
            show_default=False,
        ),
    ] = None,
    quote: Annotated[
        str, typer.Option("--quote", metavar="CHAR", help="Quote character of a text table.")
    ] = '"',
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="The first line is a row. Columns are named x0, x1, ..."),
    ] = False,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="WORDS",
            help="Comma-separated words to read as missing, instead of NA, NaN, null and others. "
            "'' for empty values only.",
            show_default=False,
        ),
    ] = None,
) -> Layout:
    words = None if missing is None else MissingWords.from_option(missing)
    return Layout(encoding, separator, quote, not no_header, words)


reads_table = takes("layout", _options)
"""Replace the parameter `layout` of a command by the options that describe it."""
