"""`dln cost`: count the operations and bytes of a prediction."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dln._util.messages import count_of
from dln.cli.files import load_model
from dln.cli.options import Json, Model, Quiet
from dln.cli.output import print_json, print_result
from dln.core.circuit import Circuit
from dln.costs.circuit import cost as count_cost
from dln.costs.report import Cost, PartCost

_FIGURES = ("operations", "gate_operations", "values", "indices", "parameters", "bytes")


def cost(
    model: Model,
    float_bits: Annotated[
        int, typer.Option(metavar="N", help="Bits of a number: 16, 32 or 64.")
    ] = 16,
    int_bits: Annotated[
        int, typer.Option(metavar="N", help="Bits of an integer: 8, 16, 32 or 64.")
    ] = 16,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count the operations, gates and bytes of a model.

    They are counted as in the paper.

    Example: dln cost heart.json
    """
    counted = count_cost(load_model(model), float_bits, int_bits)
    if json:
        print_json(cost_document(counted))
    else:
        print_result(str(counted))


def cost_document(counted: Cost) -> dict[str, Any]:
    """Return a cost for programs: its parts and their total."""

    def figures(part: PartCost) -> dict[str, int]:
        return {figure: getattr(part, figure) for figure in _FIGURES}

    parts = {name.replace(" ", "_"): figures(part) for name, part in counted.parts.items()}
    return {**parts, "total": figures(counted.total)}


def size_text(circuit: Circuit) -> str:
    """Describe the size of a circuit in one line."""
    return (
        f"{count_of(circuit.n_literals, 'literal')}, {count_of(circuit.n_gates, 'gate')}, "
        f"{count_of(len(circuit.rules), 'rule')}, "
        f"{count_of(count_cost(circuit).gate_operations, 'gate operation')}"
    )
