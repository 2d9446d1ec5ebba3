"""What `dln train` and `dln search` do after a fit: test it, and tell what was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.cli.cost import size_text
from dln.cli.evaluate import score_document
from dln.cli.files import STANDARD
from dln.cli.measure import Measure, measure
from dln.cli.talk import say, show, show_json

if TYPE_CHECKING:
    from dln.cli.prepare import Prepared


def measure_held_out(
    circuit: Circuit, prepared: Prepared, rows: NDArray[np.int64]
) -> Measure | None:
    """Measure on the rows that were held out; None where there are none."""
    if len(rows) == 0:
        return None
    return measure(circuit, prepared.X.take(rows), prepared.numbers(circuit)[rows])


def tested_text(circuit: Circuit, total: Measure | None) -> str:
    """Say how good a circuit is, where it was tested, and how large."""
    if total is None:
        return size_text(circuit)
    accuracy = f"{100 * total.tally.balanced_accuracy:.1f} %"
    return f"Balanced accuracy on {total.n_rows:,} test rows: {accuracy}\n{size_text(circuit)}"


def tested_document(circuit: Circuit, total: Measure | None) -> dict[str, Any]:
    """Give the same for programs."""
    return {
        "test": None if total is None else score_document(total, circuit),
        "literals": circuit.n_literals,
        "gates": circuit.n_gates,
        "rules": len(circuit.rules),
    }


def show_saved(output: str, result: str | dict[str, Any], *, quiet: bool) -> None:
    """Show a result, as text or as JSON, and say where the model is."""
    aside = output == STANDARD
    if isinstance(result, str):
        show(result, aside=aside)
    else:
        show_json(result, aside=aside)
    if not quiet and not aside:
        say(f"saved {output}; read it with: dln rules {output}")
