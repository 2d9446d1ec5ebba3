"""A table file -> features and targets to train on, with the inferred column types."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import count_of, list_names, plain_text
from dln.cli.arrow import Column, Frame, pa, pc
from dln.cli.columns import choose_features
from dln.cli.exposure import read_exposure
from dln.cli.groups import group_note, group_numbers
from dln.cli.holdout import hold_out
from dln.cli.kinds import infer_kind, quoted_if_unclear, reading_of, tidy, without_words
from dln.cli.labels import Targets, rows_without_class
from dln.cli.layout import Layout
from dln.cli.missing import MissingWords
from dln.cli.notes import column_notes, missing_word_notes, target_notes
from dln.cli.number_target import (
    INSTEAD_OF_NUMBER,
    read_numbers,
    values_and_known,
)
from dln.cli.read import Source, open_table, typed
from dln.cli.task import MOST_CLASSES, TaskChoice, choose_task
from dln.core.circuit import Circuit, Task
from dln.core.labels import Label, label_array, plain_labels
from dln.core.literals import COLUMN_KINDS, ColumnKind
from dln.data.number_target import rate_name
from dln.data.table import read_table
from dln.data.target import class_numbers
from dln.errors import OptionError, TableError


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table to train on.

    Attributes
    ----------
    X
        Features, read as their kinds: a `Frame`.
    y
        The class or the number of each row: an array.
    task
        What is to be predicted: "classes" or "number".
    kinds
        The kind of each feature: inferred, given with `--kind` or stored in the file.
    notes
        Notes on the columns for the user, one line each.
    group, groups
        The column of `--group`, and the number of each row's group.
    exposure, exposures
        The column of `--exposure`, and the exposure of each row.
    """

    target: str
    X: Any
    y: Any
    kinds: dict[str, ColumnKind]
    notes: tuple[str, ...]
    group: str | None = None
    groups: NDArray[np.int64] | None = None
    task: Task = "classes"
    exposure: str | None = None
    exposures: NDArray[np.float64] | None = None

    def text(self) -> str:
        """Describe what was read, with one line for each kind."""
        lines = [
            f"read {len(self.y):,} rows and {count_of(len(self.kinds), 'column')} "
            "besides the target",
            f"target {self.target!r}: {self._target_text()}",
        ]
        for kind in COLUMN_KINDS:
            names = [quoted_if_unclear(name) for name, its in self.kinds.items() if its == kind]
            if names:
                lines.append(f"{kind}: {list_names(names)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _target_text(self) -> str:
        if self.task == "number":
            shown = [plain_text(number, 6, thousands=True) for number in self._low_high_mean()]
            return "numbers from {} to {}, mean {}".format(*shown)
        labels, counts = np.unique(self.y.astype(str), return_counts=True)
        named = map(quoted_if_unclear, labels.tolist())
        return list_names([f"{label} ({n:,})" for label, n in zip(named, counts, strict=True)])

    def _low_high_mean(self) -> tuple[float, float, float]:
        return self.y.min(), self.y.max(), self.y.mean()

    def document(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {
            "target": self.target,
            "task": self.task,
            "columns": self.kinds,
            "notes": list(self.notes),
        }

    @property
    def labels(self) -> NDArray[Any]:
        """The classes, if classes are predicted."""
        return np.unique(self.y)

    def class_names(self) -> tuple[Label, ...]:
        """Return the classes; none for a number."""
        return () if self.task == "number" else plain_labels(self.labels)

    def strata(self) -> NDArray[np.int64]:
        """Return the number of each row's class, whose shares a split keeps; 0 for numbers."""
        if self.task == "number":
            return np.zeros(len(self.y), dtype=np.int64)
        return np.unique(self.y, return_inverse=True)[1]

    def take_y(self, rows: NDArray[np.int64]) -> Any:
        """Return the targets of some rows, as a model is fitted to them."""
        return self.y[rows]

    def split(self, part: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Choose the rows to train on and the test rows; see `hold_out`."""
        rows, test_rows = hold_out(self.strata(), part, seed, self.groups)
        if part > 0 and not len(test_rows):
            what = "rows" if self.groups is None else "rows, since their groups are too large"
            raise OptionError(
                f"--test {part} chooses none of the {len(self.y):,} {what}; "
                "use more rows, or --test 0 to test nothing"
            )
        return rows, test_rows

    def groups_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the groups of some rows; None without `--group`."""
        return None if self.groups is None else self.groups[rows]

    def exposures_of(self, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the exposures of some rows; None without `--exposure`."""
        return None if self.exposures is None else self.exposures[rows]

    @property
    def predicted_name(self) -> str:
        """What a model predicts: the target, or the target for one unit of the exposure."""
        return rate_name(self.target, self.exposure)

    def targets(self, circuit: Circuit) -> Targets:
        """Return each row's number, or its class's number in a circuit trained on them."""
        if self.task == "number":
            return np.asarray(self.y if self.exposures is None else self.y / self.exposures)
        return class_numbers(self.y, circuit.classes, len(self.y))


class PrepareOptions(TypedDict):
    """Options on the columns of a table."""

    ignore: Sequence[str]
    only: Sequence[str]
    group: str | None
    task: TaskChoice
    exposure: str | None


def prepare(
    path: str,
    layout: Layout,
    target: str,
    *,
    kinds: Sequence[str],
    ignore: Sequence[str],
    only: Sequence[str] = (),
    group: str | None = None,
    task: TaskChoice = "classes",
    exposure: str | None = None,
) -> Prepared:
    """Read a whole table, infer its column types and separate the target and the group column.

    Rows without a target are left out, with a note.
    """
    with open_table(path, layout) as source:
        features = choose_features(
            source,
            target,
            ignore=ignore,
            only=only,
            others={"--group": group, "--exposure": exposure},
        )
        given = _given_kinds(kinds, source, features)
        if not features:
            besides = f"the target {target!r}"
            besides += "" if group is None else f" and the group column {group!r}"
            besides += "" if exposure is None else f" and the exposure column {exposure!r}"
            raise TableError(f"{source.name} has no column besides {besides}")
        beside = [name for name in (group, exposure) if name is not None]
        raw = source.read_all(list(dict.fromkeys([*features, target, *beside])))
        written = raw.column(target)
        chosen = _choose_task(task, written, source)
        if chosen == "number":
            numbers = read_numbers(
                written,
                target,
                source.words_to_train(),
                is_text=source.is_text,
                instead=INSTEAD_OF_NUMBER,
            )
            y, known = values_and_known(numbers)
        else:
            y, known = _classes(written, target, source)
        exposures = _exposures(raw, exposure, target, chosen, source)
        raw = raw.drop_columns([target, *({exposure} - {None, group})])
        notes = list(source.notes)
        if chosen == "number" and task == "auto":
            notes.append(
                f"The target {target!r} has {len(np.unique(y)):,} different numbers, so a number "
                "is predicted. To predict classes, add --task classes."
            )
        if not known.all():
            notes.append(rows_without_class(target, int((~known).sum()), len(known)))
            raw = raw.filter(pa.array(known))
            exposures = None if exposures is None else exposures[known]
        groups = None
        if group is not None:
            words = source.words_to_train().everywhere
            groups = group_numbers(raw.column(group), group, words)
            notes.append(group_note(group, groups))
            raw = raw.drop_columns([group])
        X, found = _features(raw, features, given, source)
        if source.is_text and source.missing is None:
            notes += missing_word_notes(raw, found, target, written)
        if chosen == "classes":
            notes += target_notes(target, y)
        inferred = set(features) - set(given) if source.is_text else set()
        notes += column_notes(raw, found, inferred, source.words_to_train())
        return Prepared(
            target, X, y, found, tuple(notes), group, groups, chosen, exposure, exposures
        )


def _exposures(
    raw: Frame, exposure: str | None, target: str, task: Task, source: Source
) -> NDArray[np.float64] | None:
    """Read the exposures of all rows."""
    if exposure is None:
        return None
    if task == "classes":
        raise OptionError(
            f"--exposure is for numbers, but {target!r} has classes; leave it out, or add "
            "--task number"
        )
    words = source.words_to_train()
    return read_exposure(raw.column(exposure), exposure, words, is_text=source.is_text)


def _choose_task(task: TaskChoice, cells: Column, source: Source) -> Task:
    """Choose what to predict, by the values of the target unless it is stated."""
    if source.is_text:
        words = source.words_to_train()
        kind = infer_kind(cells, words)
        cells = tidy(cells, words.in_numbers)
    else:
        types = pa.types
        is_number = any(
            test(cells.type) for test in (types.is_integer, types.is_floating, types.is_decimal)
        )
        kind = "number" if is_number else "category"
    return choose_task(task, kind, len(cells.drop_null().unique()))


def _given_kinds(
    options: Sequence[str], source: Source, features: Sequence[str]
) -> dict[str, ColumnKind]:
    given: dict[str, ColumnKind] = {}
    for option in options:
        name, _, kind = option.rpartition("=")
        known = next((known for known in COLUMN_KINDS if known == kind), None)
        if known is None or not name:
            raise OptionError(
                f"--kind is {option!r}, expected COLUMN=KIND, "
                f"where KIND is one of {', '.join(COLUMN_KINDS)}"
            )
        source.check_column(name)
        if name not in features:
            raise OptionError(f"--kind names {name!r}, which is not a column to learn from")
        given[name] = known
    return given


def _features(
    raw: Frame, features: Sequence[str], given: Mapping[str, ColumnKind], source: Source
) -> tuple[Frame, dict[str, ColumnKind]]:
    """Read the features; return them and their kinds."""
    words = source.words_to_train()
    if source.is_text:
        kinds = {name: given.get(name) or infer_kind(raw.column(name), words) for name in features}
        readings = {name: reading_of(kind, words) for name, kind in kinds.items()}
        return typed(raw, readings, first_row=1), kinds
    X = typed(raw, {name: reading_of(kind) for name, kind in given.items()}, first_row=1)
    table = read_table(X)
    return X, {name: table.read(place).kind for place, name in enumerate(features)}


def _classes(cells: Column, target: str, source: Source) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the class of each row that has one, and which rows those are."""
    read: Callable[[Any], Any] | None = None
    kind: ColumnKind | None = None
    if source.is_text:
        words = source.words_to_train().everywhere
        cells = without_words(cells, words)
        kind = infer_kind(cells, MissingWords(words, words))
        read = _READ_CLASS.get(kind)
        cells = cells if read is None else tidy(cells, words)
    known: NDArray[np.bool_] = pc.is_valid(cells).to_numpy().astype(bool)
    labels = cells.drop_null().to_pylist()
    if not labels:
        raise TableError(f"the target {target!r} has no value in any of {len(cells):,} rows")
    n_classes = len(set(labels))
    if n_classes > MOST_CLASSES and (kind == "date" or isinstance(labels[0], datetime.date)):
        raise TableError(
            f"the target {target!r} holds {n_classes:,} different dates, expected classes or "
            "numbers; convert them to numbers, for example to days since a first date"
        )
    if n_classes > max(100, len(labels) // 5) or MOST_CLASSES < n_classes == len(labels):
        raise TableError(
            f"the target {target!r} has {n_classes:,} different values in {len(labels):,} rows, "
            "too many for classes; for numbers, add --task number"
        )
    return label_array(labels if read is None else [read(label) for label in labels]), known


_READ_CLASS: Mapping[ColumnKind, Callable[[str], Any]] = {
    "integer": int,
    "boolean": lambda text: text.lower() == "true",
}
"""Whole numbers and booleans become classes of that type. All other text stays as it is."""
