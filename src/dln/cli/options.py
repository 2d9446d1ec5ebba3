"""Options and arguments that several commands share: one name and one help text each."""

from __future__ import annotations

from typing import Annotated, Any
from typing import Literal as OneOf

import typer

from dln._util.option import options_of
from dln.cli.task import TaskChoice
from dln.estimators.parameters import NumberParameters, Parameters
from dln.train.engines import EngineName
from dln.train.number_loss import LossName

OptionsFile = Annotated[
    str | None,
    typer.Option(
        "--options",
        metavar="FILE",
        help="TOML file with training options, as dln options writes it. Options on the command "
        "line that are not at their default override it.",
        show_default=False,
    ),
]


def parameter(name: str, **settings: Any) -> Any:
    """Return the option of a command that sets a parameter of an estimator."""
    known = options_of(NumberParameters) | options_of(Parameters)
    return typer.Option(help=known[name].facts.doc, **settings)


Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file (JSON). - reads standard input.")
]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="Table: CSV, TSV or Parquet, also in gzip. - reads standard input."
    ),
]
DataOrParts = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: CSV, TSV or Parquet, also in gzip; a folder of Parquet files, or a pattern in "
        "quotes such as 'data/*.parquet'. - reads standard input.",
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="Column to predict.")]
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the true values. Default: the target of the training.",
        show_default=False,
    ),
]
AllRows = Annotated[
    bool, typer.Option("--all-rows", help="Use every row, including training rows.")
]
NoRows = Annotated[
    bool,
    typer.Option(
        "--no-rows",
        help="Save no row hashes. With row hashes, anyone with the model file can check whether a "
        "row they know was used.",
    ),
]
NoRanges = Annotated[
    bool,
    typer.Option(
        "--no-ranges",
        help="Save no ranges of columns (rounded minimum, maximum and quantiles). Counterexamples "
        "and changes are less plausible without them.",
    ),
]
ModelOutput = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Output file. - writes to standard output."
    ),
]
MaybeModelOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Output file. - writes to standard output. Optional with a limit such as --max-rules.",
        show_default=False,
    ),
]
TestPart = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=0.9,
        metavar="SHARE",
        help="Share of each class to keep as test rows. 0 tests nothing.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Comma-separated columns to leave out."),
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Comma-separated columns to learn from."),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with the group of each row, such as a patient. It is not learned from. "
        "The rows of a group are all used for training or all for the test.",
        show_default=False,
    ),
]
TaskOption = Annotated[
    TaskChoice,
    typer.Option(
        "--task",
        help="Predict classes or a number. auto: a number if the target has more than 20 "
        "different numbers.",
    ),
]
Loss = Annotated[LossName, parameter("loss")]
Quantile = Annotated[
    float,
    typer.Option(
        metavar="LEVEL",
        help="Level that --loss quantile predicts, between 0 and 1: 0.9 is the number that nine of "
        "ten rows stay below.",
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with the exposure of each row, such as years. The model predicts the target "
        "for one unit of it, and no rule reads it. Needs --loss poisson or gamma.",
        show_default=False,
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="Set the type of a column: number, integer, boolean, date or category. Repeatable.",
    ),
]
ClassWeight = Annotated[
    OneOf["balanced", "smoothed", "none"],
    typer.Option(
        help="Weight classes equally (balanced), nearly equally (smoothed, the authors' program) "
        "or rows equally (none)."
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", help="Random seed, also of the choice of test rows.")
]
EngineChoice = Annotated[
    EngineName, typer.Option(help="Compiled code, PyTorch, or CUDA kernels on an NVIDIA GPU.")
]
Device = Annotated[
    str, typer.Option(metavar="NAME", help="Device for torch and cuda: cpu, cuda or cuda:1.")
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Number of threads. -1 uses all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no messages, only results and errors.")
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit", min=0.0, metavar="SECONDS", help="Stop the proof after this time."
    ),
]
