"""`dln path`: show the circuits of a path, and save one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.budget_options import NO_LIMITS, Limits, takes_limits
from dln.cli.files import STANDARD, check_output, open_output, save_model
from dln.cli.fit_results import page_text, rules_page
from dln.cli.options import (
    Json,
    Quiet,
)
from dln.cli.output import print_json, print_message, print_result
from dln.draw.canvas import ending_of
from dln.draw.path import draw_path
from dln.errors import OptionError
from dln.paths.budget import Budget
from dln.paths.path_file import load_path

_PICTURES = ("png", "svg", "pdf")


@takes_limits
def path(
    file: Annotated[
        str, typer.Argument(metavar="PATH", help="File that dln train --path has written.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Save the most accurate circuit within the limits as a model file.",
            show_default=False,
        ),
    ] = None,
    limits: Limits = NO_LIMITS,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Plot the curve to a .png, .svg or .pdf file.", show_default=False
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the circuits of a path, or choose one by its size.

    Prints the number of rules, literals and columns of each circuit, and its cross-validated
    accuracy. With a limit, prints the rules of the most accurate circuit within it.

    Example: dln path heart-path.json --max-rules 5 --output small.json
    """
    for target in (output, picture):
        if target is not None:
            check_output(target, file)
    if picture is not None:
        ending_of(picture, _PICTURES)
    found = load_path(file)
    budget = Budget(**limits)
    if picture is not None:
        with open_output(picture) as stream:
            draw_path(found).savefig(stream, format=ending_of(picture, _PICTURES))
    if not budget.is_limited:
        if output is not None:
            raise OptionError("--output saves one circuit; add a limit such as --max-rules 5")
        print_json(found.to_dict()) if json else print_result(str(found))
        return
    chosen = found.within(budget)
    if output is not None:
        save_model(chosen.circuit, output)
    if json:
        place = found.points.index(chosen)
        print_json(found.to_dict()["points"][place], to_stderr=output == STANDARD)
    else:
        text = (
            f"{rules_page(chosen.circuit)}\n\n{found.describe(chosen)}\n{page_text(chosen.circuit)}"
        )
        print_result(text, to_stderr=output == STANDARD)
    if output not in (None, STANDARD) and not quiet:
        print_message(f"saved {output}; read it with: dln rules {output}")
