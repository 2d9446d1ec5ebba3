"""The commands of `dln`, their exit statuses, and the messages of errors."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import dln
from dln.cli.cost import cost
from dln.cli.demo import demo
from dln.cli.diff import diff
from dln.cli.draw import draw
from dln.cli.edit import edit
from dln.cli.evaluate import evaluate
from dln.cli.explain import explain
from dln.cli.export import export
from dln.cli.model_options import options
from dln.cli.option_names import with_options
from dln.cli.output import print_message
from dln.cli.path import path
from dln.cli.predict import predict
from dln.cli.prove import prove
from dln.cli.prune import prune
from dln.cli.report import report
from dln.cli.rules import rules
from dln.cli.search import search
from dln.cli.simplify import simplify
from dln.cli.train import train
from dln.cli.trends import trends
from dln.cli.verify import verify
from dln.errors import DlnError, RuleTextError

MISTAKE, INTERRUPTED, OUTPUT_FAILED = 2, 130, 141
"""Exit statuses: an error, Ctrl-C, and standard output that cannot be written.

None of them is 1, which means "not equal" for `verify` and "refuted" for `trends`.
"""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # UsageError, not exported by Typer


class _Command(typer.core.TyperCommand):
    """A command whose help shows arguments by their name alone, without braces and types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                name, text = record
                is_argument = param.param_type_name == "argument"
                name = name.partition(" ")[0] if is_argument else name
                records[param.param_type_name].append((name, text))
        for title, found in (("Arguments", records["argument"]), ("Options", records["option"])):
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


class _Commands(typer.core.TyperGroup):
    """Commands in the order of their use, with the exit status of a closed pipe."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # Typer would end with status 1
            raise typer.Exit(OUTPUT_FAILED) from None


app = typer.Typer(
    name="dln",
    cls=_Commands,
    help="Learn small, readable logic circuits from tables.",
    epilog="Example: dln train heart.csv --target disease --output heart.json",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _command in (
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
    path,
    prune,
    export,
    verify,
    diff,
    edit,
    prove,
    options,
):
    app.command(cls=_Command)(_command)


def _show_version(is_asked: bool) -> None:
    if is_asked:
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
    """Run one command; returns the exit status."""
    if sys.stderr is None:  # closed by the shell, 2>&-
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - stays open
    if sys.stdout is None:
        closed = "standard output is closed; to discard results, redirect it to /dev/null"
        return _refuse(closed, OUTPUT_FAILED)
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        status = _run(arguments)
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if isinstance(error, BrokenPipeError) or status == OUTPUT_FAILED:
            return OUTPUT_FAILED
        return _refuse(f"cannot write the output: {error.strerror}", OUTPUT_FAILED)
    return status


def _run(arguments: Sequence[str]) -> int:
    try:
        status = app(list(arguments) or ["--help"], prog_name="dln", standalone_mode=False)
    except BrokenPipeError:
        status = OUTPUT_FAILED
    except RuleTextError as error:
        said, *marked = str(error).split("\n")  # the line, and ^ below the place
        _refuse(said)
        for line in marked:
            print_message(line)
        return MISTAKE
    except DlnError as error:
        return _refuse(with_options(str(error), _options_of(arguments[0])))
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            return _refuse(f"cannot write the output: {error.strerror}", OUTPUT_FAILED)
        named = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
        return _refuse(named)
    except MemoryError:
        return _refuse("not enough memory; use fewer rows")
    except Exception as error:
        if not isinstance(error, _USAGE_ERROR):
            raise
        return _refuse(_usage(error))
    if status == OUTPUT_FAILED:
        _discard_output()
    if status == INTERRUPTED:
        print_message("interrupted")
    return int(status or 0)


def _options_of(command: str) -> set[str]:
    """Return the options of a command as they are typed."""
    commands: Any = typer.main.get_command(app)
    return {name for param in commands.commands[command].params for name in param.opts}


def _show_warning(message: Warning | str, *_: object) -> None:
    """Print a warning as one line, without the file and line that raised it."""
    print_message("Warning: " + " ".join(str(message).split()))


def _refuse(message: str, status: int = MISTAKE) -> int:
    print_message("dln: " + " ".join(message.split()))
    return status


def _usage(error: Any) -> str:
    """Describe a mistake on the command line, and name the help to read."""
    command = error.ctx.command_path if error.ctx is not None else "dln"
    message = error.format_message().replace("Value error, ", "")  # pydantic's, within Typer
    end = "" if message.endswith((".", "?")) else "."
    return f"{message}{end} See '{command} --help'."


def _discard_output() -> None:
    """Redirect standard output to the null device, so that Python's last flush does not fail."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
