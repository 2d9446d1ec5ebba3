"""A circuit's wire -> a SymPy expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dln.core.literals import Above, Column, Literal
from dln.errors import ExtraMissingError

if TYPE_CHECKING:
    from dln.core.logic import Logic


def wire_to_sympy(logic: Logic, wire: int) -> Any:
    """Express a wire by the columns that it depends on."""
    sympy = _import_sympy()
    needed = _find_needed(logic, wire)
    expressions: dict[int, Any] = {}
    for number in sorted(needed):
        if number < logic.n_literals:
            expressions[number] = _literal(sympy, logic.literals[number], logic.columns)
            continue
        gate, a, b = logic.nodes[number - logic.n_literals]
        expressions[number] = _gate(sympy, gate.table, expressions[a], expressions[b])
    return expressions[wire]


def _find_needed(logic: Logic, wire: int) -> set[int]:
    needed, stack = {wire}, [wire]
    while stack:
        number = stack.pop()
        if number >= logic.n_literals:
            _, a, b = logic.nodes[number - logic.n_literals]
            new = {a, b} - needed
            needed |= new
            stack.extend(new)
    return needed


def _literal(sympy: Any, literal: Literal, columns: tuple[Column, ...]) -> Any:
    column = columns[literal.column]
    if isinstance(literal, Above) and column.kind != "boolean":
        cutoff = literal.cutoff
        number = sympy.Integer(int(cutoff)) if cutoff.is_integer() else sympy.Float(cutoff)
        return sympy.Symbol(column.name, real=True) > number
    return sympy.Symbol(literal.describe(columns))


def _gate(sympy: Any, table: tuple[int, int, int, int], a: Any, b: Any) -> Any:
    """Express a truth table: a constant, one input, an XOR, or an AND that may be negated."""
    t00, t01, t10, t11 = table
    if t00 == t01 and t10 == t11:
        return _one_input(sympy, t00, t10, a)
    if t00 == t10 and t01 == t11:
        return _one_input(sympy, t00, t01, b)
    n_ones = sum(table)
    if n_ones == 2:
        return sympy.Not(sympy.Xor(a, b)) if t00 else sympy.Xor(a, b)
    row = table.index(1 if n_ones == 1 else 0)
    both = sympy.And(a if row >= 2 else sympy.Not(a), b if row % 2 else sympy.Not(b))
    return both if n_ones == 1 else sympy.Not(both)


def _one_input(sympy: Any, at_0: int, at_1: int, value: Any) -> Any:
    if at_0 == at_1:
        return sympy.true if at_0 else sympy.false
    return sympy.Not(value) if at_0 else value


def _import_sympy() -> Any:
    try:
        import sympy
    except ImportError:
        raise ExtraMissingError.for_packages("to_sympy", "sympy") from None
    return sympy
