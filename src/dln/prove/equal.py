"""Prove that two circuits agree on every possible row, or find a row on which they do not."""

from __future__ import annotations

from typing import get_args

import numpy as np

from dln.circuit import Circuit
from dln.conditions import Cell
from dln.errors import CircuitError, OptionError
from dln.prove.clock import Clock, TimeIsUpError, check_time_limit
from dln.prove.miter import Miter, build_miter
from dln.prove.question import Aspect, Question, ask
from dln.prove.result import Counterexample, Method, Proof, Undecided
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
    """Prove that two circuits agree on every possible row, or find a row where they do not.

    Two circuits are equal if on every row, every class has the same lead over every other class in
    both, so that classes and probabilities agree; or, if only classes are asked for, if on every
    row the same class wins. Rows with missing cells and with categories never
    seen are among them; what a cell can be is said in `dln.conditions`. Columns go by their names.

    Parameters
    ----------
    a, b
        Circuits with the same classes and, where probabilities are to agree, the same temperature.
        A column that one of them reads must be the same in both; other columns may differ.
    of
        What is to agree: "probabilities", or "classes" alone.
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
    check_time_limit(time_limit)
    if of not in get_args(Aspect):
        raise OptionError(f'of is {of!r}, expected "probabilities" or "classes"')
    clock = Clock(time_limit)
    miter = build_miter(a, b)
    if of == "probabilities":
        _check_temperatures(a, b)
    try:
        found = _find_row(miter, ask(miter, of, clock), clock)
    except TimeIsUpError:
        return Undecided(clock.seconds)
    if isinstance(found, str):
        return Proof(found, clock.seconds, _CLAIMS[of])
    return _counterexample(a, b, miter, found, clock)


def _check_temperatures(a: Circuit, b: Circuit) -> None:
    if a.temperature != b.temperature:
        raise CircuitError(
            f"the circuits have the temperatures {a.temperature!r} and {b.temperature!r}, so that "
            "equal votes give unequal probabilities; compare their classes alone "
            '(of="classes", dln verify --classes), or give both the same temperature'
        )


def _find_row(miter: Miter, question: Question, clock: Clock) -> Rows | Method:
    """Find a row, (n_columns, 1), that answers a question, or say what proved that none does."""
    if miter.sums.cancel:
        return "structure"
    support = Support(miter.graph, miter.graph.cone(question.nodes), len(miter.columns))
    look = question.look
    if support.is_small:
        found = try_all(support, look, clock)
        return "exhaustion" if found is None else found
    rng = np.random.default_rng(0)  # one question, one answer
    rows = support.some_rows(rng)
    different = look(support.bits_of(rows), rows.shape[1])
    if different is not None:
        return rows[:, [different]]
    found = search(miter, question, support, rows, rng, clock)
    return "SAT" if found is None else found


def _counterexample(
    a: Circuit, b: Circuit, miter: Miter, row: Rows, clock: Clock
) -> Counterexample:
    """Turn atoms into cells of the user's table, and see that the circuits differ on them."""
    cells: dict[str, Cell] = {
        column.name: atoms.atoms[int(atom)].cell
        for (column, atoms), atom in zip(miter.columns, row[:, 0], strict=True)
    }
    votes_a, votes_b = votes_of(a, cells), votes_of(b, cells)
    assert len({x - y for x, y in zip(votes_a, votes_b, strict=True)}) > 1
    return Counterexample(cells, votes_a, votes_b, clock.seconds)
