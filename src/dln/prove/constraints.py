"""Prove that a circuit satisfies constraints: directions, and columns that occur together.

Monotonicity is proven for the votes of all rules together, by `prove_monotone`. What a rule reads
is seen from its gates. Only a rule that reads too much is examined further: it may not depend on
everything that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.constraints import Constraints, monotone_claim, read_constraints
from dln.core.limits import bits_of, make_limits
from dln.core.obedience import find_breach, find_reach
from dln.core.parts import Rule
from dln.core.readout import Votes, target_name
from dln.core.verdict import Meeting, Method, Proof, Reversal, Undecided
from dln.errors import ExtraMissingError, OptionError
from dln.prove.certify import prove_independent
from dln.prove.clock import Clock, check_time_limit
from dln.prove.monotone import prove_monotone

Answer = Proof | Reversal | Meeting | Undecided


@dataclass(frozen=True)
class ConstraintProofs:
    """The result for each constraint of a circuit; true if all are proven.

    Attributes
    ----------
    claims
        The constraints in words.
    verdicts
        The result for each.
    """

    claims: tuple[str, ...]
    verdicts: tuple[Answer, ...]

    def __bool__(self) -> bool:
        return all(self.verdicts)

    @property
    def refuted(self) -> bool:
        """Whether a counterexample was found."""
        return any(isinstance(verdict, (Reversal, Meeting)) for verdict in self.verdicts)

    def __str__(self) -> str:
        return "\n".join(
            str(verdict) if verdict else f"{claim}: {verdict}"
            for claim, verdict in zip(self.claims, self.verdicts, strict=True)
        )


def prove_constraints(
    circuit: Circuit,
    constraints: Constraints | None = None,
    *,
    time_limit: float | None = 60.0,
) -> ConstraintProofs:
    """Prove that a circuit satisfies constraints, or find what breaks them.

    Parameters
    ----------
    circuit
        Any circuit.
    constraints
        By default those that the circuit states, see `DLNClassifier(monotone=...)`.
    time_limit
        Seconds for each constraint, after which its result is `Undecided`; None for no limit.

    Returns
    -------
    ConstraintProofs
        True in a boolean context if every constraint is proven.

    Raises
    ------
    OptionError
        If there are no constraints, or they do not fit the circuit.

    Examples
    --------
    >>> from dln import Above, Column, Monotone, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"), Column("sex", "boolean")), (Above(0, 54.0),), (),
    ...     (Rule(0, (0, 1)),), (0, 0), ("healthy", "ill"),
    ... )
    >>> wanted = Constraints((Monotone("age", "+", "ill"),), unused_columns=("sex",))
    >>> print(prove_constraints(circuit, wanted))  # doctest: +ELLIPSIS
    ill never loses as age grows (proven by structure, ...)
    no rule reads sex (proven by structure, ...)
    """
    check_is_circuit(circuit, "prove_constraints")
    check_time_limit(time_limit)
    wanted = circuit.constraints if constraints is None else constraints
    if wanted is None:
        raise OptionError(
            "the circuit states no constraints; train it with some, or give them: constraints=..."
        )
    wanted.check(circuit.columns, circuit.readout.outputs)
    claims: list[str] = []
    verdicts: list[Answer] = []
    target = target_name(circuit.readout)
    for own in wanted.monotone:
        claims.append(monotone_claim(own, target))
        verdicts.append(_prove_direction(circuit, Constraints((own,)), claims[-1], time_limit))
    for part in _parts(wanted):
        (claim,) = part.lines()
        claims.append(claim)
        verdicts.append(_prove_columns(circuit, part, claim, Clock(time_limit)))
    return ConstraintProofs(tuple(claims), tuple(verdicts))


def prove_interactions(
    circuit: Circuit,
    interactions: Sequence[Sequence[str]] | None = None,
    *,
    forbidden_pairs: Sequence[tuple[str, str]] = (),
    unused_columns: Sequence[str] = (),
    max_columns_per_rule: int | None = None,
    time_limit: float | None = 60.0,
) -> Proof | Meeting | Undecided:
    """Prove that only certain columns occur together in a rule, or find a rule with others.

    The votes are a sum over rules. So if two columns never occur together, the effect of one on the
    votes never depends on the other.

    Parameters
    ----------
    circuit
        Any circuit.
    interactions, forbidden_pairs, unused_columns, max_columns_per_rule
        What rules may depend on, as for `DLNClassifier`.
    time_limit
        Seconds after which the result is `Undecided`; None for no limit.

    Returns
    -------
    Proof | Meeting | Undecided
        Only a `Proof` is true in a boolean context.

    Raises
    ------
    OptionError
        If nothing is asked for, or there is no such column.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
    ...     rules=(Rule(2, (0, 1)),),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> print(prove_interactions(circuit, [["age", "smoker"]]))  # doctest: +ELLIPSIS
    only columns of the same group occur together in a rule: age, smoker (proven by structure, ...)
    >>> print(prove_interactions(circuit, forbidden_pairs=[("age", "smoker")]))
    refuted: a rule depends on age, smoker
    """
    check_is_circuit(circuit, "prove_interactions")
    check_time_limit(time_limit)
    wanted = read_constraints(
        circuit.readout.outputs,
        interactions=interactions,
        forbidden_pairs=forbidden_pairs,
        unused_columns=unused_columns,
        max_columns_per_rule=max_columns_per_rule,
    )
    if not wanted:
        raise OptionError(
            "give interactions, forbidden_pairs, unused_columns or max_columns_per_rule"
        )
    wanted.check(circuit.columns, circuit.readout.outputs)
    return _prove_columns(circuit, wanted, "; ".join(wanted.lines()), Clock(time_limit))


def _parts(wanted: Constraints) -> list[Constraints]:
    """Split what is said about the columns of a rule into single claims."""
    found = []
    if wanted.interactions is not None:
        found.append(Constraints(interactions=wanted.interactions))
    found += [Constraints(forbidden_pairs=(pair,)) for pair in wanted.forbidden_pairs]
    if wanted.unused_columns:
        found.append(Constraints(unused_columns=wanted.unused_columns))
    if wanted.max_columns_per_rule is not None:
        found.append(Constraints(max_columns_per_rule=wanted.max_columns_per_rule))
    return found


def _prove_direction(
    circuit: Circuit, wanted: Constraints, claim: str, time_limit: float | None
) -> Proof | Reversal | Undecided:
    (own,) = wanted.monotone
    clock = Clock(time_limit)
    evident = not find_breach(wanted, circuit.logic, circuit.rules, circuit.readout.outputs)
    try:
        found = prove_monotone(
            circuit,
            own.column,
            own.label,
            direction="rising" if own.sign == "+" else "falling",
            time_limit=time_limit,
        )
    except ExtraMissingError:
        if not evident:
            raise
        found = Undecided(clock.seconds)
    if isinstance(found, Undecided) and evident:
        return Proof("structure", clock.seconds, claim)  # every rule satisfies it on its own
    return replace(found, claim=claim) if isinstance(found, Proof) else found


def _prove_columns(
    circuit: Circuit, wanted: Constraints, claim: str, clock: Clock
) -> Proof | Meeting | Undecided:
    names = [column.name for column in circuit.columns]
    limits = make_limits(wanted, names, circuit.readout.outputs)
    reach = find_reach(circuit.logic)
    method: Method = "structure"
    decided = True
    for number, rule in enumerate(circuit.rules):
        columns = reach[rule.wire].columns
        if limits.may_meet(columns):
            continue
        method = "bounds"
        read = _dependencies(circuit, rule, columns, clock)
        if read is None:
            decided = False
        elif not limits.may_meet(bits_of(read)):
            return Meeting(number, tuple(names[at] for at in read), clock.seconds)
    return Proof(method, clock.seconds, claim) if decided else Undecided(clock.seconds)


def _dependencies(circuit: Circuit, rule: Rule, columns: int, clock: Clock) -> list[int] | None:
    """Return the columns that a rule depends on; None if that is not decided in time."""
    readout = Votes((Rule(rule.wire, (0, 1)),), (0, 0), (False, True))
    alone = Circuit(logic=circuit.logic, readout=readout)
    found = []
    for at, column in enumerate(circuit.columns):
        if columns >> at & 1:
            verdict = prove_independent(alone, [column.name], time_limit=clock.left)
            if isinstance(verdict, Undecided):
                return None
            if not verdict:
                found.append(at)
    return found
