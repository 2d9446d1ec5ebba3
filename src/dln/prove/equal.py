"""Prove that two circuits agree on every possible row, or find a row on which they differ."""

from __future__ import annotations

from typing import get_args

import numpy as np

from dln.core.circuit import Circuit
from dln.core.conditions import Cell
from dln.core.verdict import Counterexample, Method, Proof, Undecided
from dln.errors import CircuitError, OptionError
from dln.prove.clock import Clock, TimeIsUpError, check_time_limit
from dln.prove.miter import Miter, build_miter
from dln.prove.question import Aspect, Question, ask
from dln.prove.simulate import Rows, Support, try_all
from dln.prove.sweep import search
from dln.prove.votes import votes_of

_CLAIMS: dict[Aspect, str] = {
    "probabilities": "equal on every possible row",
    "classes": "the same class on every possible row",
}


def prove_equal(
    a: Circuit, b: Circuit, *, of: Aspect = "probabilities", time_limit: float | None = 60.0
) -> Proof | Counterexample | Undecided:
    """Prove that two circuits agree on every possible row, or find a row on which they differ.

    Two circuits are equal if the vote differences between classes are the same on every row. Then
    classes and probabilities agree. With `of="classes"` it is enough that the same class wins on
    every row. Rows with missing values and new categories are included; `core.conditions` defines
    which values a column can have. Columns are matched by name.

    Parameters
    ----------
    a, b
        Circuits with the same classes and, unless `of="classes"`, the same calibration or, without
        one, the same temperature. Columns
        that one of them reads must be the same in both; other columns may differ.
    of
        What must agree: "probabilities" (and so classes), or only "classes".
    time_limit
        Seconds after which the result is `Undecided`; None for no limit. Circuits with the same
        structure or few possible rows are always decided.

    Returns
    -------
    Proof | Counterexample | Undecided
        Only a `Proof` is true in a boolean context.

    Raises
    ------
    CircuitError
        If the circuits cannot be compared.
    ExtraMissingError
        If the proof requires a SAT solver and python-sat is not installed.

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
    check_time_limit(time_limit)
    if of not in get_args(Aspect):
        raise OptionError(f'of is {of!r}, expected "probabilities" or "classes"')
    clock = Clock(time_limit)
    miter = build_miter(a, b)
    if of == "probabilities":
        _check_probabilities(a, b)
    try:
        found = _find_row(miter, ask(miter, of, clock), clock)
    except TimeIsUpError:
        return Undecided(clock.seconds)
    if isinstance(found, str):
        return Proof(found, clock.seconds, _CLAIMS[of])
    return _counterexample(a, b, miter, found, clock)


def _check_probabilities(a: Circuit, b: Circuit) -> None:
    """Refuse circuits whose equal votes mean different probabilities."""
    if a.calibration != b.calibration:
        raise CircuitError(
            "the circuits have different calibrations, so equal votes give different "
            "probabilities; compare only their classes "
            '(of="classes", dln verify --classes), or give both the same calibration'
        )
    if a.calibration is None and a.temperature != b.temperature:
        raise CircuitError(
            f"the circuits have the temperatures {a.temperature!r} and {b.temperature!r}, so "
            "equal votes give different probabilities; compare only their classes "
            '(of="classes", dln verify --classes), or give both the same temperature'
        )


def _find_row(miter: Miter, question: Question, clock: Clock) -> Rows | Method:
    """Return a row, (n_columns, 1), on which the circuits differ, or the method of the proof."""
    if miter.sums.cancel:
        return "structure"
    support = Support(miter.graph, miter.graph.cone(question.nodes), len(miter.columns))
    look = question.look
    if support.is_small:
        found = try_all(support, look, clock)
        return "exhaustion" if found is None else found
    rng = np.random.default_rng(0)  # a fixed seed: results are reproducible
    rows = support.some_rows(rng)
    different = look(support.bits_of(rows), rows.shape[1])
    if different is not None:
        return rows[:, [different]]
    found = search(miter, question, support, rows, rng, clock)
    return "SAT" if found is None else found


def _counterexample(
    a: Circuit, b: Circuit, miter: Miter, row: Rows, clock: Clock
) -> Counterexample:
    """Convert atoms to values of the user's table, and check that the circuits differ on them."""
    cells: dict[str, Cell] = {
        column.name: atoms.atoms[int(atom)].cell
        for (column, atoms), atom in zip(miter.columns, row[:, 0], strict=True)
    }
    votes_a, votes_b = votes_of(a, cells), votes_of(b, cells)
    assert len({x - y for x, y in zip(votes_a, votes_b, strict=True)}) > 1
    return Counterexample(cells, votes_a, votes_b, clock.seconds)
