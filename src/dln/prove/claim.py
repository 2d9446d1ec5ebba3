"""Claim: something said about all rows of a region, and how it is decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dln._util.messages import list_names
from dln.core.circuit import Circuit
from dln.core.conditions import Cell
from dln.core.labels import Label, label_to_json, plain_labels
from dln.core.literals import format_name
from dln.core.values import cell_text
from dln.core.verdict import Proof, Undecided, Violation
from dln.errors import OptionError
from dln.prove.clock import Clock, check_time_limit
from dln.prove.region import Region, check_names, number_of
from dln.prove.search import Atoms, Box, Demand, Search
from dln.prove.votes import votes_of

Verdict = Proof | Violation | Undecided


@dataclass(frozen=True)
class Claim:
    """A claim as questions: it is true exactly if no row of the box fulfils one of the goals.

    Attributes
    ----------
    text
        The claim in words.
    circuit
        The circuit that the claim is about.
    search
        The circuit prepared for questions: itself, with the points of a number as votes, or as a
        circuit of pairs of rows.
    region
        The rows.
    goals
        Lists of demands.
    question
        The claim as plain values, from which a checker derives the goals by itself.
    """

    text: str
    circuit: Circuit
    search: Search
    region: Region
    goals: Sequence[Sequence[Demand]] = field(hash=False)
    question: Mapping[str, Any] = field(hash=False)

    def find(self, clock: Clock) -> Atoms | bool:
        """Return a row that refutes the claim, True if there is none, False if undecided."""
        every, likely = self.region.box, self.region.likely_box
        found = self._find_in(every, clock)
        # A claim that is true is searched once. There may be no likely value of a column.
        if found is True or (every == likely).all() or not self.search.has_rows(likely):
            return found
        likely_row = self._find_in(likely, clock)
        return found if isinstance(likely_row, bool) else likely_row

    def _find_in(self, box: Box, clock: Clock) -> Atoms | bool:
        complete = True
        for goal in self.goals:
            left = math.inf if clock.left is None else clock.left
            found = self.search.find(box, goal, seconds=left)
            if found.row is not None:
                return found.row
            complete = complete and found.complete
        return complete


@dataclass(frozen=True)
class PairClaim(Claim):
    """A claim about pairs of rows; `second` names the columns of the second row."""

    second: Mapping[str, str] = field(hash=False)


def decide(claim: Claim, time_limit: float | None) -> Verdict:
    """Answer a claim."""
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    found = claim.find(clock)
    if isinstance(found, bool):
        return Proof("bounds", clock.seconds, claim.text) if found else Undecided(clock.seconds)
    cells = claim.region.cells(found)
    if not isinstance(claim, PairClaim):
        return violation(claim.circuit, cells, clock)
    second = {name: cells[other] for name, other in claim.second.items() if other in cells}
    first = {name: cell for name, cell in cells.items() if name not in claim.second.values()}
    changed = {name: cell for name, cell in second.items() if cell != first.get(name)}
    return violation(claim.circuit, first, clock, changed)


def violation(
    circuit: Circuit,
    cells: Mapping[str, Cell],
    clock: Clock,
    changed: Mapping[str, Cell] | None = None,
) -> Violation:
    """Return the row that refutes a claim, or the row and the values that change its answer."""
    votes = votes_of(circuit, cells)
    label = answer_to(circuit, votes)
    if changed is None:
        return Violation(cells, label, votes, clock.seconds)
    after = votes_of(circuit, {**cells, **changed})
    label_after = answer_to(circuit, after)
    assert label != label_after, "the two rows have the same answer"
    return Violation(cells, label, votes, clock.seconds, changed, label_after, after)


def answer_to(circuit: Circuit, votes: tuple[int, ...]) -> Label:
    """Return the class or number that some votes give."""
    answer = circuit.readout.answers(np.array([votes], dtype=np.int64))[0]
    return plain_labels([answer])[0]


def find_class(circuit: Circuit, label: Label | None) -> int:
    """Return the number of a class."""
    if label not in circuit.classes:
        classes = list_names(map(repr, circuit.classes))
        raise OptionError(f"the circuit has no class {label!r}; its classes are {classes}")
    return circuit.classes.index(label)


def check_no_label(circuit: Circuit, label: Label | None) -> None:
    """Raise `OptionError` if a class is named of a circuit that predicts a number."""
    if label is not None:
        raise OptionError(
            f"the circuit predicts a number ({circuit.number_readout.name}) and has no class "
            f"{label!r}; leave out the class"
        )


def plain_where(circuit: Circuit, where: Mapping[str, Any]) -> dict[str, Any]:
    """Return conditions as plain values: null, a range of two numbers, or a list of categories."""
    check_names(circuit._search, where)
    columns = {column.name: column for column in circuit.columns}
    plain: dict[str, Any] = {}
    for name, given in where.items():
        if given is None:
            plain[name] = None
        elif columns[name].is_numeric:
            ends = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
            plain[name] = [number_of(end, columns[name]) for end in ends]
        else:
            several = isinstance(given, (list, tuple, set, frozenset))
            plain[name] = [label_to_json(c) for c in (given if several else [given])]
    return plain


def where_text(where: Mapping[str, Any]) -> str:
    """Write conditions: " where age >= 60 and city in {Bern, Chur}"."""
    texts = [_condition(format_name(name), given) for name, given in where.items()]
    return f" where {' and '.join(texts)}" if texts else ""


def _condition(name: str, given: Any) -> str:
    if given is None:
        return f"{name} is missing"
    if isinstance(given, tuple) and len(given) == 2 and all(_is_bound(x) for x in given):
        low, high = given
        bounds = [f"{name} >= {low}"] if low is not None else []
        return " and ".join([*bounds, *([f"{name} <= {high}"] if high is not None else [])])
    if isinstance(given, (list, tuple, set, frozenset)):
        return f"{name} in {{{', '.join(map(cell_text, given))}}}"
    return f"{name} = {cell_text(given)}"


def _is_bound(value: Any) -> bool:
    return value is None or not isinstance(value, str)


# -- rows -------------------------------------------------------------------------------------
