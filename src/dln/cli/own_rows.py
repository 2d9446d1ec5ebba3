"""Recognise a model's own training rows and test rows in a table, and leave them out.

Promise: the same rows are found in any order of rows and columns, in any file format and with any
spelling of the same numbers. If the model has a sample of row hashes, this holds for the sampled
rows. A model without row hashes recognises only the unchanged file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import count_of, list_names
from dln.cli.arrow import Frame, pa
from dln.cli.exposure import target_columns
from dln.cli.files import STANDARD, load_model
from dln.cli.groups import group_numbers, remembered_group
from dln.cli.holdout import digest_of, hold_out
from dln.cli.kinds import reading_for, used_features
from dln.cli.labels import Targets, find_targets, rows_without_class, strata_of
from dln.cli.layout import Layout
from dln.cli.read import Source, kinds_for, open_table, typed
from dln.cli.row_codes import value_codes
from dln.core.circuit import Circuit
from dln.core.row_sketch import Part, RowMatcher, row_hashes
from dln.errors import TableError

Mask = NDArray[np.bool_]

_ROLE = {"training": "used to train this model", "test": "test rows of this model"}


@dataclass(frozen=True)
class Choice:
    """Which rows of a table a command uses.

    Attributes
    ----------
    n_given, n_left_out, n_unchecked
        Rows of the table, rows left out because they were recognised, and rows left out because
        the model's sample of row hashes does not cover them.
    note
        What was done, in full sentences; "" if there is nothing to report.
    uses_own
        Whether the rows used include rows of the part that would be left out.
    """

    n_given: int
    n_left_out: int
    n_unchecked: int
    note: str
    uses_own: bool = False

    def after(self, note: str) -> Choice:
        """Return the same choice with another note before the existing one."""
        return replace(self, note=" ".join(text for text in (note, self.note) if text))

    def document(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {
            "rows_given": self.n_given,
            "rows_left_out": self.n_left_out + self.n_unchecked,
            "note": self.note or None,
        }


class RowChooser:
    """Finds rows of one part, training or test, in a table that is read in chunks.

    `find` is called for every chunk, then `decide`.

    Parameters
    ----------
    own
        The rows of the part, if `own_rows` found them.
    part
        The rows to leave out.
    purpose
        The beginning of the note's last sentence, for example "Accuracy is measured on".
    all_rows
        Whether to use every row; a note then says how many of them are of the part.
    """

    def __init__(
        self,
        circuit: Circuit,
        source: Source,
        own: Mask | None,
        *,
        part: Part,
        purpose: str,
        all_rows: bool,
    ) -> None:
        self._circuit, self._own, self._part, self._purpose = circuit, own, part, purpose
        self._all_rows = all_rows
        self._n_rows = 0
        self._reason = ""
        self._matcher: RowMatcher | None = None
        words = source.words_for(circuit)
        self._readings = [
            reading_for(column, words, is_text=source.is_text) for column in circuit.columns
        ]
        origin = circuit.origin
        if origin is None or own is not None:
            return
        missing = [column.name for column in circuit.columns if column.name not in source.names]
        if origin.rows is None:
            self._reason = (
                "The model file holds no row hashes, so its training rows are recognised only in "
                f"the unchanged file {origin.data!r}."
            )
        elif missing:
            self._reason = (
                f"The table lacks {list_names(map(repr, missing))} of the training table, "
                "so training rows cannot be recognised."
            )
        else:
            self._matcher = RowMatcher(origin.rows, part)

    @property
    def columns(self) -> list[str]:
        """The columns that have to be read besides those of the circuit."""
        if self._matcher is None:
            return []
        used = {feature.name for feature in used_features(self._circuit)}
        return [column.name for column in self._circuit.columns if column.name not in used]

    def find(self, frame: Frame, targets: Targets) -> tuple[Mask, Mask]:
        """Return which rows of a chunk are known to be of the part, and which cannot be checked."""
        first = self._n_rows
        self._n_rows += len(targets)
        none = np.zeros(len(targets), dtype=bool)
        if self._own is not None:
            return self._own[first : self._n_rows], none
        if self._matcher is None or self._circuit.origin is None:
            return none, none
        sketch = self._circuit.origin.rows
        assert sketch is not None
        codes = value_codes(frame, self._circuit.columns, self._readings, targets)
        checked, found = self._matcher.find(row_hashes(codes, sketch.key))
        return found, ~checked

    def decide(self) -> Choice:
        """Decide after the last chunk which rows are left out."""
        n_rows, found = self._n_rows, self._matcher
        n_found, n_unchecked = 0, 0
        if self._own is not None:
            n_found = int(self._own.sum())
        elif found is not None:
            n_found, n_unchecked = found.n_found, n_rows - found.n_checked
        if not n_found:
            return Choice(n_rows, 0, 0, "" if self._all_rows else self._reason)
        if found is not None and found.is_chance:
            return Choice(n_rows, 0, 0, self._chance(found))
        if self._all_rows:
            return Choice(n_rows, 0, 0, self._included(n_found, n_unchecked), uses_own=True)
        n_left = n_rows - n_found - n_unchecked
        if n_left == 0:
            return Choice(n_rows, n_found, n_unchecked, "")
        return Choice(n_rows, n_found, n_unchecked, self._left_out(n_found, n_unchecked, n_left))

    def _included(self, n_found: int, n_unchecked: int) -> str:
        rows = count_of(self._n_rows - n_unchecked, "row")
        checked = " that can be checked" if n_unchecked else ""
        return (
            f"--all-rows: {n_found:,} of the {rows}{checked} {self._were(n_found)} "
            f"{_ROLE[self._part]}; they are included."
        )

    def _were(self, n_found: int) -> str:
        return ("was" if n_found == 1 else "were") if self._part == "training" else "are"

    def _left_out(self, n_found: int, n_unchecked: int, n_left: int) -> str:
        is_or_are, rows = self._were(n_found), count_of(self._n_rows, "row")
        rest = f"{self._purpose} the other {count_of(n_left, 'row')}."
        if not n_unchecked:
            they = "it is" if n_found == 1 else "they are"
            return (
                f"{n_found:,} of the {rows} {is_or_are} {_ROLE[self._part]}; "
                f"{they} left out. {rest}"
            )
        return (
            f"The model file holds a sample of row hashes, so {self._n_rows - n_unchecked:,} of "
            f"the {rows} can be checked. {n_found:,} of these {is_or_are} "
            f"{_ROLE[self._part]}; they are left out. {rest}"
        )

    def _chance(self, found: RowMatcher) -> str:
        return (
            f"{found.n_equal:,} of the {count_of(found.n_checked, 'row')} have the same values as "
            f"{self._part} rows of this model. Rows repeat often in this data, so they are kept."
        )


def own_rows(circuit: Circuit, path: str, layout: Layout, target: str, part: Part) -> Mask | None:
    """Find the rows of a part in the unchanged training file, by repeating the split.

    Returns a mask of the rows that have a class, or None for any other file. The split is repeated
    even if the model file holds all row hashes: it is exact also if another version of dln hashed
    the rows in another way.
    """
    origin = circuit.origin
    if origin is None or target != origin.target:
        return None
    if not origin.digest or digest_of(path) != origin.digest:
        return None
    group, groups = remembered_group(origin), None
    with open_table(path, layout) as source:
        source.check_column(target)
        if group is not None and group not in source.names:  # read with another header
            return None
        columns = target_columns(circuit, target)
        written = source.read_all([*columns, *([] if group is None else [group])])
        labelled = find_targets(written, source, circuit, target)
        if group is not None:
            cells = written.column(group).filter(pa.array(labelled.known))
            groups = group_numbers(cells, group, source.words_for(circuit).everywhere)
    strata = strata_of(labelled.targets)
    rows, test_rows = hold_out(strata, origin.test_part, origin.seed, groups)
    if len(rows) != origin.n_rows:  # the table was read with other options
        return None
    mask = np.zeros(len(strata), dtype=bool)
    mask[rows if part == "training" else test_rows] = True
    return mask


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """The rows of a table that a command uses.

    Attributes
    ----------
    X, y
        Features as the circuit reads them, and the class or number of each row.
    numbers
        The place of each row in the table, counted from 0.
    """

    X: Frame
    y: NDArray[Any]
    numbers: NDArray[np.int64]
    choice: Choice


def choose_rows(
    path: str,
    layout: Layout,
    circuit: Circuit,
    target: str,
    *,
    part: Part = "training",
    purpose: str,
    all_rows: bool = False,
) -> ChosenRows:
    """Read a whole table and leave out the rows of one part, unless `all_rows` is set.

    If no row would be left, training rows are used nevertheless, with a note; for test rows this
    raises `TableError`.
    """
    own = own_rows(circuit, path, layout, target, part)
    with open_table(path, layout) as source:
        needed = target_columns(circuit, target)
        for name in needed:
            source.check_column(name)
        kinds = kinds_for(circuit, source)
        chooser = RowChooser(circuit, source, own, part=part, purpose=purpose, all_rows=all_rows)
        written = source.read_all(list(dict.fromkeys([*kinds, *needed, *chooser.columns])))
        labelled = find_targets(written, source, circuit, target)
        frame = typed(written, kinds, first_row=1).filter(pa.array(labelled.known))
    targets, places = labelled.targets, np.flatnonzero(labelled.known)
    unlabelled = rows_without_class(target, len(written) - len(places), len(written))
    labels = targets if circuit.task == "number" else circuit.class_labels[strata_of(targets)]
    X = frame.select(list(dict.fromkeys([*kinds, target])))
    found, unchecked = chooser.find(frame, targets)
    choice = chooser.decide().after(unlabelled)
    if not choice.n_left_out:
        return ChosenRows(X, labels, places, choice)
    kept = np.flatnonzero(~(found | unchecked))
    if not len(kept):
        return ChosenRows(X, labels, places, nothing_left(choice, part).after(unlabelled))
    return ChosenRows(X.take(kept), labels[kept], places[kept], choice)


def nothing_left(choice: Choice, part: Part) -> Choice:
    """Return the choice for a table in which every checked row is of the part.

    Training rows are all used, with a note; a table of test rows is refused.
    """
    if part == "test":
        raise TableError(
            f"all {count_of(choice.n_given, 'row')} are test rows of this model; "
            "give other rows, or add --all-rows to use them"
        )
    n_checked = choice.n_given - choice.n_unchecked
    checked = f" that can be checked, of {choice.n_given:,}," if choice.n_unchecked else ""
    note = (
        f"All {count_of(n_checked, 'row')}{checked} were used to train this model. "
        "Expect lower accuracy on new rows."
    )
    return Choice(choice.n_given, 0, 0, note, uses_own=True)


def load_earlier(model: str, path: str, layout: Layout, target: str) -> Circuit:
    """Load a model to continue from; refuse a file with rows that it is known to be trained on."""
    circuit = load_model(model)
    # Standard input can be read only once. A missing target is reported later.
    if circuit.origin is None or path == STANDARD or target not in _names(path, layout):
        return circuit
    chosen = choose_rows(path, layout, circuit, target, purpose="", all_rows=True)
    if chosen.choice.uses_own:
        raise TableError(
            f"{path} has rows that {model} was trained on, which look easier than new rows; "
            "give only new rows, or leave out --init to train on all rows"
        )
    return circuit


def _names(path: str, layout: Layout) -> list[str]:
    with open_table(path, layout) as source:
        return list(source.names)
