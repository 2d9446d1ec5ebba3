"""`dln prune`: a smaller model that may predict otherwise, and what each size gives up."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dln.cli.files import STANDARD, check_output, load_model, save_model
from dln.cli.layout import Layout
from dln.cli.options import Data, Encoding, Json, Model, ModelOutput, Separator, Target
from dln.cli.talk import show, show_json
from dln.errors import OptionError
from dln.prune.curve import PruneCurve, PruneStep
from dln.prune.prune import prune as prune_circuit


def prune(
    model: Model,
    data: Data,
    target: Target,
    output: ModelOutput,
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="N or PART",
            help="Predictions that may change (a whole number), or balanced accuracy that may be "
            "lost (0.01 is one percentage point).",
        ),
    ] = "0",
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    json: Json = False,
) -> None:
    """Make a model smaller by giving up predictions, and print what each size gives up.

    This changes the model. The figures are those of the rows given: measure the result on others.

    Example: dln prune heart.json train.csv --target disease --tolerance 0.01 --output small.json
    """
    from dln.cli.labelled import read_labelled

    bound = _bound(tolerance)
    check_output(output, model, data)
    circuit = load_model(model)
    rows, labels = read_labelled(data, Layout(encoding, separator), circuit, target)
    curve = prune_circuit(circuit, rows, labels, tolerance=bound)
    save_model(curve.circuit, output)
    if json:
        show_json(_document(curve), aside=output == STANDARD)
    else:
        show(str(curve), aside=output == STANDARD)


def _bound(text: str) -> int | float:
    """Tell rows from accuracy by how the number is written: 1 is a row, 0.01 a part."""
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        raise OptionError(
            f"--tolerance is {text!r}, expected a whole number of rows, or a part such as 0.01"
        ) from None


def _document(curve: PruneCurve) -> dict[str, Any]:
    def figures(step: PruneStep) -> dict[str, Any]:
        return {
            "gate_operations": step.gate_operations,
            "literals": step.n_literals,
            "gates": step.n_gates,
            "rules": len(step.circuit.rules),
            "changed": step.n_changed,
            "accuracy": step.accuracy,
            "chosen": step is curve.chosen,
        }

    return {"rows": curve.n_rows, "steps": [figures(step) for step in curve.steps]}
