"""`dln simplify`: a smaller model, proven to be the same."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.cost import cost_document, size_text
from dln.cli.files import STANDARD, check_output, load_model, save_model
from dln.cli.options import Json, Model, ModelOutput, TimeLimit
from dln.cli.talk import show, show_json
from dln.cost.circuit import cost
from dln.simplify.simplify import Effort
from dln.simplify.simplify import simplify as make_smaller


def simplify(
    model: Model,
    output: ModelOutput,
    effort: Annotated[Effort, typer.Option(help="How much to try.")] = "normal",
    time_limit: TimeLimit = 60.0,
    json: Json = False,
) -> None:
    """Make a model smaller and prove that it predicts the same on every possible row.

    Example: dln simplify heart.json --output small.json
    """
    check_output(output, model)
    before = load_model(model)
    after = make_smaller(before, effort, time_limit=time_limit)
    save_model(after, output)
    aside = output == STANDARD
    if json:
        proof = after.proof and {"method": after.proof.method, "seconds": after.proof.seconds}
        costs = {"before": cost_document(cost(before)), "after": cost_document(cost(after))}
        show_json({**costs, "proof": proof}, aside=aside)
        return
    # Without a proof nothing was changed: what cannot be proven is not kept.
    proven = str(after.proof) if after.proof else "nothing smaller was proven within the time limit"
    lines = [f"before: {size_text(before)}", f"after:  {size_text(after)}", f"proof:  {proven}"]
    show("\n".join(lines), aside=aside)
