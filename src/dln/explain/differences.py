"""Two circuits -> conditions under which they predict different classes, as rules.

A rule is a box on which one class is certain in the first circuit and another one in the second.
Rules are found one after another, each from a row that no earlier rule contains: from the given
rows on which the circuits differ, then from any possible row. If there is no such row left, the
rules are exactly the rows on which the circuits differ.

Large circuits that share most rules, such as a circuit and its edit, have too many such boxes. Then
the conditions are those under which the changed rules change votes, together with the lead that
these votes decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import count_of
from dln.core.bands import split_bands
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.labels import Label, label_text, label_to_json
from dln.core.parts import Node, Rule
from dln.core.readout import Votes
from dln.errors import OptionError
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
from dln.explain.why import condition_of
from dln.prove.changed import cancelled, changed_regions
from dln.prove.clock import Clock, check_time_limit
from dln.prove.joint import Joint, join_circuits, subtract_circuits
from dln.prove.search import Box, Search, rows_of

_MANY_RULES = 60
"""Above this number of rules, boxes are not tried if few rules differ."""

_N_STARTS = 8
"""From so many of the given rows a box is widened; the one with most of these rows is a rule."""


@dataclass(frozen=True)
class Difference:
    """A condition under which two circuits predict different classes.

    Attributes
    ----------
    condition
        All rows that fulfil it differ.
    first, second
        The classes that the two circuits predict. For numbers, `first` says how they differ and
        `second` is None.
    share
        The share of the given rows that fulfil it; None if there are none.
    lead
        If it is not None, the condition also says by how many votes `first` leads `second` in the
        first circuit: at least and at most.
    """

    condition: str
    first: Label
    second: Label | None
    share: float | None
    lead: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The whole condition."""
        if self.lead is None or self.second is None:
            return self.condition
        first, second = label_text(self.first), label_text(self.second)
        least, most = self.lead
        by = f"{least} to {most} votes" if least < most else count_of(most, "vote")
        return f"{self.condition}, if {first} leads {second} by {by} before"


@dataclass(frozen=True)
class Differences(Formatted):
    """Where two circuits predict different classes; returned by `find_differences`.

    Attributes
    ----------
    rules
        The conditions; rows may fulfil several.
    complete
        Whether every row on which the circuits differ fulfils one of them.
    share
        The share of the given rows on which they differ; None if there are none.
    covered
        The share of these differing rows that fulfil a condition; None if there are none.
    tolerance
        For numbers: what they may differ by; None for classes.
    exact
        Whether all rows that fulfil a condition differ. If not, the conditions are a bound: rows
        that fulfil none of them do not differ.
    """

    rules: tuple[Difference, ...]
    complete: bool
    share: float | None
    tolerance: float | None = None
    exact: bool = True
    covered: float | None = None

    def to_text(self) -> str:
        """Write a line for each condition."""
        if not self.rules and self.complete:
            what = "class" if self.tolerance is None else "number"
            within = f", within {self.tolerance:g}," if self.tolerance else ""
            return f"The models predict the same {what}{within} for every possible row."
        share = "" if self.share is None else f" ({100 * self.share:.1f} % of the rows)"
        some = "exactly where" if self.complete else "for example where"
        if not self.exact:
            some = "only where"
        lines = [f"The models differ{share} {some}"]
        for rule in self.rules:
            counted = "" if rule.share is None else f" ({100 * rule.share:.1f} %)"
            lines.append(f"  {_pair(rule)}: {rule.text}{counted}")
        if self.covered is not None and not self.complete:
            lines.append(f"{100 * self.covered:.1f} % of the rows that differ fulfil one of these.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "format": "dln-differences",
            "version": 1,
            "complete": self.complete,
            "exact": self.exact,
            "share": self.share,
            "covered": self.covered,
            "rules": [
                {
                    "condition": rule.condition,
                    "first": label_to_json(rule.first),
                    "second": None if rule.second is None else label_to_json(rule.second),
                    "share": rule.share,
                    "lead": None if rule.lead is None else list(rule.lead),
                }
                for rule in self.rules
            ],
        }

    def _document(self) -> Document:
        head, *_ = self.to_text().splitlines()
        rows = tuple((_pair(rule), rule.text) for rule in self.rules)
        section = Section("Differences", ("first and second", "so that"), rows)
        return Document((), (section,) if rows else (), head)


