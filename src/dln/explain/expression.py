"""A wire -> an expression: its gates as "and", "or" and "xor" of tests that may be negated.

Promise: an expression is true exactly where its wire is 1. The caller of `write` decides how tests
and named wires are spelled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never
from typing import Literal as OneOf

from dln.core.literals import Above, Among, Missing

if TYPE_CHECKING:
    from dln.core.logic import Logic

Word = OneOf["and", "or", "xor"]


@dataclass(frozen=True)
class Term:
    """A wire that is not written out: a literal, or a gate that has a name."""

    wire: int
    negated: bool = False


@dataclass(frozen=True)
class CategoryTest:
    """A test of one column's categories that replaces several literals."""

    literal: Among
    negated: bool


@dataclass(frozen=True)
class Constant:
    """A value that is the same on every row."""

    value: bool


@dataclass(frozen=True)
class Chain:
    """Expressions joined by one word."""

    word: Word
    parts: tuple[Expression, ...]


Expression = Term | CategoryTest | Constant | Chain


def factored(logic: Logic, wire: int, named: Collection[int]) -> Expression:
    """Write out a wire's gates as they are wired, down to literals and named wires.

    The wire itself is written out even if it has a name.
    """
    return _written_out(logic, wire, named, negated=False)


def join(word: Word, parts: list[Expression]) -> Expression:
    """Join expressions by a word; a single expression is returned as it is."""
    return parts[0] if len(parts) == 1 else Chain(word, tuple(parts))


def merge_categories(
    logic: Logic, expression: Expression, named: Collection[int] = ()
) -> Expression:
    """Join tests of one column's categories: `x = a or x = b` becomes `x in {a, b}`.

    Likewise, `x != a and x != b` becomes `x not in {a, b}`. Both are correct for missing values
    too. `named` literals stay unchanged.
    """
    if not isinstance(expression, Chain):
        return expression
    parts = [merge_categories(logic, part, named) for part in expression.parts]
    if expression.word == "xor":
        return Chain("xor", tuple(parts))
    negated = expression.word == "and"
    merged: dict[object, Expression] = {}
    found: dict[int, set[int]] = {}
    for part in parts:
        literal = _category_literal(logic, part, named, negated=negated)
        if literal is None:
            merged[part] = part
        elif literal.column not in found:
            merged[literal.column] = part
            found[literal.column] = set(literal.categories)
        else:
            found[literal.column].update(literal.categories)
            categories = tuple(sorted(found[literal.column]))
            merged[literal.column] = CategoryTest(Among(literal.column, categories), negated)
    return join(expression.word, list(merged.values()))


def _category_literal(
    logic: Logic, part: Expression, named: Collection[int], *, negated: bool
) -> Among | None:
    """Return the literal of a category test that is negated as requested; None otherwise."""
    if isinstance(part, CategoryTest):
        return part.literal if part.negated == negated else None
    if not isinstance(part, Term) or part.wire >= logic.n_literals or part.wire in named:
        return None
    literal = logic.literals[part.wire]
    match literal:
        case Among():
            return literal if part.negated == negated else None
        case Above() | Missing():
            return None
        case _:
            assert_never(literal)


def write(expression: Expression, term_text: Callable[[Term | CategoryTest], str]) -> str:
    """Write an expression as one line; parentheses go around every chain within a chain.

    >>> inner = Chain("or", (Term(1), Term(2)))
    >>> write(Chain("and", (Term(0), inner)), lambda term: f"x{term.wire}")
    'x0 and (x1 or x2)'
    """
    if isinstance(expression, (Term, CategoryTest)):
        return term_text(expression)
    if isinstance(expression, Constant):
        return "always" if expression.value else "never"
    texts = [
        f"({write(part, term_text)})" if isinstance(part, Chain) else write(part, term_text)
        for part in expression.parts
    ]
    return f" {expression.word} ".join(texts)


def count_terms(expression: Expression) -> int:
    """Count the literals and names that an expression mentions."""
    if isinstance(expression, Chain):
        return sum(map(count_terms, expression.parts))
    return int(isinstance(expression, (Term, CategoryTest)))


def _express(logic: Logic, wire: int, named: Collection[int], *, negated: bool) -> Expression:
    if wire in named:
        return Term(wire, negated)
    return _written_out(logic, wire, named, negated=negated)


def _written_out(logic: Logic, wire: int, named: Collection[int], *, negated: bool) -> Expression:
    while wire >= logic.n_literals:  # a loop, since there may be many copies of copies
        gate, a, b = logic.nodes[wire - logic.n_literals]
        gate = gate.negate() if negated else gate
        form = gate.form
        if form.operation == "constant":
            return Constant(form.negated)
        if form.operation != "copy":
            # The negation of "xor" moves to its first input.
            inputs = (a, form.negate_a or form.negated), (b, form.negate_b)
            return _joined(logic, form.operation, inputs, named)
        wire, negated = (a if gate.reads_a else b), form.negated
        if wire in named:
            break
    return Term(wire, negated)


def _joined(
    logic: Logic, word: Word, inputs: Iterable[tuple[int, bool]], named: Collection[int]
) -> Expression:
    """Join wires, each negated or not, by a word."""
    parts: list[Expression] = []
    for source, negated in inputs:
        part = _express(logic, source, named, negated=negated)
        # A chain of xor keeps its parentheses, since it can be misread as "exactly one".
        if isinstance(part, Chain) and part.word == word != "xor":
            parts += part.parts
        else:
            parts.append(part)
    if word != "xor":  # x and y and x: the repeated part is redundant
        unique: dict[object, Expression] = {}
        for part in parts:
            unique.setdefault(_meaning(logic, part), part)
        parts = list(unique.values())
    return join(word, parts)


def _meaning(logic: Logic, part: Expression) -> object:
    """Return a key that is equal for parts with the same text."""
    if isinstance(part, Term) and part.wire < logic.n_literals:
        return logic.literals[part.wire].describe(logic.columns, negated=part.negated)
    return part
