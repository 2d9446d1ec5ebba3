"""Circuit + one row -> the cheapest changes of several features that give it another class.

Every combination of values is covered, so an answer is exact: no allowed change costs less. The
search is `prove.search`; every option is checked by predicting the changed row.

The cost of a change is the sum over the changed features of `costs` (1 unless stated) times one
plus the distance. The distance is the share of the feature's thresholds in the circuit that are
crossed, and one half for categories and booleans. So few changed features are preferred, then small
steps.

Values never become missing or an unknown category. Changed numbers are in the range of the training
rows where the circuit has it and `within` states no other. Numbers outside are proposed only if no
change within the ranges gives the class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names
from dln.core.conditions import Cell, Gap
from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import Column, format_name, sorted_cutoffs
from dln.core.values import cell_text
from dln.errors import OptionError
from dln.explain.amounts import Prediction
from dln.explain.change import Change, Step, step_to_gap
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
from dln.explain.row import OneRow, read_row
from dln.explain.why import Question, condition_of, ranks_of
from dln.prove.clock import Clock, check_time_limit
from dln.prove.region import check_names, members
from dln.prove.search import Box, Demand
from dln.prove.votes import votes_of

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

_UNIT = 1 << 16
"""Costs are rounded to this fraction of 1."""


@dataclass(frozen=True)
class ChangeOption:
    """One way to change the class of a row.

    Attributes
    ----------
    changes
        The changed features. All values that fulfil their conditions give the class.
    label
        The class that the changed row gets. For a number, the range that its prediction is in.
    cost
        The cost of the change.
    prediction
        For a number: the prediction of the changed row.
    """

    changes: tuple[Change, ...]
    label: Label
    cost: float
    prediction: Prediction | None = None

    def __str__(self) -> str:
        return "; ".join(
            f"{format_name(change.feature)}: {cell_text(change.before)} -> "
            f"{cell_text(change.after)} ({change.condition})"
            for change in self.changes
        )


@dataclass(frozen=True)
class ChangeOptions(Formatted):
    """The cheapest changes that give a row another class; returned by `Circuit.changes`.

    Attributes
    ----------
    label
        The class of the row.
    to
        The class that was asked for; None if any other class.
    options
        Cheapest first. Each changes another set of features, and none of these sets contains an
        earlier one.
    complete
        Whether the costs are certainly the lowest, and options that are missing do not exist.
        False if the time limit was reached.
    fixed
        The columns that must not change.
    prediction
        For a number: the prediction of the row. `label` and `to` are ranges of it then.
    """

    label: Label
    to: Label | None
    options: tuple[ChangeOption, ...]
    complete: bool
    fixed: tuple[str, ...] = field(default=())
    prediction: Prediction | None = None

    def to_text(self) -> str:
        """Write a line for each option."""
        aim = "another class" if self.to is None else label_text(self.to)
        if not self.options:
            if not self.complete:
                return f"No change to {aim} was found within the time limit."
            return f"No allowed change gives {aim}."
        doubt = "" if self.complete else " (time limit: there may be cheaper changes)"
        now = self.prediction or label_text(self.label)
        lines = [f"{now}; changes that give {aim}, cheapest first{doubt}:"]
        for number, option in enumerate(self.options, start=1):
            gives = f" gives {option.prediction or label_text(option.label)}"
            gives = gives if self.to is None or option.prediction else ""
            lines.append(f"  {number}. {option}{gives}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; docs/guides/explain.md describes the schema."""
        return {
            "format": "dln-changes",
            "version": 1,
            "class": label_to_json(self.label),
            "to": None if self.to is None else label_to_json(self.to),
            "fixed": list(self.fixed),
            "options": [
                {
                    "class": label_to_json(option.label),
                    "cost": option.cost,
                    **(
                        {}
                        if option.prediction is None
                        else {"prediction": option.prediction.to_json()}
                    ),
                    "changes": [change.to_dict() for change in option.changes],
                }
                for option in self.options
            ],
            "complete": self.complete,
            **({} if self.prediction is None else {"prediction": self.prediction.to_json()}),
        }

    def _document(self) -> Document:
        head, *_ = self.to_text().splitlines()
        sections = tuple(
            Section(
                f"Option {number}: {option.prediction or label_text(option.label)}, "
                f"cost {option.cost:.2f}",
                ("feature", "from", "to", "so that"),
                tuple(
                    (
                        format_name(change.feature),
                        cell_text(change.before),
                        cell_text(change.after),
                        change.condition,
                    )
                    for change in option.changes
                ),
            )
            for number, option in enumerate(self.options, start=1)
        )
        return Document((), sections, head)


Range = tuple[float | None, float | None]


