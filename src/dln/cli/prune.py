"""`dln prune`: a smaller model that may predict otherwise, and what each size gives up."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from dln.circuit import Circuit
from dln.cli.files import STANDARD, check_output, load_model, save_model
from dln.cli.holdout import data_name, digest_of, split_again
from dln.cli.layout import Layout
from dln.cli.options import Data, Encoding, Json, Model, ModelOutput, Separator, Target
from dln.cli.talk import say, show, show_json
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
    Where DATA is the very file that the model was trained on, the rows that were held out then are
    left out, so that dln report can test on them.

    Example: dln prune heart.json train.csv --target disease --tolerance 0.01 --output small.json
    """
    from dln.cli.labelled import read_labelled

    bound = _bound(tolerance)
    check_output(output, model, data)
    circuit = load_model(model)
    rows, labels = read_labelled(data, Layout(encoding, separator), circuit, target)
    split = split_again(circuit, labels, digest_of(data))
    if split is not None:
        trained, held_out = split
        rows, labels = rows.take(trained), labels[trained]
        say(f"pruning on the {len(trained):,} rows of the training; {len(held_out):,} are held out")
    curve = prune_circuit(circuit, rows, labels, tolerance=bound)
    save_model(_with_origin(curve.circuit, data, tolerance), output)
    if json:
        show_json(_document(curve), aside=output == STANDARD)
    else:
        show(str(curve), aside=output == STANDARD)


def _with_origin(circuit: Circuit, data: str, tolerance: str) -> Circuit:
    """Let the model remember, where it does so at all, that training alone does not give it."""
    if circuit.origin is None:
        return circuit
    settings = dict(circuit.origin.settings)
    settings["pruned_on"] = f"{data_name(data)} with tolerance {tolerance}"
    return replace(circuit, origin=replace(circuit.origin, settings=tuple(settings.items())))


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
