"""The decision diagrams of three tables, as the paper shows them, with the features they use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dln import Circuit
from dln.draw import draw_circuit
from reproduction.datasets.characteristics import Characteristics
from reproduction.files import write_atomically
from reproduction.run.refits import Drawn
from reproduction.tables.sheet import Section, Sheet

# Accuracy, then continuous and categorical features used and available (Fig. 6 to 8).
_PAPER = {
    "Cirrhosis": (59.3, (6, 10), (4, 5)),
    "HeartFailure": (70.5, (4, 6), (2, 5)),
    "Liver": (72.5, (5, 9), (0, 1)),
}
_NOTE = (
    "Circuits of DLN (paper) for the tables that the paper draws (Fig. 6 to 8), each from the seed "
    "with the best validation score. Used: columns that the circuit reads, of those of the table. "
    "In brackets: the paper's figure, which counts one-hot columns as categorical features."
)


def diagram_sheet(
    drawn: Sequence[tuple[Drawn, Circuit]], characteristics: Sequence[Characteristics]
) -> Sheet:
    """Make the table of the circuits."""
    known = {one.name: one for one in characteristics}
    header = (
        "dataset", "seed", "balanced accuracy, %", "continuous used", "categorical used",
        "tests", "gates", "rules", "diagram",
    )  # fmt: skip
    rows = tuple(_row(record, circuit, known.get(record.dataset)) for record, circuit in drawn)
    return Sheet((_NOTE,), (Section("Decision diagrams", header, rows),))


def _row(record: Drawn, circuit: Circuit, table: Characteristics | None) -> tuple[str, ...]:
    accuracy, continuous, categorical = _PAPER[record.dataset]
    read = {circuit.columns[literal.column] for literal in circuit.literals}
    n_categories = sum(column.kind == "category" for column in read)
    n_numbers = len(read) - n_categories
    available = ("–", "–") if table is None else (table.continuous, table.categories)
    return (
        record.dataset,
        str(record.seed),
        f"{record.accuracy:.1f} ({accuracy})",
        f"{n_numbers} of {available[0]} ({continuous[0]} of {continuous[1]})",
        f"{n_categories} of {available[1]} ({categorical[0]} of {categorical[1]})",
        str(circuit.n_literals),
        str(circuit.n_gates),
        str(len(circuit.rules)),
        f"{_name(record)}",
    )


def write_diagrams(drawn: Sequence[tuple[Drawn, Circuit]], folder: Path) -> list[Path]:
    """Draw each circuit as SVG; return the paths."""
    paths = []
    for record, circuit in drawn:
        path = folder / _name(record)
        write_atomically(path, draw_circuit(circuit, detail="gates").to_svg(prefix="d") + "\n")
        paths.append(path)
    return paths


def _name(record: Drawn) -> str:
    return f"diagram-{record.dataset}.svg"