def find_changes(
    circuit: Circuit,
    row: Any,
    *,
    to: Label | None = None,
    fixed: Sequence[str] = (),
    only_up: Sequence[str] = (),
    only_down: Sequence[str] = (),
    within: Mapping[str, Any] | None = None,
    costs: Mapping[str, float] | None = None,
    n: int = 1,
    time_limit: float | None = 10.0,
) -> ChangeOptions:
    """Find the cheapest changes that give a row another class; see `Circuit.changes`."""
    check_time_limit(time_limit)
    if not (isinstance(n, int) and n >= 1):
        raise OptionError(f"n is {n!r}, expected a whole number of at least 1")
    one, _ = read_row(circuit, row)
    question = Question.of(circuit, row)
    targets = _targets(question, to)
    steps = _Steps(question, one, fixed, only_up, only_down, within or {}, costs)
    clock = Clock(time_limit)
    found, complete = _cheapest_options(question, steps, targets, n, clock)
    if not found and complete and steps.left_out:
        steps = _Steps(
            question, one, fixed, only_up, only_down, within or {}, costs, only_likely=False
        )
        found, complete = _cheapest_options(question, steps, targets, n, clock)
    names = [question.search.names[place] for place in sorted(steps.fixed)]
    return ChangeOptions(question.label, to, tuple(found), complete, tuple(names))


def _cheapest_options(
    question: Question, steps: _Steps, targets: list[list[Demand]], n: int, clock: Clock
) -> tuple[list[ChangeOption], bool]:
    """Find at most n options, and whether they are certainly the cheapest."""
    found: list[ChangeOption] = []
    sets: list[frozenset[int]] = []
    complete = True
    while len(found) < n:
        best, sure = _cheapest(question, steps, targets, sets, clock)
        complete = complete and sure
        if best is None:
            break
        changed, option = best
        sets.append(changed)
        found.append(option)
        if not changed:
            break
    return found, complete


def _targets(question: Question, to: Label | None) -> list[list[Demand]]:
    """Return the demands of which one must be fulfilled."""
    search, circuit = question.search, question.search.circuit
    if to is None:
        others = (c for c in range(circuit.n_classes) if c != question.winner)
        return [[search.beats(other, question.winner)] for other in others]
    if to not in circuit.classes:
        classes = list_names(map(repr, circuit.classes))
        raise OptionError(f"the circuit has no class {to!r}; its classes are {classes}")
    number = circuit.classes.index(to)
    if number == question.winner:
        raise OptionError(f"the row already gets class {label_text(to)}; ask for another class")
    return [search.wins(number)]


def _cheapest(
    question: Question,
    steps: _Steps,
    targets: list[list[Demand]],
    sets: list[frozenset[int]],
    clock: Clock,
) -> tuple[tuple[frozenset[int], ChangeOption] | None, bool]:
    """Find the cheapest option that does not change all features of an earlier one."""
    search = question.search
    row, cost, complete = None, None, True
    # One feature of each earlier option stays as it is.
    for kept in sorted({frozenset(pick) for pick in itertools.product(*sets)}, key=sorted):
        if any(other < kept for other in ({*pick} for pick in itertools.product(*sets))):
            continue
        box = search.box_of({v: [int(question.atoms[v])] for v in kept}, steps.box)
        for demands in targets:
            left = math.inf if clock.left is None else clock.left
            found = search.find(box, demands, costs=steps.costs, below=cost, seconds=left)
            complete = complete and found.complete
            if found.row is not None:
                row, cost = found.row, found.cost
    if row is None or cost is None:
        return None, complete
    changed = frozenset(np.flatnonzero(row != question.atoms).tolist())
    return (changed, steps.option(row, changed, cost)), complete


