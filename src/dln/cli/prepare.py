"""A table file -> features and classes to train on, and what was guessed about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.cli.arrow import Column, Frame, pa, pc
from dln.cli.holdout import hold_out
from dln.cli.kinds import guess_kind, looks_like_numbers, read_cells
from dln.cli.labels import class_numbers
from dln.cli.layout import Layout
from dln.cli.read import Source, open_table, typed
from dln.cli.talk import some
from dln.errors import OptionError, TableError
from dln.literals import COLUMN_KINDS, ColumnKind
from dln.table import read_table


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table to train on.

    Attributes
    ----------
    X
        Features, read as their kinds.
    y
        The class of each row.
    kinds
        What each feature holds, as guessed, told or written in the file.
    notes
        What a user may want to know of the columns, a line each.
    """

    target: str
    X: Frame
    y: NDArray[Any]
    kinds: dict[str, ColumnKind]
    notes: tuple[str, ...]

    def text(self) -> str:
        """Say what was read, a line for each kind."""
        labels, counts = np.unique(self.y.astype(str), return_counts=True)
        shown = [f"{label} ({n:,})" for label, n in zip(labels, counts, strict=True)]
        lines = [
            f"read {len(self.y):,} rows and {len(self.kinds):,} columns beside the target",
            f"target {self.target!r}: {some(shown)}",
        ]
        for kind in COLUMN_KINDS:
            names = [name for name, its in self.kinds.items() if its == kind]
            if names:
                lines.append(f"{kind}: {some(names)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def document(self) -> dict[str, Any]:
        """Say the same to programs."""
        return {"target": self.target, "columns": self.kinds, "notes": list(self.notes)}

    def split(self, part: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Choose the rows to train on and those to test on; see `hold_out`."""
        _, numbers = np.unique(self.y, return_inverse=True)
        rows, test_rows = hold_out(numbers, part, seed)
        if part > 0 and not len(test_rows):
            raise OptionError(
                f"--test {part} holds out none of the {len(self.y):,} rows; "
                "give more rows, or --test 0 to test nothing"
            )
        return rows, test_rows

    def numbers(self, circuit: Circuit) -> NDArray[np.int64]:
        """Give the number of each row's class in a circuit that was trained on them."""
        return class_numbers(pa.chunked_array([self.y.tolist()]), circuit, self.target)


def prepare(
    path: str, layout: Layout, target: str, *, kinds: Sequence[str], ignore: Sequence[str]
) -> Prepared:
    """Read a table whole, find out what its columns hold and take the target apart."""
    with open_table(path, layout) as source:
        for name in (target, *ignore):
            source.check_column(name)
        features = [name for name in source.names if name != target and name not in ignore]
        told = _told(kinds, source, features)
        if not features:
            raise TableError(f"{source.name} has no column beside the target {target!r}")
        raw = source.whole([*features, target])
        y = _classes(raw.column(target), target, source)
        raw = raw.drop_columns([target])
        if source.is_text:
            guessed = {name: told.get(name) or guess_kind(raw.column(name)) for name in features}
            X = typed(raw, guessed)
        else:
            X = typed(raw, told)
            table = read_table(X)
            guessed = {name: table.read(place).kind for place, name in enumerate(features)}
        return Prepared(target, X, y, guessed, tuple(_notes(raw, guessed, source)))


def _told(wishes: Sequence[str], source: Source, features: Sequence[str]) -> dict[str, ColumnKind]:
    told: dict[str, ColumnKind] = {}
    for wish in wishes:
        name, _, kind = wish.rpartition("=")
        known = next((known for known in COLUMN_KINDS if known == kind), None)
        if known is None or not name:
            raise OptionError(
                f"--kind is {wish!r}, expected COLUMN=KIND with a kind of {', '.join(COLUMN_KINDS)}"
            )
        source.check_column(name)
        if name not in features:
            raise OptionError(f"--kind names {name!r}, which is not a column to learn from")
        told[name] = known
    return told


def _classes(cells: Column, target: str, source: Source) -> NDArray[Any]:
    """Read the target: whole numbers and booleans as such, all other text as it is."""
    if cells.null_count:
        raise TableError(
            f"the target {target!r} is missing in {cells.null_count:,} of {len(cells):,} rows; "
            "drop those rows"
        )
    if source.is_text:
        kind = guess_kind(cells)
        read = read_cells(cells, kind, target) if kind in ("integer", "boolean") else cells
        # A word that means a missing cell elsewhere is a class here.
        cells = cells if read.null_count else read
    n_classes = len(pc.unique(cells))
    if n_classes > max(100, len(cells) // 5):
        raise TableError(
            f"the target {target!r} has {n_classes:,} different values in {len(cells):,} rows; "
            "dln predicts classes: put numbers into a few ranges first"
        )
    return np.array(cells.to_pylist(), dtype=None)


def _notes(raw: Frame, kinds: dict[str, ColumnKind], source: Source) -> list[str]:
    """Point out columns that may have been meant otherwise."""
    notes = []
    for name, kind in kinds.items():
        cells = raw.column(name)
        if cells.null_count == len(cells):
            notes.append(f"{name} is empty")
        elif kind == "category" and source.is_text and looks_like_numbers(cells):
            notes.append(f"{name} is text: write 1,234.5 or 1234,5 as 1234.5 to have numbers")
        elif (
            kind == "category"
            and len(cells) > 20
            and pc.count_distinct(cells).as_py() == len(cells)
        ):
            notes.append(f"{name} is different in every row; --ignore it if it is a name or number")
    return notes
