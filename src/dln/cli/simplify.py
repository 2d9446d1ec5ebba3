"""`dln simplify`: make a model smaller, with proven equal predictions."""

from __future__ import annotations

from typing import Annotated

import typer

from dln.cli.cost import cost_document, size_text
from dln.cli.files import STANDARD, check_output, load_model, save_model
from dln.cli.options import Json, Model, ModelOutput, Quiet, TimeLimit
from dln.cli.output import print_json, print_result
from dln.costs.circuit import cost
from dln.errors import ExtraMissingError
from dln.shrink.simplify.simplify import Effort, Level, choose_effort
from dln.shrink.simplify.simplify import simplify as make_smaller
from dln.shrink.simplify.synthesis import missing_packages


def simplify(
    model: Model,
    output: ModelOutput,
    effort: Annotated[
        Effort,
        typer.Option(help="Effort. auto is normal if its packages are installed, otherwise quick."),
    ] = "auto",
    time_limit: TimeLimit = 60.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a model smaller, with the same predictions.

    The result is proven to be equal on every possible row.

    Example: dln simplify heart.json --output small.json
    """
    check_output(output, model)
    before = load_model(model)
    level = choose_effort(effort)
    after = make_smaller(before, level, time_limit=time_limit)
    save_model(after, output)
    to_stderr = output == STANDARD
    if json:
        proof = after.proof and {"method": after.proof.method, "seconds": after.proof.seconds}
        costs = {"before": cost_document(cost(before)), "after": cost_document(cost(after))}
        print_json({**costs, "effort": level, "proof": proof}, to_stderr=to_stderr)
        return
    missing = missing_packages()
    lines = [f"before: {size_text(before)}", f"after:  {size_text(after)}"]
    lines += [f"effort: {_effort_text(level, missing if effort == 'auto' else [])}"]
    lines += [f"proof:  {after.proof or _no_proof_text(missing)}"]
    print_result("\n".join(lines), to_stderr=to_stderr)


def _effort_text(level: Level, missing: list[str]) -> str:
    """Describe the effort that was used, and why not more if that depends on packages."""
    if not missing:
        return level
    return f"{level}; {ExtraMissingError.for_packages('normal', *missing)}"


def _no_proof_text(missing: list[str]) -> str:
    """Explain why there is no proof. If the time was up, the model is unchanged."""
    if "python-sat" in missing:
        return f"none; {ExtraMissingError.for_packages('a proof of this model', 'python-sat')}"
    return "nothing smaller was proven within the time limit"
