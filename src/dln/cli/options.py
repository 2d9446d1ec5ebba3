"""Options and arguments that several verbs share: one name and one help text each."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A saved circuit (JSON), - for standard input.")
]
Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="CSV, TSV or Parquet, in gzip too; - for standard input."),
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="Column with the class of each row.")
]
ModelOutput = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="Where to save; - for standard output."),
]
Encoding = Annotated[
    str, typer.Option("--encoding", metavar="NAME", help="Encoding of a text table.")
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        help="What is between cells; found out of , ; tab | unless given.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error.")]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", min=0.0, metavar="SECONDS", help="When to give up.")
]
