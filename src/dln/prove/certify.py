"""Claims about all rows of a region -> a proof, a row that refutes it, or undecided.

The claims: a class is always or never predicted (`prove_rule`), the lead of a class stays in a
range (`prove_range`), columns alone never change the class (`prove_independent`), and small changes
of a row do not change its class (`prove_robust`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dln._util.messages import list_names
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import Cell, Gap
from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import format_name
from dln.core.values import cell_text
from dln.core.verdict import Proof, Undecided, Violation
from dln.data.cells import readable_cells
from dln.data.codes import encode_cells, places_of
from dln.data.table import RawColumn, Table, read_table
from dln.errors import OptionError, TableError
from dln.prove.clock import Clock, check_time_limit
from dln.prove.pairs import pair_circuit
from dln.prove.region import Region, check_names, narrowed, number_of
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
    search
        The circuit, or a circuit of pairs of rows.
    region
        The rows.
    goals
        Lists of demands.
    question
        The claim as plain values, from which a checker derives the goals by itself.
    """

    text: str
    search: Search
    region: Region
    goals: Sequence[Sequence[Demand]] = field(hash=False)
    question: Mapping[str, Any] = field(hash=False)

    def find(self, clock: Clock) -> Atoms | bool:
        """Return a row that refutes the claim, True if there is none, False if undecided."""
        complete = True
        boxes = [self.region.likely_box] if self.region.has_data else []
        for box in (*boxes, self.region.box):
            complete = True
            for goal in self.goals:
                left = math.inf if clock.left is None else clock.left
                found = self.search.find(box, goal, seconds=left)
                if found.row is not None:
                    return found.row
                complete = complete and found.complete
        return complete