class _Steps:
    """The allowed changes of a row, with their costs.

    Attributes
    ----------
    left_out
        Whether a change is left out because its values are outside the range of the training rows.
    """

    def __init__(
        self,
        question: Question,
        row: OneRow,
        fixed: Sequence[str],
        only_up: Sequence[str],
        only_down: Sequence[str],
        within: Mapping[str, Any],
        costs: Mapping[str, float] | None,
        *,
        only_likely: bool = True,
    ) -> None:
        self._question = question
        self.left_out = False
        self._search = search = question.search
        self._row = row
        weights = ranks_of(search, (), costs)
        check_names(search, (*fixed, *only_up, *only_down, *within))
        self.fixed = {
            place
            for place, index in enumerate(search.variables.read)
            if search.names[place] in fixed or search.circuit.columns[index].immutable
        }
        self.box: Box = np.zeros(search.starts[-1], dtype=np.uint8)
        self.costs: NDArray[np.int64] = np.zeros(search.starts[-1], dtype=np.int64)
        self._steps: dict[tuple[int, int], Step] = {}
        for place, name in enumerate(search.names):
            column = search.circuit.columns[search.variables.read[place]]
            own = int(question.atoms[place])
            _check_order(column, name in only_up or name in only_down)
            limits = _limits(column, within.get(name))
            free = within.get(name) is None
            for atom in range(search.variables.sizes[place]):
                if atom != own and not (
                    (name in only_up and atom < own)
                    or (name in only_down and atom > own)
                    or place in self.fixed
                ):
                    if free and only_likely and not self._is_likely(place, atom):
                        self.left_out = True
                    else:
                        self._allow(place, atom, column, limits, float(weights[place]))
            search.part(self.box, place)[own] = 1

    def _is_likely(self, place: int, atom: int) -> bool:
        found = self._search.atom_at(place, atom)
        return not isinstance(found, Gap) or found.is_likely

    def _allow(
        self, place: int, atom: int, column: Column, limits: Range | Collection[Any], weight: float
    ) -> None:
        step = self._step(place, atom, column, limits)
        if step is None:
            return
        self._steps[place, atom] = step
        if column.kind in ("category", "boolean"):
            distance = 0.5
        else:
            distance = step.n_crossed / max(1, len(self._cutoffs(place)))
        cost = max(1, round(_UNIT * weight * (1 + distance)))
        if cost >= 1 << 36:
            raise OptionError(
                f"the cost of {column.name!r} is {weight!r}, expected less than 10,000"
            )
        at = self._search.starts[place] + atom
        self.box[at], self.costs[at] = 1, cost

    def _step(
        self, place: int, atom: int, column: Column, limits: Range | Collection[Any]
    ) -> Step | None:
        """Return the step to an atom; None if it has no allowed value."""
        found = self._search.atom_at(place, atom)
        if isinstance(found, Gap):
            assert isinstance(limits, tuple)
            gap = found.narrowed(*limits)
            number = self._row.number(self._search.variables.read[place])
            return None if gap is None else step_to_gap(number, gap, self._cutoffs(place))
        members = [
            category for category in self._members(place, atom) if not limits or category in limits
        ]
        return Step(members[0], 0) if members else None

    def _cutoffs(self, place: int) -> list[float]:
        literals = self._search.circuit.literals
        return sorted_cutoffs(literals[wire] for wire in self._search.variables.literals[place])

    def _members(self, place: int, atom: int) -> Iterable[Cell]:
        """List the known categories of an atom."""
        index = self._search.variables.read[place]
        logic = self._search.circuit.logic
        return members(logic, index, self._search.variables.atoms[place])[atom]

    def option(self, row: NDArray[np.int32], changed: Collection[int], cost: int) -> ChangeOption:
        """Describe a changed row, after predicting it."""
        search, circuit = self._search, self._search.circuit
        winner = int(circuit.winners(search.table_of(np.stack([row, row])))[0])
        box = self._widened(row, changed, winner)
        changes = []
        for place in sorted(changed):
            step = self._steps[place, int(row[place])]
            changes.append(
                Change(
                    search.names[place],
                    self._question.cells[place],
                    step.after,
                    condition_of(search, box, place),
                    circuit.classes[winner],
                    step.n_crossed,
                    step.distance,
                )
            )
        after = {change.feature: change.after for change in changes}
        cells = dict(zip(search.names, self._question.cells, strict=True)) | after
        _assert_class(circuit, cells, winner)
        return ChangeOption(tuple(changes), circuit.classes[winner], cost / _UNIT)

    def _widened(self, row: NDArray[np.int32], changed: Collection[int], winner: int) -> Box:
        """Extend the changed values to neighbours that give the same class."""
        search = self._search
        box = search.box_of({v: [int(atom)] for v, atom in enumerate(row)})
        for place in sorted(changed):
            part, own = search.part(box, place), int(row[place])
            ordered = isinstance(search.atom_at(place, own), Gap)
            for way in (1, -1):
                atom = own + way
                while ordered and 0 <= atom < len(part):
                    if not isinstance(search.atom_at(place, atom), Gap):
                        break
                    part[atom] = 1
                    if search.find_other(box, winner).row is not None:
                        part[atom] = 0
                        break
                    atom += way
        return box


def _assert_class(circuit: Circuit, cells: Mapping[str, Cell], winner: int) -> None:
    votes = votes_of(circuit, cells)
    assert votes.index(max(votes)) == winner, "the changed row has another class"


def _check_order(column: Column, needed: bool) -> None:
    if needed and not column.is_numeric:
        raise OptionError(
            f"column {column.name!r} has categories, which have no order; "
            "use within to state the allowed ones"
        )


def _limits(column: Column, given: Any) -> Range | Collection[Any]:
    """Check what `within` has for a column: two bounds, or categories."""
    if not column.is_numeric:
        if given is None:
            return ()
        if isinstance(given, str) or not isinstance(given, Collection) or not given:
            raise OptionError(f"within has {given!r} for {column.name!r}, expected categories")
        for category in given:
            if category not in column.categories:
                raise OptionError(
                    f"within has {category!r} for {column.name!r}, whose categories are "
                    f"{list_names(map(repr, column.categories))}"
                )
        return tuple(given)
    if given is None:
        return None, None
    bounds = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(bounds) != 2 or not all(x is None or isinstance(x, (int, float)) for x in bounds):
        raise OptionError(
            f"within has {given!r} for {column.name!r}, expected (lowest, highest), "
            "None for no limit"
        )
    return bounds[0], bounds[1]
