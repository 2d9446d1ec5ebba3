"""A circuit's wire -> a SymPy expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dln.core.gates import Operators
from dln.core.literals import Above, Column, Literal
from dln.errors import ExtraMissingError

if TYPE_CHECKING:
    from dln.core.logic import Logic


def wire_to_sympy(logic: Logic, wire: int) -> Any:
    """Express a wire by the columns that it depends on."""
    sympy = _import_sympy()
    operators: Operators[Any] = Operators(
        sympy.And,
        lambda a, b: sympy.Not(sympy.And(sympy.Not(a), sympy.Not(b))),
        sympy.Xor,
        sympy.Not,
        sympy.sympify,
    )
    needed = _find_needed(logic, wire)
    expressions: dict[int, Any] = {}
    for number in sorted(needed):
        if number < logic.n_literals:
            expressions[number] = _literal(sympy, logic.literals[number], logic.columns)
            continue
        gate, a, b = logic.nodes[number - logic.n_literals]
        expressions[number] = gate.compute(operators, expressions[a], expressions[b])
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


def _import_sympy() -> Any:
    try:
        import sympy
    except ImportError:
        raise ExtraMissingError.for_packages("to_sympy", "sympy") from None
    return sympy
