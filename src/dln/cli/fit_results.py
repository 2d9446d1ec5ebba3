"""What `dln train` and `dln search` do after a fit: test the model and print what was saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import count_of, percent
from dln.cli.cost import size_text
from dln.cli.evaluate import score_document
from dln.cli.exposure import remember_exposure
from dln.cli.files import STANDARD
from dln.cli.groups import remember_group
from dln.cli.holdout import origin_of
from dln.cli.layout import Layout
from dln.cli.measure import AnyMeasure, NumberMeasure, measure
from dln.cli.missing import remember_words
from dln.cli.output import print_json, print_message, print_result
from dln.core.circuit import Circuit
from dln.core.row_sketch import RowSketch
from dln.data.table import Table
from dln.explain.rules import RuleTable, rule_table
from dln.paths.size import measure_size

if TYPE_CHECKING:
    from dln import DLNClassifier, DLNRegressor
    from dln.cli.prepare import Prepared


@dataclass(frozen=True, eq=False)
class Split:
    """A table that was split into training rows and test rows.

    Attributes
    ----------
    path, layout
        The table as it was given.
    rows, test_rows
        Row numbers in `prepared`.
    test_part, seed
        The options that led to this split.
    """

    path: str
    layout: Layout
    prepared: Prepared
    rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    test_part: float
    seed: int


def add_origin(
    circuit: Circuit, model: DLNClassifier | DLNRegressor, split: Split, *, no_rows: bool
) -> tuple[Circuit, tuple[str, ...]]:
    """Record in a circuit what it was trained on; also return notes on the split."""
    from dln.cli.row_codes import sketch_rows

    prepared = split.prepared
    sketch: RowSketch | None = None
    if not isinstance(prepared.X, Table):  # rows of several files are not recorded
        targets = prepared.targets(circuit)
        sketch = sketch_rows(prepared.X, circuit, targets, split.rows, split.test_rows, split.seed)
    origin = origin_of(
        split.path,
        prepared.target,
        model,
        n_rows=len(split.rows),
        test_part=split.test_part,
        seed=split.seed,
        rows=None if no_rows else sketch,
    )
    origin = remember_group(remember_words(origin, split.layout.missing), prepared.group)
    origin = remember_exposure(origin, prepared.exposure)
    return replace(circuit, origin=origin), () if sketch is None else _repeat_notes(sketch)


def measure_test_rows(circuit: Circuit, split: Split) -> AnyMeasure | None:
    """Measure a circuit on the test rows; None if there are none."""
    rows = split.test_rows
    if len(rows) == 0:
        return None
    prepared = split.prepared
    return measure(circuit, prepared.X.take(rows), prepared.targets(circuit)[rows])


def _repeat_notes(sketch: RowSketch) -> tuple[str, ...]:
    """Return a note if test rows are identical to training rows."""
    n = sketch.n_test_rows_in_training
    if not n:
        return ()
    about = "" if sketch.is_complete else "About "
    same = "row is identical to a training row" if n == 1 else "rows are identical to training rows"
    why = "If they are the same cases recorded twice, the accuracy is too high."
    return (f"{about}{n:,} test {same}. {why}",)


def tested_text(circuit: Circuit, total: AnyMeasure | None, *, page: bool) -> str:
    """Describe the accuracy, if there are test rows, and the size; a page has the rules too."""
    lines = [rules_page(circuit), ""] if page else []
    if isinstance(total, NumberMeasure):
        lines.append(f"R² on {total.n_rows:,} test rows: {total.tally.r2 or '-'}")
        lines.append(f"Mean absolute error: {total.tally.mae}")
    elif total is not None:
        accuracy = percent(total.tally.balanced_accuracy)
        lines.append(f"Balanced accuracy on {total.n_rows:,} test rows: {accuracy}")
    lines.append(page_text(circuit) if page else size_text(circuit))
    return "\n".join(lines)


def rules_page(circuit: Circuit) -> str:
    """Write the rules, each once."""
    table = rule_table(circuit)
    text = table.to_page() if isinstance(table, RuleTable) else table.to_text()
    return text.rstrip("\n")


def page_text(circuit: Circuit) -> str:
    """Describe what there is to read."""
    size = measure_size(circuit)
    return (
        f"{count_of(size.n_rules, 'rule')}, {count_of(size.n_literals, 'literal')}, "
        f"{count_of(size.n_columns, 'column')}: {', '.join(size.columns)}"
    )


def tested_document(circuit: Circuit, total: AnyMeasure | None) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "test": None if total is None else score_document(total, circuit),
        "literals": circuit.n_literals,
        "gates": circuit.n_gates,
        "rules": len(circuit.rules),
    }


def print_saved(output: str | None, result: str | dict[str, Any], *, quiet: bool) -> None:
    """Print a result, as text or as JSON, and where the model was saved."""
    to_stderr = output == STANDARD
    if isinstance(result, str):
        print_result(result, to_stderr=to_stderr)
    else:
        print_json(result, to_stderr=to_stderr)
    if output is None:
        if not quiet:
            print_message("the model was not saved; add --output FILE to save it")
    elif not quiet and not to_stderr:
        print_message(f"saved {output}; read it with: dln rules {output}")


_MANY_RULES = 20
"""With more rules than this, a model is hard to read."""


def print_size_hint(circuit: Circuit) -> None:
    """Say how to get fewer rules, if there are many."""
    if len(circuit.rules) > _MANY_RULES:
        print_message(
            f"note: The model has {len(circuit.rules)} rules. For rules that fit on a page, add "
            "--max-rules 10."
        )
