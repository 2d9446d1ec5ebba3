"""The verbs of the command `dln`, and what it says where one of them fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import dln
from dln.cli.bench import bench
from dln.cli.cost import cost
from dln.cli.demo import demo
from dln.cli.draw import draw
from dln.cli.evaluate import evaluate
from dln.cli.explain import explain
from dln.cli.export import export
from dln.cli.predict import predict
from dln.cli.prune import prune
from dln.cli.report import report
from dln.cli.rules import rules
from dln.cli.search import search
from dln.cli.simplify import simplify
from dln.cli.talk import say
from dln.cli.train import train
from dln.cli.trends import trends
from dln.cli.verify import verify
from dln.errors import DlnError

MISTAKE, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
"""Exit statuses: the user's mistake, Ctrl-C, and a reader such as `head` that has seen enough."""

_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # UsageError, not exported by Typer


class _Verbs(typer.core.TyperGroup):
    """Commands in the order of their use; a closed pipe is not an error."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # Typer would end with status 1, which means "not equal" here
            raise typer.Exit(PIPE_CLOSED) from None


app = typer.Typer(
    name="dln",
    cls=_Verbs,
    help="Learn small, readable logic circuits from tables.",
    epilog="Example: dln train heart.csv --target disease --output heart.json",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for _verb in (
    demo,
    train,
    search,
    predict,
    evaluate,
    rules,
    explain,
    trends,
    draw,
    report,
    cost,
    simplify,
    prune,
    export,
    verify,
    bench,
):
    app.command()(_verb)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dln {dln.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn small, readable logic circuits from tables."""


def run(arguments: Sequence[str]) -> int:
    """Run one verb; gives the exit status."""
    try:
        status = app(list(arguments) or ["--help"], prog_name="dln", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        status = PIPE_CLOSED
    except DlnError as error:
        return _refuse(str(error))
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
        return _refuse(named)
    except MemoryError:
        return _refuse("not enough memory; give fewer rows")
    except Exception as error:
        if not isinstance(error, _USAGE_ERROR):
            raise
        return _refuse(_usage(error))
    if status == PIPE_CLOSED:
        _forget_output()
    if status == INTERRUPTED:
        say("interrupted")
    return int(status or 0)


def _refuse(message: str) -> int:
    say("dln: " + " ".join(message.split()))
    return MISTAKE


def _usage(error: Any) -> str:
    """Say what is wrong with the command line, and where its help is."""
    command = error.ctx.command_path if error.ctx is not None else "dln"
    return f"{error.format_message()} See '{command} --help'."


def _forget_output() -> None:
    """Point standard output at nothing, so that Python does not complain when it flushes it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
