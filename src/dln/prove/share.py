"""How much violates a claim that is not always true: the share of given rows, and of a box.

The share of a box is that of rows whose values are uniformly distributed in it (`measure`). It is
exact if the search is complete. Otherwise the search gives a lower and an upper bound, and random
rows give an estimate between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.labels import Label
from dln.data.table import Table, read_table
from dln.errors import TableError
from dln.prove.certify import independence_claim, range_claim, rule_claim
from dln.prove.claim import Claim, PairClaim
from dln.prove.clock import Clock, check_time_limit
from dln.prove.measure import Weights, atom_weights
from dln.prove.region import Region, rows_within
from dln.prove.search import Atoms, Box, Demand, Search, rows_of

N_SAMPLES = 4000
"""Random rows for an estimate: its standard error is at most 0.8 percentage points."""

Bools = NDArray[np.bool_]
Case = tuple[Box, Sequence[Demand]]
"""A way to violate a claim: the atoms that hidden columns may have, and demands."""


@dataclass(frozen=True)
class Share:
    """How much violates a claim; returned by `share_rule` and the functions beside it.

    Attributes
    ----------
    lower, upper
        Proven bounds of the share of the box. They are equal if `exact`.
    estimate
        The share of the box: exact, or estimated from random rows.
    n_rows
        Number of the given rows that fulfil the condition; None if no rows were given.
    n_violating
        How many of these rows violate the claim.
    seconds
        Time taken.
    """

    lower: float
    upper: float
    estimate: float
    n_rows: int | None = None
    n_violating: int | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def exact(self) -> bool:
        """Whether the share of the box is exact, except for rounding errors of float64."""
        return self.lower == self.upper

    @property
    def of_rows(self) -> float | None:
        """The share of the given rows; None if there are none."""
        return (
            self.n_violating / self.n_rows if self.n_rows and self.n_violating is not None else None
        )

    def __str__(self) -> str:
        return "; ".join(filter(None, (self._rows_text(), self._box_text())))

    def _rows_text(self) -> str:
        if self.n_rows is None:
            return ""
        share = "" if self.of_rows is None else f" ({share_text(self.of_rows)})"
        return f"{self.n_violating} of {self.n_rows} rows violate it{share}"

    def _box_text(self) -> str:
        if self.exact:
            return f"{share_text(self.lower)} of the box violates it"
        return (
            f"between {share_text(self.lower)} and {share_text(self.upper)} of the box violates "
            f"it, an estimated {share_text(self.estimate)}"
        )


def share_text(share: float) -> str:
    """Write a share in per cent, so that only 0 and 1 are written as 0 % and 100 %.

    >>> [share_text(share) for share in (0.0, 1e-9, 0.1234, 0.99999, 1.0)]
    ['0 %', 'less than 0.01 %', '12.34 %', 'more than 99.99 %', '100 %']
    """
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    if 1 - 1e-4 < share < 1:
        return "more than 99.99 %"
    return f"{100 * share:.4g} %"


def share_rule(
    circuit: Circuit,
    label: Label,
    *,
    where: Mapping[str, Any] | None = None,
    never: bool = False,
    data: Any = None,
    time_limit: float | None = 10.0,
) -> Share:
    """Find how much violates the claim of `prove_rule`.

    Parameters
    ----------
    circuit, label, never
        As for `prove_rule`.
    where
        The condition, as for `prove_rule`. The box has the values that fulfil it; columns without a
        condition are in the range of the training rows, or of `data` if the model has no ranges.
    data
        Rows. Those that fulfil the condition and violate the claim are counted.
    time_limit
        Seconds after which the share of the box has bounds; None for no limit.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "number"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> print(share_rule(circuit, "ill", where={"age": (50, 60)}, data=[[52], [53], [58], [70]]))
    2 of 3 rows violate it (66.67 %); 40 % of the box violates it
    """
    check_is_circuit(circuit, "share_rule")
    return share_of(rule_claim(circuit, label, where or {}, never, data), time_limit)


def share_range(
    circuit: Circuit,
    label: Label | None = None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 10.0,
) -> Share:
    """Find how much violates the claim of `prove_range`; see `share_rule`."""
    check_is_circuit(circuit, "share_range")
    return share_of(range_claim(circuit, label, at_least, at_most, where or {}, data), time_limit)


def share_independent(
    circuit: Circuit,
    features: Sequence[str],
    *,
    tolerance: float = 0.0,
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 10.0,
) -> Share:
    """Find how much violates the claim of `prove_independent`; see `share_rule`.

    A row violates it if, with its other values, the class or the number depends on these columns.
    The columns have the values that occur in `data`, or are in the ranges of the training rows.
    """
    check_is_circuit(circuit, "share_independent")
    claim = independence_claim(circuit, features, where or {}, data, tolerance)
    return share_of(claim, time_limit)


def share_of(claim: Claim, time_limit: float | None) -> Share:
    """Find how much violates a claim."""
    return claim_question(claim).answer(claim.region, time_limit)


def claim_question(claim: Claim) -> ShareQuestion:
    """Make the question for a claim. Columns of pairs of rows that differ are hidden."""
    search, region = claim.search, claim.region
    hidden: tuple[str, ...] = ()
    box = region.box
    if isinstance(claim, PairClaim):
        hidden = tuple(name for pair in claim.second.items() for name in pair)
        box = likely_hidden(search, region, hidden)
    weights = atom_weights(search, region.where, region.data, hidden)
    return ShareQuestion(search, weights, hidden, [(box, goal) for goal in claim.goals])


def likely_hidden(search: Search, region: Region, hidden: Sequence[str]) -> Box:
    """Return a box in which hidden columns have likely values only, if there are any."""
    box, likely = region.box.copy(), region.likely_box
    for place, name in enumerate(search.names):
        if name in hidden and search.part(likely, place).any():
            search.part(box, place)[:] = search.part(likely, place)
    return box


@dataclass(frozen=True, eq=False)
class ShareQuestion:
    """The question which share of rows fulfils at least one of several cases.

    Hidden columns have no weight. They may have any of the atoms that a case allows.
    """

    search: Search
    weights: Weights = field(repr=False)
    hidden: Sequence[str]
    cases: Sequence[Case] = field(repr=False)

    @cached_property
    def _is_hidden(self) -> Bools:
        return np.array([name in self.hidden for name in self.search.names], dtype=bool)

    def answer(self, region: Region, time_limit: float | None) -> Share:
        """Count the rows that a region was given, and bound the share of the box."""
        check_time_limit(time_limit)
        clock = Clock(time_limit)
        n_rows = n_violating = None
        if region.data is not None:
            table = read_table(region.data)
            asked = rows_within(self.search.circuit, region.where, table)
            n_rows, n_violating = int(asked.sum()), int(self._rows_violate(table)[asked].sum())
        box = self.of_box(clock.left)
        return replace(box, n_rows=n_rows, n_violating=n_violating, seconds=clock.seconds)

    def of_box(self, seconds: float | None) -> Share:
        """Find the share of the box."""
        clock = Clock(seconds)
        lower, upper = self.bounds(seconds)
        estimate = lower if lower == upper else self._estimate(lower, upper)
        return Share(lower, upper, estimate, seconds=clock.seconds)

    def bounds(
        self, seconds: float | None, n_boxes: int = 0, n_listed: float = math.inf
    ) -> tuple[float, float]:
        """Bound the share of the box; 0 boxes mean no limit.

        Boxes of at most `n_listed` rows are listed, others are split.
        """
        search, weights = self.search, self.weights
        if not self.cases:
            return 0.0, 0.0
        box = np.zeros(search.starts[-1], dtype=np.uint8)
        for place, hidden in enumerate(self._is_hidden):
            part = search.part(box, place)
            if hidden:
                for case_box, _ in self.cases:
                    part |= search.part(case_box, place)
            else:
                part[:] = weights[search.starts[place] : search.starts[place + 1]] > 0
        cases = [(case_box, list(goal)) for case_box, goal in self.cases]
        left = math.inf if seconds is None else seconds
        lower, upper, _ = search.native.share(
            box, weights, self._is_hidden.astype(np.uint8), cases, left, n_boxes, n_listed
        )
        return lower, upper

    def _rows_violate(self, table: Table) -> Bools:
        if not self._is_hidden.any():
            return self._fulfilled(self.search.circuit.evaluate(table).votes)
        atoms, _ = rows_of(self.search.circuit, table)
        if (atoms < 0).any():
            raise TableError("a row has a value that is impossible for the kind of its column")
        return self._atoms_violate(atoms)

    def _fulfilled(self, votes: NDArray[np.int64]) -> Bools:
        found = np.zeros(len(votes), dtype=bool)
        for _, goal in self.cases:
            found |= np.logical_and.reduce([votes[:, a] - votes[:, b] >= by for a, b, by in goal])
        return found

    def _atoms_violate(self, atoms: Atoms) -> Bools:
        """Whether a case is fulfilled with some atoms of the hidden columns, for each row."""
        counted = np.flatnonzero(~self._is_hidden)
        distinct, places = np.unique(atoms[:, counted], axis=0, return_inverse=True)
        found = np.zeros(len(distinct), dtype=bool)
        for number, row in enumerate(distinct.tolist()):
            choices = {place: [atom] for place, atom in zip(counted.tolist(), row, strict=True)}
            found[number] = any(
                self.search.find(self.search.box_of(choices, box), goal).row is not None
                for box, goal in self.cases
            )
        return found[places.ravel()]

    def _estimate(self, lower: float, upper: float) -> float:
        rng = np.random.default_rng(0)  # a fixed seed: results are reproducible
        atoms = np.zeros((N_SAMPLES, len(self._is_hidden)), dtype=np.int32)
        for place in np.flatnonzero(~self._is_hidden).tolist():
            own = self.weights[self.search.starts[place] : self.search.starts[place + 1]]
            atoms[:, place] = rng.choice(len(own), N_SAMPLES, p=own)
        if self._is_hidden.any():
            violating = self._atoms_violate(atoms)
        else:
            violating = self._fulfilled(
                self.search.circuit.evaluate(self.search.table_of(atoms)).votes
            )
        return float(np.clip(violating.mean(), lower, upper))
