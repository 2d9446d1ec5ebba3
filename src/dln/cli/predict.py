"""`dln predict`: predict the rows of a table, which may be larger than memory."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from dln._util.messages import count_of
from dln.cli.files import STANDARD, check_output, load_model, part_files
from dln.cli.layout import DETECT, Layout
from dln.cli.options import DataOrParts, Model, Quiet
from dln.cli.output import print_message
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.data.table import Table
from dln.errors import OptionError


@reads_table
def predict(
    model: Model,
    data: DataOrParts,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Format by its name: .csv, .tsv, .jsonl, .parquet or .xlsx; .gz packs text.",
        ),
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Add class probabilities.")] = False,
    votes: Annotated[
        bool, typer.Option("--votes", help="Add the votes of each class, or a number's points.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Copy a column of the table. Repeat for several."),
    ] = None,
    layout: Layout = DETECT,
    quiet: Quiet = False,
) -> None:
    """Predict the class or the number of each row of a table.

    Tables may be larger than memory. Several files are one table, in the order of their names.

    Example: dln predict heart.json patients.csv --output classes.csv --proba
    """
    from dln.cli.read_files import check_parts, read_files
    from dln.cli.unknown_categories import UnknownCategories
    from dln.cli.write import check_format, one_type, open_writer

    files = part_files(data) or [data]
    check_output(output, model, *files)
    check_format(output)
    circuit = load_model(model)
    if proba and circuit.task == "number":
        raise OptionError("--proba is for classes, but the model predicts a number; leave it out")
    labels = one_type(output, list(circuit.classes)) if circuit.task == "classes" else []
    kept = list(dict.fromkeys(keep or []))
    unknown = UnknownCategories(circuit)
    n_rows = 0
    if len(files) > 1:
        check_parts(circuit, files, layout, kept)
    with open_writer(output) as write:
        for part in read_files(circuit, files, layout, kept):
            unknown.count(part.table)
            n_rows += len(part.written)
            copies = {name: part.written.column(name) for name in kept}
            write(_joined(copies, _answers(circuit, labels, part.table, proba=proba, votes=votes)))
    if not quiet:
        unknown.print_notes()
        if output != STANDARD:
            print_message(f"wrote {output}: {count_of(n_rows, 'row')}")


def _answers(
    circuit: Circuit, labels: list[Any], cells: Table, *, proba: bool, votes: bool
) -> dict[str, Any]:
    """Return the predictions for some rows, by the names of their columns."""
    from dln.cli.arrow import pa
    from dln.cli.write import CodedValues

    if circuit.task == "classes" and not (proba or votes):
        return {"prediction": CodedValues(labels, circuit.winners(cells))}
    evaluation = circuit.evaluate(cells, wires=())
    if circuit.task == "number":
        points = {"points": pa.array(evaluation.votes[:, 0])} if votes else {}
        return {"prediction": pa.array(evaluation.answers), **points}
    answers: dict[str, Any] = {"prediction": CodedValues(labels, evaluation.winners)}
    if proba:
        answers |= _by_class("probability", circuit, evaluation.probabilities)
    if votes:
        answers |= _by_class("votes", circuit, evaluation.votes)
    return answers


def _by_class(word: str, circuit: Circuit, figures: NDArray[Any]) -> dict[str, Any]:
    from dln.cli.arrow import pa

    return {
        f"{word}_{label}": pa.array(figures[:, index])
        for index, label in enumerate(circuit.classes)
    }


def _joined(copies: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    twice = [name for name in copies if name in answers]
    if twice:
        raise OptionError(
            f"--keep {twice[0]} would make two columns of that name; rename it in the table"
        )
    return copies | answers
