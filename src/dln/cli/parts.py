"""Several Parquet files -> features and targets to train on, in temporary files.

`dln train 'data/*.parquet'` and `dln train folder` read the files as one table, in the order of
their names. It may be larger than the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln._util.messages import list_names
from dln._util.progress import live_bars
from dln._util.storage import Storage
from dln.cli.arrow import pa
from dln.cli.columns import choose_features
from dln.cli.groups import group_note
from dln.cli.kinds import quoted_if_unclear
from dln.cli.labels import Targets, rows_without_class
from dln.cli.layout import check_names
from dln.cli.prepare import Prepared
from dln.cli.read import Source
from dln.cli.task import TaskChoice, choose_task
from dln.core.circuit import Circuit
from dln.data.batches import read_batches
from dln.data.coded import CodedColumn, is_missing_in
from dln.data.number_target import read_exposure
from dln.data.number_target import read_numbers as read_number_target
from dln.data.table import RawColumn, Table
from dln.data.target import class_numbers, read_groups, read_target
from dln.errors import OptionError, TableError

_MANY_VALUES = 1000
"""Distinct values of a target that are counted; with more, their number does not matter."""


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse options that need the whole table in memory."""
    for option, value in given.items():
        if value:
            raise OptionError(
                f"{option} is for a table in one file; leave it out, or join the files"
            )


@dataclass(frozen=True, eq=False)
class PreparedParts(Prepared):
    """Like `Prepared`, but X is a table in files, and y one of its columns."""

    X: Table
    y: RawColumn

    @cached_property
    def _classes(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The number of each row's class, and the classes."""
        return read_target(self.y, len(self.y))

    @property
    def labels(self) -> NDArray[Any]:
        """The classes."""
        return self._classes[1]

    def strata(self) -> NDArray[np.int64]:
        """Return what a split keeps the shares of."""
        if self.task == "number":
            return super().strata()
        return self._classes[0].astype(np.int64)

    def take_y(self, rows: NDArray[np.int64]) -> Any:
        """Return the targets of some rows, as a model is fitted to them."""
        part = self.y.take(rows)
        return part.values if self.task == "number" else part

    def targets(self, circuit: Circuit) -> Targets:
        """Return each row's number, or its class's number in a circuit trained on them."""
        if self.task == "number":
            numbers = np.asarray(self.y.values, dtype=np.float64)
            return numbers if self.exposures is None else numbers / self.exposures
        own, labels = self._classes
        return class_numbers(labels, circuit.classes, len(labels))[own]

    def _low_high_mean(self) -> tuple[float, float, float]:
        return self.y.values.min(), self.y.values.max(), self.y.values.mean()

    def _target_text(self) -> str:
        if self.task == "number":
            return super()._target_text()
        numbers, labels = self._classes
        counts = np.zeros(len(labels), dtype=np.int64)
        for rows in row_blocks(len(numbers)):
            counts += np.bincount(numbers[rows], minlength=len(labels))
        named = map(quoted_if_unclear, map(str, labels.tolist()))
        return list_names([f"{label} ({n:,})" for label, n in zip(named, counts, strict=True)])


def prepare_parts(
    path: str,
    files: Sequence[str],
    target: str,
    *,
    ignore: Sequence[str],
    only: Sequence[str],
    group: str | None,
    task: TaskChoice,
    exposure: str | None,
    verbose: bool,
    storage: Storage | None = None,
) -> PreparedParts:
    """Read Parquet files as one table and separate the target and the group column.

    Rows without a target are left out, with a note.
    """
    found = _open(path, files)
    names = tuple(found.schema.names)
    check_names(names, path)
    source = Source(path, names, False, lambda wanted: iter(()))
    others = {"--group": group, "--exposure": exposure}
    features = choose_features(source, target, ignore=ignore, only=only, others=others)
    if not features:
        raise TableError(f"{path} has no column besides the target {target!r}")
    beside = [name for name in (group, exposure) if name is not None]
    wanted = list(dict.fromkeys([*features, target, *beside]))
    with live_bars(enabled=verbose) as show:
        table = read_batches(found, show, wanted, storage)
    columns = [table.read(place) for place in range(len(wanted))]
    y = columns[wanted.index(target)]
    notes: list[str] = []
    known = np.concatenate([~is_missing_in(y, rows) for rows in row_blocks(len(y))])
    if not known.all():
        notes.append(rows_without_class(target, int((~known).sum()), len(known)))
        rows = np.flatnonzero(known)
        table = table.take(rows)
        columns = [column.take(rows) if column is y else column for column in columns]
        y = y.take(rows)
    chosen = choose_task(task, y.kind, _count_distinct(y))
    if chosen == "number":
        y = RawColumn("number", read_number_target(y.values, len(y)))
    groups, exposures = None, None
    if group is not None:
        groups = read_groups(table.read(wanted.index(group)).values, table.n_rows)
        notes.append(group_note(group, groups))
    if exposure is not None:
        if chosen == "classes":
            raise OptionError(
                f"--exposure is for numbers, but {target!r} has classes; leave it out, or add "
                "--task number"
            )
        values = table.read(wanted.index(exposure)).values
        exposures = read_exposure(values, table.n_rows, "poisson")
    read = table.read
    X = replace(table, n_columns=len(features), names=tuple(features), read=read)
    kinds = {name: read(place).kind for place, name in enumerate(features)}
    return PreparedParts(
        target, X, y, kinds, tuple(notes), group, groups, chosen, exposure, exposures
    )


def _open(path: str, files: Sequence[str]) -> Any:
    """Open Parquet files as one dataset."""
    from pyarrow import dataset  # type: ignore[import-untyped]  # slow to load: imports pandas

    try:
        return dataset.dataset(list(files), format="parquet")
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{path} cannot be read; several files must all be Parquet: {error}"
        ) from error


def _count_distinct(column: RawColumn) -> int:
    """Count the distinct values, up to a limit."""
    if isinstance(column, CodedColumn):
        return len(column.counts())
    found: NDArray[Any] = np.empty(0, dtype=column.values.dtype)
    for rows in row_blocks(len(column)):
        found = np.union1d(found, column.values[rows])
        if len(found) > _MANY_VALUES:
            break
    return len(found)
