"""`dln export`: a model as code, for a database or for hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from dln.cli.files import STANDARD, check_output, load_model, open_output
from dln.cli.layout import DETECT, Layout
from dln.cli.options import Model, ModelOutput, Quiet
from dln.cli.output import message_printer
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.exporters.export import TARGETS, TargetName, hint_of_database
from dln.exporters.export import export as write_export
from dln.exporters.names import name_after
from dln.exporters.verilog import TESTBENCH_END

_LIST = "; ".join(f"{name}: {target.what}" for name, target in TARGETS.items())


def _read_target(text: str) -> str:
    if text not in TARGETS:
        names = ", ".join(map(repr, TARGETS))
        raise typer.BadParameter(f"{text!r} is not one of {names}{hint_of_database(text)}.")
    return text


@reads_table
def export(
    model: Model,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="TARGET", help=f"{_LIST}.", parser=_read_target, show_default=False
        ),
    ],
    output: ModelOutput = STANDARD,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the functions, module or class.  [default: as FILE, or model]",
        ),
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="SQL: table to read.  [default: data]")
    ] = None,
    view: Annotated[
        str | None, typer.Option(metavar="NAME", help="SQL: create a view of this name.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="SQL, ONNX, Verilog, PMML: also output the rules that fired."
        ),
    ] = False,
    proba: Annotated[
        bool, typer.Option("--proba", help="SQL: add a column of probabilities for each class.")
    ] = False,
    integer_bits: Annotated[
        int | None, typer.Option(metavar="BITS", help="C, Verilog: width of integers.")
    ] = None,
    fraction_bits: Annotated[
        int | None,
        typer.Option(
            metavar="BITS", help="C, Verilog: fixed point with this many bits after the point."
        ),
    ] = None,
    word_bits: Annotated[
        int | None, typer.Option(metavar="BITS", help="C: rows computed at a time, 32 or 64.")
    ] = None,
    stages: Annotated[
        int | None, typer.Option(metavar="COUNT", help="Verilog: pipeline stages.")
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Verilog: table for a testbench, written beside FILE."),
    ] = None,
    layout: Layout = DETECT,
    quiet: Quiet = False,
) -> None:
    """Write a model as code, SQL or hardware.

    The result predicts the same classes or numbers.

    Example: dln export heart.json --to c --output heart.h
    """
    check_output(output, model, rows)
    if rows is not None and output != STANDARD:
        testbench = Path(output).with_name(Path(output).stem + TESTBENCH_END)
        check_output(str(testbench), model, rows)
    circuit = load_model(model)
    given: dict[str, Any] = {
        "table": table,
        "view": view,
        "explain": explain or None,
        "proba": proba or None,
        "integer_bits": integer_bits,
        "fraction_bits": fraction_bits,
        "word_bits": word_bits,
        "stages": stages,
        "rows": None if rows is None else _read_rows(circuit, rows, layout),
    }
    options = {option: value for option, value in given.items() if value is not None}
    target = cast(TargetName, to)
    found = write_export(
        circuit, target, name=_usual_name(output) if name is None else name, **options
    )
    write_message = message_printer(quiet)
    for note in found.notes:
        write_message(f"note: {note}")
    if output != STANDARD:
        for path in found.save(output):
            write_message(f"wrote {path}")
        needed = next(iter(found.files))
        if TARGETS[target].fixed_name and Path(output).name != needed:
            write_message(f"Rename the file to {needed} before you compile it, or use --name.")
        return
    if len(found.files) > 1:
        raise OptionError("--rows writes two files; name the first with --output")
    with open_output(output) as stream:
        stream.write(found.data)


def _usual_name(output: str) -> str:
    return "model" if output == STANDARD else name_after(Path(output).stem)


def _read_rows(circuit: Circuit, data: str, layout: Layout) -> Any:
    """Read a table with the column types of the model."""
    from dln.cli.read import kinds_for, open_table, typed

    with open_table(data, layout) as source:
        kinds = kinds_for(circuit, source)
        return typed(source.read_all(list(kinds) or list(source.names[:1])), kinds)
