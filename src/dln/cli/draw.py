"""`dln draw`: draw a circuit, or the course of a training."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.files import STANDARD, check_output, load_model, open_output
from dln.cli.options import Model, Quiet
from dln.cli.output import print_message
from dln.draw.canvas import ending_of
from dln.draw.diagram.diagram import MOST_RULES, Detail, draw_circuit, format_of
from dln.draw.diagram.paint import BOX, lacking
from dln.errors import OptionError


def draw(
    model: Model,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file: .svg, .dot, .png or .pdf. - writes SVG to standard output.",
        ),
    ] = STANDARD,
    detail: Annotated[
        Detail, typer.Option(help="Draw gates or rules. auto chooses what is legible.")
    ] = "auto",
    most_rules: Annotated[
        int, typer.Option("--most-rules", min=1, metavar="N", help="Draw at most this many rules.")
    ] = MOST_RULES,
    training: Annotated[
        bool,
        typer.Option(
            "--training",
            help="Draw a training instead: learning curves, a threshold and a gate. MODEL is then "
            "a file that dln train --trace has written.",
        ),
    ] = False,
    network: Annotated[
        int, typer.Option(min=0, metavar="N", help="Network to draw with --training.")
    ] = 0,
    threshold: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Threshold to draw with --training."),
    ] = None,
    gate: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Gate to draw with --training.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw a model as a diagram.

    From left to right: features, gates, and classes with their votes.

    Example: dln draw heart.json --output heart.svg
    """
    if training:
        _draw_training(model, output, network, threshold, gate)
        return
    for option, value in (("--network", network), ("--threshold", threshold), ("--gate", gate)):
        if value:
            raise OptionError(f"{option} is only used with --training")
    format = "svg" if output == STANDARD else format_of(output)
    check_output(output, model)
    diagram = draw_circuit(load_model(model), detail=detail, most_rules=most_rules)
    content = diagram.to_bytes(format)
    if not quiet and format in ("png", "pdf") and (letters := lacking(diagram.scene)):
        print_message(f"The font lacks {letters}, drawn as {BOX}. An .svg file has all letters.")
    with open_output(output) as stream:
        stream.write(content)
    if output != STANDARD and not quiet:
        print_message(f"drew {diagram.detail} to {output}")


def _draw_training(
    path: str, output: str, network: int, threshold: int | None, gate: int | None
) -> None:
    from dln.draw.training import draw_training
    from dln.train.trace_file import read_record

    format = "svg" if output == STANDARD else ending_of(output, ("svg", "png", "pdf"))
    check_output(output, path)
    figure = draw_training(read_record(path), network=network, threshold=threshold, gate=gate)
    with open_output(output) as stream:
        figure.savefig(stream, format=format)
