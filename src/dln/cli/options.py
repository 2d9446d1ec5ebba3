"""Options and arguments that several verbs share: one name and one help text each."""

from __future__ import annotations

from typing import Annotated
from typing import Literal as OneOf

import typer

from dln.train.engines import EngineName

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
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the class of each row. By default the target of the training.",
        show_default=False,
    ),
]
AllRows = Annotated[
    bool, typer.Option("--all-rows", help="Use every row, also those of the training.")
]
NoRows = Annotated[
    bool,
    typer.Option(
        "--no-rows",
        help="Save no row hashes. With them, anyone who has the model file can check whether a "
        "row they know was used.",
    ),
]
ModelOutput = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="Where to save; - for standard output."),
]
TestPart = Annotated[
    float,
    typer.Option(
        min=0.0, max=0.9, metavar="PART", help="Part of each class held out to test on; 0: none."
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave out a column; can be given often."),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="Do not guess: number, integer, boolean, date or category; can be given often.",
    ),
]
ClassWeight = Annotated[
    OneOf["balanced", "none"], typer.Option(help="Whether all classes count the same.")
]
Seed = Annotated[int, typer.Option(min=0, help="Decides the test rows and all else.")]
EngineChoice = Annotated[
    EngineName, typer.Option(help="Compiled code, PyTorch, or kernels on an NVIDIA card.")
]
Device = Annotated[str, typer.Option(help="Where PyTorch or kernels train: cpu, cuda, cuda:1.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Threads; -1 for all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error.")]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", min=0.0, metavar="SECONDS", help="When to give up.")
]
