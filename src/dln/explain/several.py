"""Circuit + one row -> its cheapest reasons, and the columns that every or no reason contains.

A *conflict* is a set of columns such that a change of these columns alone can change the class. A
reason contains a column of every conflict. So the cheapest set that hits all known conflicts is a
lower bound: if it forces the class, it is a cheapest reason; if not, a row of another class shows a
new conflict (implicit hitting sets).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import format_name
from dln.errors import OptionError
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
from dln.explain.why import (
    ClassReason,
    Question,
    ReasonPart,
    box_is_checked,
    condition_of,
    ranks_of,
)
from dln.prove.clock import Clock, check_time_limit

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

Columns = frozenset[int]


@dataclass(frozen=True)
class ClassReasons(Formatted):
    """The cheapest reasons for the class of a row; returned by `Circuit.reasons`.

    Attributes
    ----------
    label
        The class.
    reasons
        The reasons, cheapest first; by default those with the fewest columns. Each is minimal.
    complete
        Whether these are all minimal reasons.
    necessary
        Columns that every reason contains: a change of such a column alone can change the class.
    irrelevant
        Columns that no minimal reason contains; None if not all reasons are known.
    """

    label: Label
    reasons: tuple[ClassReason, ...]
    complete: bool
    necessary: tuple[str, ...]
    irrelevant: tuple[str, ...] | None

    def to_text(self) -> str:
        """Write a line for each reason, then the necessary and the irrelevant columns."""
        all_of = "all minimal reasons" if self.complete else "the smallest reasons found"
        lines = [f"{label_text(self.label)}: {all_of}, whatever the other columns hold"]
        lines += [
            f"  {number}. {reason.condition}" for number, reason in enumerate(self.reasons, start=1)
        ]
        lines.append(f"in every reason: {_listed(self.necessary)}")
        if self.irrelevant is not None:
            lines.append(f"in no reason: {_listed(self.irrelevant)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-reasons",
            "version": 1,
            "class": label_to_json(self.label),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "complete": self.complete,
            "necessary": list(self.necessary),
            "irrelevant": None if self.irrelevant is None else list(self.irrelevant),
        }

    def _document(self) -> Document:
        head, *_ = self.to_text().splitlines()
        rows = tuple((str(n), r.condition) for n, r in enumerate(self.reasons, start=1))
        notes = tuple(line for line in self.to_text().splitlines() if line.startswith("in "))
        return Document(notes, (Section("Reasons", ("number", "so that"), rows),), head)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(format_name, names)) or "none"


def find_reasons(
    circuit: Circuit,
    row: Any,
    *,
    n: int = 5,
    prefer: Sequence[str] = (),
    costs: Mapping[str, float] | None = None,
    time_limit: float | None = 5.0,
) -> ClassReasons:
    """Find the cheapest reasons for the class of a row; see `Circuit.reasons`."""
    check_time_limit(time_limit)
    if not (isinstance(n, int) and n >= 1):
        raise OptionError(f"n is {n!r}, expected a whole number of at least 1")
    question = Question.of(circuit, row)
    search = question.search
    prices = ranks_of(search, prefer, costs).tolist()
    clock = Clock(time_limit)
    necessary = _necessary(question)
    conflicts: list[Columns] = [frozenset([column]) for column in necessary]
    found: list[Columns] = []
    complete = False
    while len(found) < n:
        candidate = cheapest_hitting_set(prices, conflicts, found, clock)
        if candidate is None:
            complete = not clock.is_over
            break
        conflict = _conflict(question, candidate, clock)
        if isinstance(conflict, frozenset):
            conflicts.append(conflict)
        elif conflict:
            found.append(candidate)
        else:
            break
    if not found:  # the time limit: any minimal reason
        only = circuit.reason(row, prefer=prefer, costs=costs, time_limit=time_limit)
        return ClassReasons(question.label, (only,), False, _names(question, necessary), None)
    if len(found) == n and not complete:
        complete = cheapest_hitting_set(prices, conflicts, found, clock) is None
        complete = complete and not clock.is_over
    used = frozenset().union(*found)
    unused = [column for column in range(len(prices)) if column not in used]
    read = {circuit.columns[index].name for index in search.variables.read}
    never = {column.name for column in circuit.columns} - read
    irrelevant = {*never, *_names(question, unused)} if complete else None
    names = [column.name for column in circuit.columns]
    return ClassReasons(
        question.label,
        tuple(_reason(question, columns, first=not place) for place, columns in enumerate(found)),
        complete,
        _names(question, necessary),
        None if irrelevant is None else tuple(name for name in names if name in irrelevant),
    )


def _names(question: Question, columns: Sequence[int]) -> tuple[str, ...]:
    return tuple(question.search.names[column] for column in columns)


def _necessary(question: Question) -> list[int]:
    """Find the columns whose change alone can change the class, by predicting all changes."""
    search = question.search
    rows, owners = [], []
    for place, size in enumerate(search.variables.sizes):
        changed = np.repeat(question.atoms[np.newaxis], size, axis=0)
        changed[:, place] = np.arange(size)
        rows.append(changed)
        owners += [place] * size
    if not rows:
        return []
    classes = search.circuit.winners(search.table_of(np.concatenate(rows)))
    return sorted({owner for owner, c in zip(owners, classes, strict=True) if c != question.winner})


def _conflict(question: Question, kept: Columns, clock: Clock) -> Columns | bool:
    """Return a conflict outside the kept columns, True if there is none, False if undecided."""
    search = question.search
    box = search.box_of({column: [int(question.atoms[column])] for column in kept})
    left = math.inf if clock.left is None else clock.left
    found = search.find_other(box, question.winner, seconds=left)
    if found.row is None:
        return found.complete
    row = found.row.copy()
    for column in np.flatnonzero(row != question.atoms).tolist():
        # Take the value of the row itself, unless the class would then be the same.
        changed, row[column] = row[column], question.atoms[column]
        if search.circuit.winners(search.table_of(row[np.newaxis]))[0] == question.winner:
            row[column] = changed
    return frozenset(np.flatnonzero(row != question.atoms).tolist())


def _reason(question: Question, columns: Columns, *, first: bool) -> ClassReason:
    search = question.search
    box = search.box_of({column: [int(question.atoms[column])] for column in columns})
    parts = tuple(
        ReasonPart(search.names[at], question.cells[at], condition_of(search, box, at))
        for at in sorted(columns)
    )
    checked = box_is_checked(search, box, question.winner)
    return ClassReason(question.label, parts, True, False, first, checked)


def cheapest_hitting_set(
    prices: Sequence[float], sets: Sequence[Columns], forbidden: Sequence[Columns], clock: Clock
) -> Columns | None:
    """Find the cheapest set that has a member of each of the `sets` and contains no forbidden one.

    Returns None if there is none, or if the time is over.

    >>> sets = [frozenset({0, 1}), frozenset({1, 2})]
    >>> cheapest_hitting_set([1.0, 1.0, 1.0], sets, [], Clock(None))
    frozenset({1})
    """
    best: list[Columns | None] = [None]
    least = [math.inf]

    def bound(left: Sequence[Columns], excluded: Columns) -> float:
        """Add up the cheapest members of disjoint sets."""
        total, used = 0.0, set[int]()
        for members in left:
            if used.isdisjoint(members):
                used |= members
                total += min((prices[c] for c in members - excluded), default=math.inf)
        return total

    def visit(chosen: Columns, excluded: Columns, cost: float) -> None:
        if clock.is_over or any(other <= chosen for other in forbidden):
            return
        left = sorted((s for s in sets if s.isdisjoint(chosen)), key=lambda s: len(s - excluded))
        if cost + bound(left, excluded) >= least[0]:
            return
        if not left:
            best[0], least[0] = chosen, cost
            return
        banned = excluded
        for column in sorted(left[0] - excluded, key=lambda c: (prices[c], c)):
            visit(chosen | {column}, banned, cost + prices[column])
            banned |= {column}

    visit(frozenset(), frozenset(), 0.0)
    return None if clock.is_over else best[0]
