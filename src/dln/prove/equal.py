"""Prove that two circuits agree on every possible row, or find a row on which they differ."""

from __future__ import annotations

from typing import get_args

import numpy as np

from dln.core.bands import points_as_votes
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import Cell
from dln.core.verdict import Counterexample, Method, Proof, Undecided
from dln.errors import CircuitError, OptionError
from dln.prove.clock import Clock, TimeIsUpError, check_time_limit
from dln.prove.miter import Miter, Sums, build_miter
from dln.prove.monotone import find_below_zero
from dln.prove.numbers import on_one_scale, points_within
from dln.prove.question import Aspect, Question, ask
from dln.prove.region import likely_atoms
from dln.prove.simulate import Rows, Support, likelier_row, try_all
from dln.prove.sweep import search
from dln.prove.votes import votes_of

_CLAIMS: dict[Aspect, str] = {
    "probabilities": "equal on every possible row",
    "classes": "the same class on every possible row",
}


def prove_equal(
    a: Circuit,
    b: Circuit,
    *,
    of: Aspect = "probabilities",
    tolerance: float = 0.0,
    time_limit: float | None = 60.0,
) -> Proof | Counterexample | Undecided:
    """Prove that two circuits agree on every possible row, or find a row on which they differ.

    Two circuits are equal if the vote differences between classes are the same on every row. Then
    classes and probabilities agree. With `of="classes"` it is enough that the same class wins on
    every row. Rows with missing values and new categories are included; `core.conditions` defines
    which values a column can have. Columns are matched by name. Circuits that predict numbers are
    equal if they predict the same number on every row, or numbers within a tolerance.

    Parameters
    ----------
    a, b
        Circuits with the same classes and, unless `of="classes"`, the same calibration or, without
        one, the same temperature. Columns
        that one of them reads must be the same in both; other columns may differ.
    of
        What must agree: "probabilities" (and so classes), or only "classes".
    tolerance
        For circuits that predict numbers: how far apart the two predictions may be.
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
    for circuit in (a, b):
        check_is_circuit(circuit, "prove_equal")
    if a.task != b.task:
        raise CircuitError("one circuit predicts classes, the other a number; they never agree")
    if a.task == "number":
        return _compare_numbers(*on_one_scale(a, b), tolerance, clock)
    if tolerance != 0:
        raise OptionError("tolerance is for circuits that predict numbers; leave it out")
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


def _compare_numbers(
    a: Circuit, b: Circuit, tolerance: float, clock: Clock
) -> Proof | Counterexample | Undecided:
    """Compare the points of two circuits, which mean the same in both."""
    allowed = points_within(a.number_readout, tolerance)
    miter = build_miter(points_as_votes(a), points_as_votes(b))
    claim = "equal on every possible row"
    try:
        if allowed:
            claim = f"within {tolerance:g} of each other on every possible row"
            rng = np.random.default_rng(0)  # a fixed seed: results are reproducible
            sums = _within(miter.sums, allowed)
            found = find_below_zero(miter.graph, _likely(miter), sums, rng, clock)
        else:
            found = _find_row(miter, ask(miter, "probabilities", clock), clock)
    except TimeIsUpError:
        return Undecided(clock.seconds)
    if isinstance(found, str):
        return Proof(found, clock.seconds, claim)
    cells = _cells(miter, found)
    votes = votes_of(a, cells), votes_of(b, cells)
    numbers = a.number_readout.answer(votes[0][0]), b.number_readout.answer(votes[1][0])
    assert abs(votes[0][0] - votes[1][0]) > allowed
    return Counterexample(cells, *votes, clock.seconds, numbers)


def _within(difference: Sums, allowed: int) -> Sums:
    """Return two sums, one of which is below 0 where a difference is larger than allowed."""
    (constant,) = difference.constant
    weights = {node: (-weight, weight) for node, (weight,) in difference.weights.items()}
    return Sums((allowed - constant, allowed + constant), weights)


def _check_probabilities(a: Circuit, b: Circuit) -> None:
    """Refuse circuits whose equal votes mean different probabilities."""
    if a.calibration != b.calibration:
        raise CircuitError(
            "the circuits have different calibrations, so equal votes give different "
            "probabilities; compare only their classes "
            '(of="classes"), or give both the same calibration'
        )
    if a.calibration is None and a.temperature != b.temperature:
        raise CircuitError(
            f"the circuits have the temperatures {a.temperature!r} and {b.temperature!r}, so "
            "equal votes give different probabilities; compare only their classes "
            '(of="classes"), or give both the same temperature'
        )


def _find_row(miter: Miter, question: Question, clock: Clock) -> Rows | Method:
    """Return a row, (n_columns, 1), on which the circuits differ, or the method of the proof."""
    if miter.sums.cancel:
        return "structure"
    support = Support(miter.graph, miter.graph.cone(question.nodes), len(miter.columns))
    look, likely = question.look, _likely(miter)
    if support.is_small:
        found = try_all(support, look, clock)
        return "exhaustion" if found is None else likelier_row(support, look, found, likely)
    rng = np.random.default_rng(0)  # a fixed seed: results are reproducible
    rows = support.some_rows(rng)
    different = look(support.bits_of(rows), rows.shape[1])
    if different is not None:
        return likelier_row(support, look, rows[:, [different]], likely)
    found = search(miter, question, support, rows, rng, clock)
    return "SAT" if found is None else likelier_row(support, look, found, likely)


def _likely(miter: Miter) -> list[list[bool]]:
    return [likely_atoms(column, atoms) for column, atoms in miter.columns]


def _counterexample(
    a: Circuit, b: Circuit, miter: Miter, row: Rows, clock: Clock
) -> Counterexample:
    """Check that the circuits differ on a row, and return it as a counterexample."""
    cells = _cells(miter, row)
    votes_a, votes_b = votes_of(a, cells), votes_of(b, cells)
    assert len({x - y for x, y in zip(votes_a, votes_b, strict=True)}) > 1
    return Counterexample(cells, votes_a, votes_b, clock.seconds)


def _cells(miter: Miter, row: Rows) -> dict[str, Cell]:
    """Convert atoms to values of the user's table."""
    return {
        column.name: atoms.atoms[int(atom)].cell
        for (column, atoms), atom in zip(miter.columns, row[:, 0], strict=True)
    }