def prove_rule(
    circuit: Circuit,
    label: Label,
    *,
    where: Mapping[str, Any] | None = None,
    never: bool = False,
    data: Any = None,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that a class is always, or never, predicted under a condition.

    Parameters
    ----------
    circuit
        Any circuit.
    label
        Class label.
    where
        The condition, by column: a number, (lowest, highest) with None for no limit, a category or
        several, or None for a missing value. Columns that are not named may hold anything.
    never
        Prove that the class is never predicted, instead of always.
    data
        Rows whose values are used in counterexamples where possible.
    time_limit
        Seconds after which the result is `Undecided`; None for no limit.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> print(prove_rule(circuit, "ill", where={"age": (60, None)}))  # doctest: +ELLIPSIS
    always ill where age >= 60 (proven by bounds, ...)
    >>> print(prove_rule(circuit, "ill", where={"age": (50, None)}))
    refuted: healthy where age = 50
    """
    return decide(rule_claim(circuit, label, where or {}, never, data), time_limit)


def rule_claim(
    circuit: Circuit, label: Label, where: Mapping[str, Any], never: bool, data: Any
) -> Claim:
    """Make the claim of `prove_rule`."""
    check_is_circuit(circuit, "prove_rule")
    search, number = circuit._search, find_class(circuit, label)
    others = [search.beats(c, number) for c in range(circuit.n_classes) if c != number]
    goals = [search.wins(number)] if never else [[demand] for demand in others]
    text = f"{'never' if never else 'always'} {label_text(label)}{where_text(where)}"
    if never and circuit.n_classes == 1:
        raise OptionError("the circuit has a single class, which is always predicted")
    question = {
        "kind": "never" if never else "always",
        "class": number,
        "where": plain_where(circuit, where),
    }
    return Claim(text, search, Region(search, where, data), goals, question)


def prove_range(
    circuit: Circuit,
    label: Label,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that the lead of a class stays in a range.

    The lead is the votes of the class minus the most votes of another class.

    Parameters
    ----------
    circuit, label, where, data, time_limit
        As for `prove_rule`.
    at_least, at_most
        The smallest and the largest lead; None for no limit.
    """
    claim = range_claim(circuit, label, at_least, at_most, where or {}, data)
    return decide(claim, time_limit)


def range_claim(
    circuit: Circuit,
    label: Label,
    at_least: int | None,
    at_most: int | None,
    where: Mapping[str, Any],
    data: Any,
) -> Claim:
    """Make the claim of `prove_range`."""
    check_is_circuit(circuit, "prove_range")
    search, number = circuit._search, find_class(circuit, label)
    others = [c for c in range(circuit.n_classes) if c != number]
    for name, bound in (("at_least", at_least), ("at_most", at_most)):
        if bound is not None and (type(bound) is not int or abs(bound) > 2**32):
            raise OptionError(f"{name} is {bound!r}, expected a whole number of votes")
    if (at_least is None and at_most is None) or not others:
        raise OptionError("give at_least or at_most, and a circuit of at least two classes")
    goals: list[list[Demand]] = []
    if at_least is not None:
        goals += [[(other, number, 1 - at_least)] for other in others]
    if at_most is not None:
        goals.append([(number, other, at_most + 1) for other in others])
    low = "" if at_least is None else f" at least {at_least}"
    high = "" if at_most is None else f" at most {at_most}"
    text = f"the lead of {label_text(label)} is{' and'.join(filter(None, (low, high)))}"
    question = {
        "kind": "range",
        "class": number,
        "at_least": at_least,
        "at_most": at_most,
        "where": plain_where(circuit, where),
    }
    return Claim(text + where_text(where), search, Region(search, where, data), goals, question)


def prove_independent(
    circuit: Circuit,
    features: Sequence[str],
    *,
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that no row changes its class if only these columns change.

    Parameters
    ----------
    circuit, data, time_limit
        As for `prove_rule`.
    features
        The columns: for example one that must not matter, and its proxies.
    where
        A condition on the other columns, as for `prove_rule`, and on both values of these columns.
    """
    return decide(independence_claim(circuit, features, where or {}, data), time_limit)


def independence_claim(
    circuit: Circuit, features: Sequence[str], where: Mapping[str, Any], data: Any
) -> Claim:
    """Make the claim of `prove_independent`, about pairs of rows."""
    check_is_circuit(circuit, "prove_independent")
    names = [features] if isinstance(features, str) else list(features)
    check_names(circuit._search, names)
    if not names:
        raise OptionError("features is empty; name at least one column")
    pair = pair_circuit(circuit, names)
    search, n = pair.circuit._search, circuit.n_classes
    goals = []
    for number in range(n):
        wins = circuit._search.wins(number)
        for other in range(n):
            if other != number:
                rival, winner, by = circuit._search.beats(other, number)
                goals.append([*wins, (n + rival, n + winner, by)])
    second = {pair.second[name]: where[name] for name in names if name in where}
    region = Region(search, {**where, **second}, None if data is None else pair.table(data))
    text = f"the class never changes with {list_names(map(format_name, names))} alone"
    question = {
        "kind": "independent",
        "features": list(pair.second),
        "where": plain_where(circuit, where),
    }
    said = text + where_text(where)
    return PairClaim(said, search, region, goals, question, circuit, pair.second)


@dataclass(frozen=True)
class PairClaim(Claim):
    """A claim about pairs of rows of `circuit`; `second` names the columns of the second row."""

    circuit: Circuit
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
        return _violation(claim.search.circuit, cells, clock)
    second = {name: cells[other] for name, other in claim.second.items() if other in cells}
    first = {name: cell for name, cell in cells.items() if name not in claim.second.values()}
    changed = {name: cell for name, cell in second.items() if cell != first.get(name)}
    return _violation(claim.circuit, first, clock, changed)


def _violation(
    circuit: Circuit,
    cells: Mapping[str, Cell],
    clock: Clock,
    changed: Mapping[str, Cell] | None = None,
) -> Violation:
    votes = votes_of(circuit, cells)
    label = circuit.classes[votes.index(max(votes))]
    if changed is None:
        return Violation(cells, label, votes, clock.seconds)
    after = votes_of(circuit, {**cells, **changed})
    label_after = circuit.classes[after.index(max(after))]
    assert label != label_after, "the two rows have the same class"
    return Violation(cells, label, votes, clock.seconds, changed, label_after, after)


def find_class(circuit: Circuit, label: Label) -> int:
    """Return the number of a class."""
    if label not in circuit.classes:
        classes = list_names(map(repr, circuit.classes))
        raise OptionError(f"the circuit has no class {label!r}; its classes are {classes}")
    return circuit.classes.index(label)


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


@dataclass(frozen=True, eq=False)
class Robustness:
    """Which rows keep their class under small changes; returned by `prove_robust`.

    Attributes
    ----------
    certified
        For each row whether it is proven that no change within the tolerances changes the class.
    refuted
        For each row whether such a change was found. Rows that are neither are undecided.
    violations
        For each refuted row, by its place, the row and the changed values.
    seconds
        Time taken.
    """

    certified: np.ndarray[Any, np.dtype[np.bool_]]
    refuted: np.ndarray[Any, np.dtype[np.bool_]]
    violations: Mapping[int, Violation] = field(repr=False)
    seconds: float

    def __bool__(self) -> bool:
        return bool(self.certified.all())

    @cached_property
    def share(self) -> float:
        """The share of the rows that are certified."""
        return float(self.certified.mean()) if len(self.certified) else 1.0

    def __str__(self) -> str:
        n, undecided = len(self.certified), int((~self.certified & ~self.refuted).sum())
        more = f", {undecided} undecided" if undecided else ""
        return (
            f"{int(self.certified.sum())} of {n} rows keep their class within the tolerances, "
            f"{int(self.refuted.sum())} do not{more} ({self.seconds:.2f} s)"
        )


def prove_robust(
    circuit: Circuit,
    X: Any,
    tolerances: Mapping[str, float],
    *,
    free: Sequence[str] = (),
    time_limit: float | None = 60.0,
) -> Robustness:
    """Prove for each row that no change within tolerances changes its class.

    Parameters
    ----------
    circuit
        Any circuit.
    X
        Rows, as for `Circuit.predict`, or one row in a list.
    tolerances
        For columns of numbers: how much the value may differ, up or down. Missing values stay
        missing. All columns change at the same time. Columns that are not named keep their value.
    free
        Columns that may hold anything.
    time_limit
        Seconds after which the remaining rows are undecided; None for no limit.

    See Also
    --------
    certified_radius : How large the tolerances may be for each row.
    """
    check_is_circuit(circuit, "prove_robust")
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    rows = _Rows(circuit, X, tolerances, free)
    certified, refuted = np.zeros(rows.n_rows, dtype=bool), np.zeros(rows.n_rows, dtype=bool)
    violations = {}
    for place in range(rows.n_rows):
        left = math.inf if clock.left is None else clock.left
        found = rows.search.find_other(rows.box(place), rows.winners[place], seconds=left)
        if found.row is not None:
            refuted[place] = True
            violations[place] = rows.violation(place, found.row, clock)
        certified[place] = found.row is None and found.complete
    return Robustness(certified, refuted, violations, clock.seconds)


def certified_radius(
    circuit: Circuit,
    X: Any,
    tolerances: Mapping[str, float],
    *,
    most: float = 100.0,
    time_limit: float | None = 60.0,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Find for each row the factor by which the tolerances can be multiplied.

    The class stays the same for every factor below the radius. The radius is exact, up to the limit
    `most`; it is NaN if undecided within the time limit.
    """
    check_is_circuit(circuit, "certified_radius")
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    rows = _Rows(circuit, X, tolerances, ())
    radii = np.full(rows.n_rows, np.nan)
    for place in range(rows.n_rows):
        steps = rows.factors(place, most)
        low, high = 0, len(steps)  # the class is the same below steps[low]
        while low < high and not clock.is_over:
            middle = (low + high) // 2
            left = math.inf if clock.left is None else clock.left
            box = rows.box_of_factor(place, steps[middle])
            found = rows.search.find_other(box, rows.winners[place], seconds=left)
            if found.row is not None:
                high = middle
            elif found.complete:
                low = middle + 1
            else:
                break
        else:
            if not clock.is_over or low == high:
                radii[place] = steps[low] if low < len(steps) else most
    return radii


class _Rows:
    """Rows with the boxes around them."""

    def __init__(
        self, circuit: Circuit, X: Any, tolerances: Mapping[str, float], free: Sequence[str]
    ) -> None:
        self.search = search = circuit._search
        check_names(search, (*tolerances, *free))
        for name, tolerance in tolerances.items():
            if not (isinstance(tolerance, (int, float)) and 0 <= tolerance < math.inf):
                raise OptionError(f"the tolerance of {name!r} is {tolerance!r}, expected 0 or more")
        for column in circuit.columns:
            if column.name in tolerances and not column.is_numeric:
                raise OptionError(
                    f"column {column.name!r} has categories; name it in free if it may change"
                )
        table: Table = read_table(X)
        evaluation = circuit.evaluate(table, range(circuit.n_literals))
        self.atoms = search.atoms_of(evaluation.wires(range(circuit.n_literals)))
        if (self.atoms < 0).any():
            raise TableError("a row has a value that is impossible for the kind of its column")
        self.winners: list[int] = evaluation.winners.tolist()
        self.n_rows = evaluation.n_rows
        places = places_of(table, circuit.columns, list(search.variables.read))
        self._free = {place for place, name in enumerate(search.names) if name in free}
        self._numbers: dict[int, Any] = {}
        self._tolerance: dict[int, float] = {}
        self._raw: list[RawColumn] = []
        for place, index in enumerate(search.variables.read):
            name = circuit.columns[index].name
            self._raw.append(table.read(places[index]))
            if name in tolerances:
                self._numbers[place] = encode_cells(self._raw[place], circuit.columns[index])
                self._tolerance[place] = float(tolerances[name])

    def box(self, row: int) -> Box:
        """Return the box of the tolerances around a row."""
        return self._box(row, lambda place: self._within(row, place))

    def _within(self, row: int, place: int) -> list[int]:
        low, high = self._bounds(row, place)
        return [
            number
            for number, atom in enumerate(self.search.variables.atoms[place].atoms)
            if isinstance(atom, Gap) and narrowed(atom, low, high) is not None
        ]

    def box_of_factor(self, row: int, factor: float) -> Box:
        """Return the box of the atoms that are reached with this factor or less."""
        return self._box(
            row,
            lambda place: [
                atom for atom, reached in self._factors(row, place).items() if reached <= factor
            ],
        )

    def factors(self, row: int, most: float) -> list[float]:
        """List the factors at which another atom is reached, ascending."""
        found = {
            factor
            for place in self._numbers
            if self._moves(row, place)
            for factor in self._factors(row, place).values()
        }
        return sorted(factor for factor in found if factor <= most)

    def _box(self, row: int, reached: Callable[[int], list[int]]) -> Box:
        choices: dict[int, list[int]] = {}
        for place, size in enumerate(self.search.variables.sizes):
            own = int(self.atoms[row, place])
            if place in self._free:
                choices[place] = list(range(size))
            else:
                moves = place in self._numbers and self._moves(row, place)
                choices[place] = sorted({own, *(reached(place) if moves else ())})
        return self.search.box_of(choices)

    def _moves(self, row: int, place: int) -> bool:
        return not math.isnan(self._numbers[place][row])

    def _bounds(self, row: int, place: int) -> tuple[float, float]:
        number, change = float(self._numbers[place][row]), self._tolerance[place]
        return number - change, number + change

    def _factors(self, row: int, place: int) -> dict[int, float]:
        """Return for each atom of numbers the factor with which it is reached."""
        number, tolerance = float(self._numbers[place][row]), self._tolerance[place]
        own, found = int(self.atoms[row, place]), {}
        for at, atom in enumerate(self.search.variables.atoms[place].atoms):
            if isinstance(atom, Gap):
                edge = number if at == own else _edge(atom, number)
                far = abs(edge - number)
                found[at] = far / tolerance if tolerance else (math.inf if far else 0.0)
        return found

    def violation(self, row: int, atoms: Atoms, clock: Clock) -> Violation:
        """Return the row and the changed values that give it another class."""
        region = Region(self.search, self._where(row))
        first: dict[str, Cell] = {}
        for index, raw in zip(self.search.variables.read, self._raw, strict=True):
            column, own = self.search.circuit.columns[index], raw.values[row : row + 1]
            first[column.name] = readable_cells(column, RawColumn(raw.kind, own))[0]
        after = region.cells(atoms)
        changed = {
            name: after[name]
            for place, name in enumerate(self.search.names)
            if atoms[place] != self.atoms[row, place]
        }
        return _violation(self.search.circuit, first, clock, changed)

    def _where(self, row: int) -> dict[str, tuple[float, float]]:
        return {
            self.search.names[place]: self._bounds(row, place)
            for place, numbers in self._numbers.items()
            if not math.isnan(numbers[row])
        }


def _edge(gap: Gap, number: float) -> float:
    """Return the value of a gap that is nearest to a number outside it, or the limit of values."""
    whole = gap.kind in ("integer", "boolean")
    if gap.low >= number:
        return gap.least if whole else gap.low
    return float(math.floor(gap.high)) if whole else gap.high
