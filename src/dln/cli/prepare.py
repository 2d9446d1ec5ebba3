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
from dln.cli.kinds import clear, guess_kind, read_cells
from dln.cli.labels import class_numbers, first_missing
from dln.cli.layout import Layout
from dln.cli.notes import column_notes, target_notes
from dln.cli.read import Source, open_table, typed
from dln.errors import OptionError, TableError
from dln.literals import COLUMN_KINDS, ColumnKind
from dln.table import read_table
from dln.wording import some


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
        named = map(clear, labels.tolist())
        shown = [f"{label} ({n:,})" for label, n in zip(named, counts, strict=True)]
        lines = [
            f"read {len(self.y):,} rows and {len(self.kinds):,} columns beside the target",
            f"target {self.target!r}: {some(shown)}",
        ]
        for kind in COLUMN_KINDS:
            names = [clear(name) for name, its in self.kinds.items() if its == kind]
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
            X = typed(raw, guessed, first_row=1)
        else:
            X = typed(raw, told, first_row=1)
            table = read_table(X)
            guessed = {name: table.read(place).kind for place, name in enumerate(features)}
        read_as_text = set(features) - set(told) if source.is_text else set()
        notes = (*target_notes(target, y), *column_notes(raw, guessed, read_as_text))
        return Prepared(target, X, y, guessed, notes)


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
            f"the target {target!r} is missing in {cells.null_count:,} of {len(cells):,} rows "
            f"({first_missing(cells)}); drop those rows"
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
