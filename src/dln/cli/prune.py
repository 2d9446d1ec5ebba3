"""`dln prune`: make a model smaller at the price of some accuracy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from dln.cli.files import STANDARD, check_output, load_model, save_model
from dln.cli.holdout import data_name, target_of
from dln.cli.layout import DETECT, Layout
from dln.cli.options import (
    Data,
    Json,
    KnownTarget,
    Model,
    ModelOutput,
    Quiet,
)
from dln.cli.output import print_json, print_message, print_result
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.paths.path import CircuitPath
from dln.paths.path_file import save_path
from dln.shrink.prune.curve import PruneCurve, PruneStep
from dln.shrink.prune.prune import prune as prune_circuit


@reads_table
def prune(
    model: Model,
    data: Data,
    output: ModelOutput,
    target: KnownTarget = None,
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="N|SHARE",
            help="Number of predictions that may change, or share of balanced accuracy, or of R², "
            "that may be lost (0.01).",
        ),
    ] = "0",
    path: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Save all sizes as a path (JSON) for dln path and dln report.",
            show_default=False,
        ),
    ] = None,
    all_rows: Annotated[
        bool, typer.Option("--all-rows", help="Use every row, including test rows.")
    ] = False,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a model smaller at the price of some accuracy.

    Unlike simplify, this changes predictions. Prints the balanced accuracy of each size on the rows
    of DATA, or R² for a number. Test rows of the model are left out, so dln report can still test
    on them.

    Example: dln prune heart.json heart.csv --tolerance 0.01 --output small.json
    """
    from dln.cli.own_rows import choose_rows

    bound = _bound(tolerance)
    check_output(output, model, data)
    if path is not None:
        check_output(path, model, data, output)
    circuit = load_model(model)
    chosen = choose_rows(
        data,
        layout,
        circuit,
        target_of(circuit, target),
        part="test",
        purpose="Pruning uses",
        all_rows=all_rows,
    )
    if chosen.choice.note and not quiet:
        print_message(chosen.choice.note)
    curve = prune_circuit(circuit, chosen.X, chosen.y, tolerance=bound)
    save_model(_with_origin(curve.circuit, data, tolerance), output)
    if path is not None:
        pruned = CircuitPath.from_pruning(curve)
        save_path(pruned.changed(partial(_with_origin, data=data, tolerance=tolerance)), path)
    if json:
        print_json({**_document(curve), **chosen.choice.document()}, to_stderr=output == STANDARD)
    else:
        print_result(str(curve), to_stderr=output == STANDARD)


def _with_origin(circuit: Circuit, data: str, tolerance: str) -> Circuit:
    """Record in the origin, if there is one, that the model was pruned."""
    if circuit.origin is None:
        return circuit
    settings = dict(circuit.origin.settings)
    settings["pruned_on"] = f"{data_name(data)} with tolerance {tolerance}"
    return replace(circuit, origin=replace(circuit.origin, settings=tuple(settings.items())))


def _bound(text: str) -> int | float:
    """Read a number of rows (1) or a share of accuracy (0.01)."""
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        raise OptionError(
            f"--tolerance is {text!r}, expected a whole number of rows, or a share such as 0.01"
        ) from None


def _document(curve: PruneCurve) -> dict[str, Any]:
    def figures(step: PruneStep) -> dict[str, Any]:
        return {
            "gate_operations": step.gate_operations,
            "literals": step.n_literals,
            "gates": step.n_gates,
            "rules": len(step.circuit.rules),
            "changed": step.n_changed,
            "r2" if curve.measure == "R²" else "accuracy": step.accuracy,
            "chosen": step is curve.chosen,
        }

    return {"rows": curve.n_rows, "steps": [figures(step) for step in curve.steps]}
