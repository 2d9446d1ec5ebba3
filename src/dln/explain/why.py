"""Circuit + one row -> why it gets its class: columns whose values force the class.

A *reason* is a set of columns such that every possible row with the same values in these columns
gets the same class, whatever its other values are: any number, any category, also unknown ones, and
missing values (`core.conditions` defines the possible values). The values are then widened to
intervals and sets of categories for which that is still true.

Promise: a reason always forces the class. If `minimal`, no column can be left out; that is shown by
witnesses, rows of another class that differ only in that column and in columns outside the reason.
If `widest`, no interval or set can be extended alone. If `checked`, both were checked by other code
than the code that found them (native/search/check.h, and prediction of the witnesses).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.core.conditions import Cell
from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import format_name
from dln.core.values import cell_text, cell_to_json
from dln.errors import OptionError
from dln.explain.condition import describe_atoms
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
from dln.explain.row import read_row
from dln.prove.certify import rule_claim
from dln.prove.claim import Claim
from dln.prove.clock import check_time_limit
from dln.prove.region import check_names
from dln.prove.search import Atoms, Box, Search

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

Widen = OneOf["no", "quick", "full"]

_WIDEN_NODES: dict[Widen, int] = {"no": 0, "quick": 1, "full": 2**62}
_CHECK_SECONDS = 1.0
"""A check that takes longer is given up."""


@dataclass(frozen=True)
class ReasonPart:
    """One column of a reason.

    Attributes
    ----------
    feature
        The name of the column.
    value
        Its value in the row; None means missing.
    condition
        A condition that the value fulfils. All values that fulfil it would do.
    """

    feature: str
    value: Cell
    condition: str


@dataclass(frozen=True)
class ClassReason(Formatted):
    """Why a row gets its class; returned by `Circuit.reason`.

    Attributes
    ----------
    label
        The class.
    parts
        The columns that force the class, with their values; empty if every row gets this class.
    minimal
        Whether it is certain that no column can be left out. That is a claim about columns, not
        about conditions.
    widest
        Whether it is certain that no condition can be extended while the others stay.
    smallest
        Whether it is certain that no other reason costs less, by default: has fewer columns.
    checked
        Whether an independent check of the reason was done. It takes too long for some circuits.
    """

    label: Label
    parts: tuple[ReasonPart, ...]
    minimal: bool
    widest: bool
    smallest: bool
    checked: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(part.feature for part in self.parts)

    @property
    def condition(self) -> str:
        """The whole condition, in one line."""
        return _joined([part.condition for part in self.parts])

    def to_text(self) -> str:
        """Write a line for the class and a line for each column."""
        return "\n".join([self._headline(), *(f"  {part.condition}" for part in self.parts)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-reason",
            "version": 1,
            "class": label_to_json(self.label),
            "parts": [
                {
                    "feature": part.feature,
                    "value": cell_to_json(part.value),
                    "condition": part.condition,
                }
                for part in self.parts
            ],
            "minimal": self.minimal,
            "widest": self.widest,
            "smallest": self.smallest,
            "checked": self.checked,
        }

    def _headline(self) -> str:
        label = label_text(self.label)
        if not self.parts:
            return f"{label} for every possible row"
        doubt = "" if self.minimal else " (time limit: there may be a shorter reason)"
        return f"{label}: this is enough, whatever the other columns hold{doubt}"

    def _document(self) -> Document:
        rows = tuple(
            (format_name(part.feature), cell_text(part.value), part.condition)
            for part in self.parts
        )
        section = Section("What is enough", ("feature", "value", "so that"), rows)
        return Document((), (section,) if rows else (), self._headline())


def _joined(conditions: Sequence[str]) -> str:
    marked = [
        f"({text})" if " or " in text and len(conditions) > 1 else text for text in conditions
    ]
    return " and ".join(marked) or "always"


@dataclass(frozen=True)
class Question:
    """A row to explain: its atoms, its values and its class."""

    search: Search
    atoms: Atoms
    cells: Sequence[Cell] = field(hash=False)
    winner: int

    @classmethod
    def of(cls, circuit: Circuit, row: Any) -> Question:
        """Read a row in any form."""
        one, evaluation = read_row(circuit, row)
        search = circuit._search
        literals = evaluation.wires(range(circuit.n_literals))
        cells = [one.cell(index) for index in sorted(one.cells)]
        atoms = search.atoms_of(literals)[0]
        search.check_possible(atoms, cells)
        return cls(search, atoms, cells, int(evaluation.winners[0]))

    @property
    def label(self) -> Label:
        """The class of the row."""
        return self.search.circuit.classes[self.winner]


def explain_class(
    circuit: Circuit,
    row: Any,
    *,
    prefer: Sequence[str] = (),
    costs: Mapping[str, float] | None = None,
    widen: Widen = "quick",
    time_limit: float | None = 1.0,
) -> ClassReason:
    """Find a minimal reason for the class of a row; see `Circuit.reason`."""
    check_time_limit(time_limit)
    if widen not in get_args(Widen):
        raise OptionError(f'widen is {widen!r}, expected "no", "quick" or "full"')
    question = Question.of(circuit, row)
    ranks = ranks_of(question.search, prefer, costs)
    return reasons_of_rows(
        question.search,
        question.atoms[np.newaxis],
        [question.cells],
        np.array([question.winner]),
        ranks=ranks,
        widen=widen,
        time_limit=time_limit,
        n_threads=1,
    )[0]


def reason_claim(circuit: Circuit, reason: ClassReason) -> Claim:
    """Return the claim of a reason: the class of all rows with the same values in its columns."""
    values = {part.feature: part.value for part in reason.parts}
    return rule_claim(circuit, reason.label, values, False, None)


def ranks_of(
    search: Search, prefer: Sequence[str], costs: Mapping[str, float] | None
) -> NDArray[np.float64]:
    """Return the cost of each column that is read: 1 unless stated, and less if preferred."""
    check_names(search, (*prefer, *(costs or ())))
    for name, cost in (costs or {}).items():
        if not (isinstance(cost, (int, float)) and 0 < cost < math.inf):
            raise OptionError(f"costs has {cost!r} for {name!r}, expected a positive number")
    given = {**dict.fromkeys(prefer, 0.01), **(costs or {})}
    return np.array([float(given.get(name, 1.0)) for name in search.names])


def reasons_of_rows(
    search: Search,
    atoms: Atoms,
    cells: Sequence[Sequence[Cell]],
    winners: NDArray[np.int64],
    *,
    ranks: NDArray[np.float64],
    widen: Widen,
    time_limit: float | None,
    n_threads: int,
    check: bool = True,
) -> list[ClassReason]:
    """Find a reason for each row; the time limit is for one row."""
    seconds = math.inf if time_limit is None else time_limit
    check_seconds = _CHECK_SECONDS if check and search.tables_are_right else 0.0
    # Rows that no literal distinguishes have the same reason.
    atoms, first, place_of = np.unique(atoms, axis=0, return_index=True, return_inverse=True)
    kept, boxes, witnessed, witnesses, sure = search.native.reasons(
        np.ascontiguousarray(atoms),
        search.all_rows,
        ranks,
        _WIDEN_NODES[widen],
        seconds,
        check_seconds,
        n_threads,
    )
    if check:
        check_witnesses(search, atoms, winners[first], kept, witnessed, witnesses)
    found = []
    texts: dict[tuple[int, bytes], str] = {}  # rows share many conditions

    def text_of(box: Box, at: int) -> str:
        key = at, search.part(box, at).tobytes()
        if key not in texts:
            texts[key] = condition_of(search, box, at)
        return texts[key]

    names = search.names
    columns_of = [np.flatnonzero(own).tolist() for own in kept]
    rows = zip(place_of.ravel().tolist(), cells, winners.tolist(), strict=True)
    for place, row, winner in rows:
        box, columns = boxes[place], columns_of[place]
        minimal, widest, checked = map(bool, sure[place])
        parts = tuple(ReasonPart(names[at], row[at], text_of(box, at)) for at in columns)
        label = search.circuit.classes[winner]
        widest = widest and widen != "no"
        found.append(ClassReason(label, parts, minimal, widest, not parts, checked))
    return found


def condition_of(search: Search, box: Box, place: int) -> str:
    """Describe the atoms of one column of a box."""
    chosen = np.flatnonzero(search.part(box, place)).tolist()
    index = search.variables.read[place]
    return describe_atoms(search.circuit.logic, index, search.variables.atoms[place], chosen)


def check_witnesses(
    search: Search,
    atoms: Atoms,
    winners: NDArray[np.int64],
    kept: NDArray[np.uint8],
    witnessed: NDArray[np.uint8],
    witnesses: Atoms,
) -> None:
    """Check by prediction that no column of a reason can be left out.

    The witness of a column is a row of another class that has the values of the other columns.
    """
    if not len(witnesses):
        return
    rows, columns = np.nonzero(witnessed)
    others = (kept[rows] != 0) & (np.arange(kept.shape[1]) != columns[:, np.newaxis])
    assert not (others & (witnesses != atoms[rows])).any(), "a witness differs in another column"
    classes = search.circuit.winners(search.table_of(witnesses))
    assert (classes != winners[rows]).all(), "a witness has the same class"


def box_is_checked(search: Search, box: Box, winner: int) -> bool:
    """Check by a proof that all rows of a box get a class; False if that would take too long."""
    return search.tables_are_right and search.native.is_class_checked(box, winner, _CHECK_SECONDS)
