"""A circuit's wire -> a SymPy expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from dln._util.extras import import_extra
from dln.core.gates import Operators
from dln.core.literals import Above, Among, Column, Literal, Missing

if TYPE_CHECKING:
    from dln.core.logic import Logic


def wire_to_sympy(logic: Logic, wire: int) -> Any:
    """Express a wire by the columns that it depends on."""
    sympy = import_extra("sympy", "to_sympy")
    operators: Operators[Any] = Operators(
        sympy.And,
        lambda a, b: sympy.Not(sympy.And(sympy.Not(a), sympy.Not(b))),
        sympy.Xor,
        sympy.Not,
        sympy.sympify,
    )
    expressions: dict[int, Any] = {}
    for number in logic.cone([wire]):
        if number < logic.n_literals:
            expressions[number] = _literal(sympy, logic.literals[number], logic.columns)
            continue
        gate, a, b = logic.nodes[number - logic.n_literals]
        # An input that the gate does not depend on may lie outside the cone.
        x, y = (expressions.get(source, sympy.false) for source in (a, b))
        expressions[number] = gate.compute(operators, x, y)
    return expressions[wire]


def _literal(sympy: Any, literal: Literal, columns: tuple[Column, ...]) -> Any:
    column = columns[literal.column]
    match literal:
        case Above(_, cutoff) if column.kind != "boolean":
            number = sympy.Integer(int(cutoff)) if cutoff.is_integer() else sympy.Float(cutoff)
            return sympy.Symbol(column.name, real=True) > number
        case Above() | Among() | Missing():
            return sympy.Symbol(literal.describe(columns))
        case _:
            assert_never(literal)