def _pair(rule: Difference) -> str:
    first = label_text(rule.first)
    return first if rule.second is None else f"{first} and {label_text(rule.second)}"


def find_differences(
    a: Circuit,
    b: Circuit,
    X: Any = None,
    *,
    tolerance: float = 0.0,
    n: int = 10,
    time_limit: float | None = 60.0,
) -> Differences:
    """Find the conditions under which two circuits predict different classes or numbers.

    Parameters
    ----------
    a, b
        Circuits of the same classes, or that both predict a number; columns that both read must be
        the same.
    X
        Rows, to find conditions that many of them fulfil, and to count these rows.
    tolerance
        Numbers that differ by at most this are not different.
    n
        Maximum number of conditions.
    time_limit
        Seconds after which the conditions may be incomplete; None for no limit.

    Examples
    --------
    >>> from dln import Above, Column
    >>> def above(cutoff: float) -> Circuit:
    ...     literals = (Above(0, cutoff),)
    ...     columns = (Column("age", "integer"),)
    ...     return Circuit(columns, literals, (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes"))
    >>> print(find_differences(above(50.0), above(60.0), [[40], [55]]))
    The models differ (50.0 % of the rows) exactly where
      yes and no: 50 < age <= 60 (50.0 %)
    """
    check_time_limit(time_limit)
    if not (isinstance(n, int) and n >= 1):
        raise OptionError(f"n is {n!r}, expected a whole number of at least 1")
    if isinstance(a, Circuit) and isinstance(b, Circuit) and "number" in (a.task, b.task):
        return _number_differences(a, b, X, tolerance, n, time_limit)
    if tolerance != 0:
        raise OptionError("tolerance is for circuits that predict a number")
    clock = Clock(time_limit)
    joint = join_circuits(a, b)
    if max(len(a.rules), len(b.rules)) > _MANY_RULES:
        by_lead = _differences_by_lead(a, b, joint, X)
        if by_lead is not None:
            return by_lead
    differ = None if X is None else a.predict(X) != b.predict(X)
    rows = None if X is None else rows_of(joint.circuit, joint.table(X))[0]
    left = None if rows is None else rows[differ]  # those that differ and are in no box
    found: list[Difference] = []
    boxes: list[Box] = []
    complete = False
    while True:
        starts = _some_rows(left)
        if not starts:
            row, sure = _find_row(joint, boxes, clock)
            if row is None:
                complete = sure
                break
            starts = [row]
        if len(found) == n:
            break
        first, second, box = _widest(joint, starts, left, clock.part(n - len(found)))
        boxes.append(box)
        share = None
        if rows is not None and left is not None:
            share = _mean(_inside(joint, box, rows))
            left = left[~_inside(joint, box, left)]
        found.append(Difference(_text(joint, box), a.classes[first], a.classes[second], share))
    if not complete and len(found) < n:
        by_lead = _differences_by_lead(a, b, joint, X)
        if by_lead is not None:
            return by_lead
    covered = None
    if differ is not None and left is not None and differ.any():
        covered = 1 - len(left) / int(differ.sum())
    found.sort(key=lambda rule: -(rule.share or 0))
    return Differences(tuple(found), complete, _mean(differ), covered=covered)


