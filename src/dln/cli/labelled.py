"""A table file -> all its rows as a circuit reads them, with the class of each."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.cli.arrow import Frame
from dln.cli.labels import class_numbers
from dln.cli.layout import Layout
from dln.cli.read import kinds_for, open_table, typed


def read_labelled(
    path: str, layout: Layout, circuit: Circuit, target: str
) -> tuple[Frame, NDArray[Any]]:
    """Read a table whole, for a model that exists: its columns and the target's labels."""
    with open_table(path, layout) as source:
        source.check_column(target)
        kinds = kinds_for(circuit, source)
        written = source.whole([*kinds, target])
        classes = class_numbers(written.column(target), circuit, target)
        return typed(written, kinds, first_row=1), circuit.class_labels[classes]
