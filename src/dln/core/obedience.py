"""Constraints + a circuit -> the first rule that breaks them, seen from the structure alone.

A rule rises with a column if only rising literals reach it, and falls if only negated ones do. That
is read from the gates in one pass, without a solver. So every circuit that states constraints can
be checked when it is made, also when it is loaded from a file. The check is strict: it may refuse a
rule that is monotone only because of what its gates compute together. It never accepts a rule that
is not. `dln.prove_constraints` proves the same without looking at single rules.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from dln._util.messages import list_names
from dln.core.constraints import THE_PREDICTION, Constraints, Monotone, Sign, monotone_claim
from dln.core.labels import Label
from dln.core.limits import bits_of, make_limits
from dln.core.literals import Above, Among, Missing, format_name
from dln.core.logic import Logic
from dln.core.parts import Rule


class Reach(NamedTuple):
    """What reaches a wire: all columns, and those with which it may rise, and may fall (bits)."""

    columns: int
    rising: int
    falling: int


def find_breach(
    constraints: Constraints,
    logic: Logic,
    rules: tuple[Rule, ...],
    outputs: tuple[Label | None, ...],
    target: str = THE_PREDICTION,
) -> str | None:
    """Return what the first rule that breaks a constraint does; None if there is none.

    `outputs` are what the votes of a rule are for: classes, or (None,) for a number, which is
    called `target`.
    """
    reach = find_reach(logic)
    names = [column.name for column in logic.columns]
    place = {name: number for number, name in enumerate(names)}
    limits = make_limits(constraints, names, outputs)
    growing: dict[int, int] = {}
    shrinking: dict[int, int] = {}
    for own in constraints.monotone:
        table = growing if own.sign == "+" else shrinking
        output = outputs.index(own.label)
        table[output] = table.get(output, 0) | 1 << place[own.column]
    allowed: dict[int, bool] = {}
    for wire, votes in rules:
        columns, rising, falling = reach[wire]
        if columns not in allowed:
            allowed[columns] = limits.may_meet(columns)
        if not allowed[columns]:
            read = [format_name(name) for at, name in enumerate(names) if columns >> at & 1]
            return f"a rule reads {list_names(read)}"
        for output in growing.keys() | shrinking.keys():
            others = votes if len(votes) > 1 else (0,)
            gains, loses = votes[output] > min(others), votes[output] < max(others)
            up = (rising if gains else 0) | (falling if loses else 0)
            down = (rising if loses else 0) | (falling if gains else 0)
            broken = down & growing.get(output, 0) or up & shrinking.get(output, 0)
            if broken:
                column = names[broken.bit_length() - 1]
                sign: Sign = "+" if down & growing.get(output, 0) else "-"
                claim = monotone_claim(Monotone(column, sign, outputs[output]), target)
                return f"a rule may break that {claim}"
    return None


def find_reach(logic: Logic) -> list[Reach]:
    """Return what reaches each wire."""
    found = []
    for literal in logic.literals:
        bit = bits_of([literal.column])
        match literal:
            case Above():
                found.append(Reach(bit, bit, 0))
            case Among() | Missing():
                # Categories have no order, and a value that grows does not become missing.
                found.append(Reach(bit, 0, 0))
            case _:
                assert_never(literal)
    for gate, a, b in logic.nodes:
        t00, t01, t10, t11 = gate.table
        columns = rising = falling = 0
        for source, low, high in ((a, (t00, t01), (t10, t11)), (b, (t00, t10), (t01, t11))):
            own = found[source]
            if low != high:
                columns |= own.columns
            if low[0] < high[0] or low[1] < high[1]:
                rising |= own.rising
                falling |= own.falling
            if low[0] > high[0] or low[1] > high[1]:
                rising |= own.falling
                falling |= own.rising
        found.append(Reach(columns, rising, falling))
    return found