def _some_rows(rows: Any) -> list[Any]:
    """Return a few rows, evenly spread over those given; none if none are given."""
    if rows is None:
        return []
    return list(rows[:: max(1, len(rows) // _N_STARTS)][:_N_STARTS])


def _widest(joint: Joint, starts: Sequence[Any], rows: Any, clock: Clock) -> tuple[int, int, Box]:
    """Widen a box from each of some rows while there is time; return that with most rows."""
    best, most = None, -1
    for number, start in enumerate(starts):
        if best is not None and clock.is_over:
            break
        found = _widen(joint, start, clock.part(len(starts) - number))
        count = 0 if rows is None else int(_inside(joint, found[2], rows).sum())
        if count > most:
            best, most = found, count
    assert best is not None
    return best


def _differences_by_lead(a: Circuit, b: Circuit, joint: Joint, X: Any) -> Differences | None:
    """State the differences by changed rules and leads; None if too many rules changed."""
    regions = changed_regions(joint.circuit, joint.n_classes)
    if regions is None:
        return None
    table = None if X is None else joint.table(X)
    votes = None if X is None else a.votes(X)
    differ = None if X is None else a.predict(X) != b.predict(X)
    found = []
    for where, amount in regions:
        inside = np.ones(0 if table is None else table.n_rows, dtype=bool)
        if table is not None and where is not None:
            inside = where.predict(table) == 1
        condition = "always" if where is None else where._written_rules.texts[0]
        for first, second in permutations(range(joint.n_classes), 2):
            # The first listed of two classes wins a tie.
            least = int(first > second)
            most = amount[second] - amount[first] - (1 - least)
            if most < least:
                continue
            share = None
            if votes is not None:
                lead = votes[:, first] - votes[:, second]
                share = _mean(inside & (least <= lead) & (lead <= most))
            labels = a.classes[first], a.classes[second]
            found.append(Difference(condition, *labels, share, (least, most)))
    return Differences(tuple(found), True, _mean(differ), exact=joint.n_classes == 2)


def _mean(differ: Any) -> float | None:
    return None if differ is None else float(np.mean(differ)) if len(differ) else 0.0


def _number_differences(
    a: Circuit, b: Circuit, X: Any, tolerance: float, n: int, time_limit: float | None
) -> Differences:
    """Compare the bands of the difference with a circuit that always predicts the middle one."""
    difference = cancelled(subtract_circuits(a, b))
    is_number = isinstance(tolerance, (int, float)) and 0 <= tolerance < math.inf
    if not is_number:
        raise OptionError(f"tolerance is {tolerance!r}, expected a number of at least 0")
    if tolerance and a.number_readout.link != "identity":
        raise OptionError(
            f"tolerance is {tolerance!r}; with the link {a.number_readout.link} expected 0"
        )
    bands = split_bands(difference, at_least=-tolerance, at_most=tolerance).circuit
    by = f" by more than {tolerance:g}" if tolerance else ""
    labels = (f"the first is higher{by}", "the same", f"the second is higher{by}")
    bands = replace(bands, readout=replace(bands.class_readout, classes=labels))
    same = Circuit(
        logic=replace(difference.logic, literals=(), nodes=()),
        readout=Votes((), (0, 1, 0), labels),
    )
    found = find_differences(bands, same, X, n=n, time_limit=time_limit)
    rules = tuple(replace(rule, second=None) for rule in found.rules)
    return replace(found, rules=rules, tolerance=float(tolerance))


def _find_row(joint: Joint, boxes: list[Box], clock: Clock) -> tuple[Any, bool]:
    """Find a row on which the circuits differ and that is in no box; None and whether sure."""
    n = joint.n_classes
    search = _outside(joint, boxes)._search
    complete = True
    for first in range(n):
        for second in range(n):
            if first == second:
                continue
            demands = [
                *joint.wins(first, 0),
                *joint.wins(second, n),
                (2 * n, 2 * n + 1, 0),  # in no box
            ]
            left = math.inf if clock.left is None else clock.left
            found = search.find(search.all_rows, demands, seconds=left)
            if found.row is not None:
                return found.row, True
            complete = complete and found.complete
    return None, complete


def _outside(joint: Joint, boxes: list[Box]) -> Circuit:
    """Add two classes: the first has no votes, the second a vote for each box of the row."""
    circuit = joint.circuit
    search = circuit._search
    nodes, rules, everywhere = list(circuit.nodes), [], 0
    for rule in circuit.rules:
        rules.append(Rule(rule.wire, (*rule.votes, 0, 0)))
    for box in boxes:
        wires = []
        for place in range(len(search.names)):
            part = search.part(box, place)
            if not part.all():
                wires.append(_membership(circuit, nodes, search, place, part))
        if not wires:  # the box of all rows
            everywhere += 1
            continue
        wire = _chain(circuit, nodes, "AND", wires)
        rules.append(Rule(wire, (*(0,) * 2 * joint.n_classes, 0, 1)))
    base = (*circuit.base_votes, 0, everywhere)
    return Circuit(circuit.columns, circuit.literals, nodes, rules, base, tuple(range(len(base))))


def _membership(circuit: Circuit, nodes: list[Node], search: Search, place: int, part: Box) -> int:
    """Make a wire that is true if the value of a column is in one of the atoms."""
    literals, truths = search.variables.literals[place], search.variables.truths[place]
    ways = []
    for atom in np.flatnonzero(part).tolist():
        signed = []
        for wire, true in zip(literals, truths[:, atom].tolist(), strict=True):
            nodes.append(Node(GATE_BY_NAME["A" if true else "NOT_A"], wire, wire))
            signed.append(circuit.n_literals + len(nodes) - 1)
        ways.append(_chain(circuit, nodes, "AND", signed))
    return _chain(circuit, nodes, "OR", ways)


def _chain(circuit: Circuit, nodes: list[Node], gate: str, wires: list[int]) -> int:
    last = wires[0]
    for wire in wires[1:]:
        nodes.append(Node(GATE_BY_NAME[gate], last, wire))
        last = circuit.n_literals + len(nodes) - 1
    return last


def _widen(joint: Joint, row: Any, clock: Clock) -> tuple[int, int, Box]:
    """Free columns, then extend values, while both classes stay certain."""
    search, n = joint.circuit._search, joint.n_classes
    votes = joint.circuit.votes(search.table_of(row[np.newaxis]))[0]
    first, second = int(votes[:n].argmax()), int(votes[n:].argmax())
    box = search.box_of({place: [int(atom)] for place, atom in enumerate(row)})

    def certain() -> bool:
        for winner, shift in ((first, 0), (second, n)):
            for rival in range(n):
                if rival != winner:
                    more, less, by = search.beats(rival, winner)
                    left = math.inf if clock.left is None else clock.left
                    demands = [(more + shift, less + shift, by)]
                    found = search.find(box, demands, seconds=left)
                    if found.row is not None or not found.complete:
                        return False
        return True

    for place in range(len(search.names)):
        part = search.part(box, place)
        before = part.copy()
        part[:] = 1
        if not certain():
            part[:] = before
            for atom in (
                *range(int(row[place]) + 1, len(part)),
                *range(int(row[place]) - 1, -1, -1),
            ):
                part[atom] = 1
                if not certain():
                    part[atom] = 0
    return first, second, box


def _inside(joint: Joint, box: Box, rows: Any) -> NDArray[np.bool_]:
    """Check which rows are in a box."""
    search = joint.circuit._search
    inside = np.ones(len(rows), dtype=bool)
    for place in range(len(search.names)):
        inside &= search.part(box, place)[rows[:, place]].astype(bool)
    return inside


def _text(joint: Joint, box: Box) -> str:
    search = joint.circuit._search
    texts = [
        condition_of(search, box, place)
        for place in range(len(search.names))
        if not search.part(box, place).all()
    ]
    marked = [f"({text})" if " or " in text and len(texts) > 1 else text for text in texts]
    return " and ".join(marked) or "always"
