"""Prove that two circuits vote alike on every possible row, or find a row on which they do not."""

from __future__ import annotations

import numpy as np

from dln.circuit import Circuit
from dln.conditions import Cell
from dln.errors import OptionError
from dln.prove.clock import Clock, TimeIsUpError
from dln.prove.miter import Miter, build_miter
from dln.prove.result import Counterexample, Method, Proof, Undecided
from dln.prove.simulate import Rows, Support, find_difference
from dln.prove.sweep import search

_MOST_ROWS = 2**16
"""As many rows are all tried: up to here that is about as fast as SAT or faster, and surer."""
_RANDOM_ROWS = 2048


def prove_equal(
    a: Circuit, b: Circuit, *, time_limit: float | None = 60.0
) -> Proof | Counterexample | Undecided:
    """Prove that two circuits vote alike on every possible row, or find a row where they do not.

    Two circuits are equal if on every row, every class has the same lead over every other class in
    both, so that classes and probabilities agree. Rows with missing cells and with categories never
    seen are among them; what a cell can be is said in `dln.conditions`. Columns go by their names.

    Parameters
    ----------
    a, b
        Circuits with the same classes and temperature. A column that one of them reads must be
        the same in both; other columns may differ.
    time_limit
        Seconds after which to stop undecided; None to go on for as long as it takes. Circuits of
        the same structure or of few possible rows are always decided.

    Returns
    -------
    Proof | Counterexample | Undecided
        Only a `Proof` counts as true.

    Raises
    ------
    CircuitError
        If the circuits cannot be compared.
    ExtraMissingError
        If the question needs a SAT solver and python-sat is not installed.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> def above(kind: str, cutoff: float) -> Circuit:
    ...     columns, literals = (Column("age", kind),), (Above(0, cutoff),)
    ...     return Circuit(columns, literals, (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes"))
    >>> bool(prove_equal(above("integer", 54.0), above("integer", 54.5)))
    True
    >>> print(prove_equal(above("number", 54.0), above("number", 54.5)))
    not equal: votes (0, 1) and (0, 0) where age = 54.3
    """
    if time_limit is not None and not time_limit >= 0:
        raise OptionError(f"time_limit is {time_limit!r}, expected seconds of at least 0, or None")
    clock = Clock(time_limit)
    miter = build_miter(a, b)
    try:
        found = _find_row(miter, clock)
    except TimeIsUpError:
        return Undecided(clock.seconds)
    if isinstance(found, str):
        return Proof(found, clock.seconds)
    return _counterexample(a, b, miter, found, clock)


def _find_row(miter: Miter, clock: Clock) -> Rows | Method:
    """Find a row, (n_columns, 1), on which the sums differ, or say what proved that none does."""
    if miter.sums.cancel:
        return "structure"
    support = Support(miter.graph, miter.graph.cone(miter.sums.weights), len(miter.columns))
    if support.n_rows <= _MOST_ROWS:
        return _try_all(miter, support, clock)
    rng = np.random.default_rng(0)  # one question, one answer
    rows = support.random_rows(_RANDOM_ROWS, rng)
    different = find_difference(miter.sums, support.bits_of(rows), rows.shape[1])
    if different is not None:
        return rows[:, [different]]
    found = search(miter, support, rows, rng, clock)
    return "SAT" if found is None else found


def _try_all(miter: Miter, support: Support, clock: Clock) -> Rows | Method:
    for block, rows in enumerate(support.every_row()):
        if block:
            clock.check()
        different = find_difference(miter.sums, support.bits_of(rows), rows.shape[1])
        if different is not None:
            return rows[:, [different]]
    return "exhaustion"


def _counterexample(
    a: Circuit, b: Circuit, miter: Miter, row: Rows, clock: Clock
) -> Counterexample:
    """Turn atoms into cells of the user's table, and see that the circuits differ on them."""
    cells: dict[str, Cell] = {
        column.name: atoms.atoms[int(atom)].cell
        for (column, atoms), atom in zip(miter.columns, row[:, 0], strict=True)
    }
    votes_a, votes_b = _votes(a, cells), _votes(b, cells)
    assert len({x - y for x, y in zip(votes_a, votes_b, strict=True)}) > 1
    return Counterexample(cells, votes_a, votes_b, clock.seconds)


def _votes(circuit: Circuit, cells: dict[str, Cell]) -> tuple[int, ...]:
    table = np.full((2, len(circuit.columns)), None, dtype=object)
    for index, column in enumerate(circuit.columns):
        table[0, index] = cells.get(column.name)
        # Beside a text, a category that is a number is read as what it is.
        table[1, index] = None if column.is_numeric else ""
    return tuple(circuit.votes(table)[0].tolist())
