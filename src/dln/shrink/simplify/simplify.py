"""Make a circuit smaller: a sequence of passes, repeated until nothing changes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal as OneOf
from typing import get_args

from dln.core.circuit import Circuit, check_is_circuit, keep_constraints
from dln.core.locked import join_locked, split_locked
from dln.core.verdict import Counterexample, Proof
from dln.costs.circuit import cost
from dln.errors import ExtraMissingError, OptionError
from dln.prove.clock import Clock, check_time_limit
from dln.prove.equal import prove_equal
from dln.shrink.simplify.claims import Limits
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.observe import replace_unseen
from dln.shrink.simplify.sweep import merge_equal
from dln.shrink.simplify.synthesis import missing_packages, resubstitute, rewrite_cuts
from dln.shrink.simplify.votes import cancel_votes

Level = OneOf["quick", "normal", "high"]
Effort = OneOf["auto", Level]
Pass = Callable[[Circuit], Circuit]

_log = logging.getLogger("dln")
_LIMITS: dict[Level, Limits] = {
    "quick": Limits(nodes=200, rows=2**12, conflicts=0, work=200_000),
    "normal": Limits(),
    "high": Limits(nodes=4_000, rows=2**16, conflicts=10_000, work=20_000_000),
}
_SYNTHESIS: dict[Level, tuple[Pass, ...]] = {
    "quick": (),
    "normal": (resubstitute,),
    "high": (resubstitute, rewrite_cuts),
}


_MANY_GATES = 20_000
"""Larger circuits go through the passes once; the limits leave little work for a second round."""

_TOO_MANY_FOR_QUICK = 1_000
"""In larger circuits, "quick" does not look for parts that make no difference: it takes minutes."""


def passes(effort: Level, n_gates: int) -> tuple[Pass, ...]:
    """List the passes. Each keeps the vote differences between classes on every possible row."""
    always: tuple[Pass, ...] = (
        fold,
        cancel_votes,
        partial(merge_equal, limits=_LIMITS[effort]),
    )
    if effort == "quick" and n_gates > _TOO_MANY_FOR_QUICK:
        return always
    return (*always, partial(replace_unseen, limits=_LIMITS[effort]), *_SYNTHESIS[effort])


def choose_effort(effort: Effort) -> Level:
    """Return the effort that "auto" stands for: "normal", or "quick" if a package is missing.

    Raises `ExtraMissingError` if another effort requires a package that is not installed. Call it
    before a long computation that ends with `simplify`.
    """
    if effort not in get_args(Effort):
        expected = ", ".join(map(repr, get_args(Effort)))
        raise OptionError(f"effort is {effort!r}, expected one of {expected}")
    if effort == "quick":
        return effort
    level: Level = "normal" if effort == "auto" else effort
    missing = missing_packages()
    if not missing:
        return level
    error = ExtraMissingError.for_packages(f"effort {level!r}", *missing)
    if effort != "auto":
        raise error
    _log.info("simplify uses effort 'quick'; %s", error)
    return "quick"


def simplify(
    circuit: Circuit,
    effort: Effort = "auto",
    *,
    prove: OneOf["auto"] | bool = "auto",
    time_limit: float | None = 60.0,
) -> Circuit:
    """Make a circuit smaller and prove that its predictions stay the same.

    The vote differences between classes stay the same on every possible row, including rows with
    missing values and new categories. So classes and probabilities stay the same. Votes that all
    classes share are removed. The gate-level operations (`dln.cost`) never increase. Every rule
    satisfies the constraints of the circuit, if it has any. Locked rules (`dln.edit`) keep their
    conditions and votes; the rest is simplified around them.

    Parameters
    ----------
    circuit
        The circuit to simplify. It is not changed.
    effort
        "quick" removes constants, copies and duplicates, cancels votes, and uses what columns
        imply (`x > 5` implies `x > 3`; a value has one category), if few columns are involved.
        "normal" also uses a SAT solver and rewrites the logic; "high" tries harder. Both require
        aigverse and python-sat. "auto" is "normal" if these are installed, else "quick". The same
        circuit and effort give the same result, unless the time is up.
    prove
        Prove that the result equals the given circuit; the proof is in its `proof`. Large circuits
        require python-sat for this. Without it, "auto" leaves `proof` None and True raises.
    time_limit
        Seconds after which no further pass or proof is started; None for no limit. The result is
        then the smallest circuit that was proven in time, which may be the given one.

    Returns
    -------
    Circuit
        The smaller circuit.

    Raises
    ------
    ExtraMissingError
        If `effort` or `prove=True` requires a package that is not installed.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> columns = Column("age", "integer"), Column("smoker", "boolean")
    >>> literals = Above(0, 40.0), Above(0, 60.0), Above(1, 0.5)
    >>> nodes = Node(GATE_BY_NAME["AND"], 0, 1), Node(GATE_BY_NAME["AND"], 3, 2)
    >>> circuit = Circuit(columns, literals, nodes, (Rule(4, (0, 1)),), (0, 0), ("no", "yes"))
    >>> print(circuit)
    Most votes win; a tie goes to no.
    no: no votes
    yes:
      +1  age > 40 and age > 60 and smoker
    >>> smaller = simplify(circuit)
    >>> print(smaller)
    Most votes win; a tie goes to no.
    no: no votes
    yes:
      +1  age > 60 and smoker
    >>> smaller.proof.method
    'exhaustion'
    """
    check_is_circuit(circuit, "simplify")
    check_time_limit(time_limit)
    level = choose_effort(effort)
    clock = Clock(time_limit)
    steps = _shrink_around(circuit, passes(level, circuit.n_gates), clock)
    smaller = steps[-1]
    if prove:
        try:
            smaller = _last_proven(circuit, steps, clock)
        except ExtraMissingError as error:
            if prove != "auto":
                raise
            _log.info("simplify returns no proof; %s", error)
    return replace(
        smaller, origin=circuit.origin, constraints=circuit.constraints, edits=circuit.edits
    )


def size(circuit: Circuit) -> tuple[int, ...]:
    """Return what is minimised: gate-level operations first, then the stored size."""
    total = cost(circuit).total
    return total.gate_operations, total.operations, total.parameters, circuit.n_gates


def _shrink_around(circuit: Circuit, steps: tuple[Pass, ...], clock: Clock) -> list[Circuit]:
    """Run the passes on all rules that are not locked; return circuits as `_shrink` does."""
    if not circuit.locked:
        return _shrink(circuit, steps, clock)
    rest, locked = split_locked(circuit)
    joined = [join_locked(smaller, locked) for smaller in _shrink(rest, steps, clock)]
    # Logic that both had shared may be there twice now.
    return [circuit, *(each for each in joined if size(each) < size(circuit))]


def _shrink(circuit: Circuit, steps: tuple[Pass, ...], clock: Clock) -> list[Circuit]:
    """Run the passes until none of them helps. Return all intermediate circuits, smallest last."""
    way = [circuit]
    idle = 0
    while idle < len(steps):
        for step in steps:
            if clock.is_over or idle == len(steps):
                return way
            smaller = step(way[-1])
            idle += 1
            if size(smaller) < size(way[-1]) and keep_constraints(circuit, smaller) is not None:
                way.append(smaller)
                idle = 0
        if circuit.n_gates > _MANY_GATES:
            break
    return way


def _last_proven(circuit: Circuit, way: list[Circuit], clock: Clock) -> Circuit:
    """Return the smallest of the circuits that is proven equal to the first, with the proof."""
    for candidate in reversed(way):
        verdict = prove_equal(circuit, candidate, time_limit=clock.left)
        assert not isinstance(verdict, Counterexample), f"simplify changed the circuit: {verdict}"
        if isinstance(verdict, Proof):
            return replace(candidate, proof=verdict)
    return circuit
