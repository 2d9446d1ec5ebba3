"""A wire -> its shortest readable expression.

Three forms are compared: the gates as they are wired, an "or" of "and"s and an "and" of "or"s. The
form with the fewest tests is chosen, then the one with the fewest characters. The two-level forms
are made from the wire's truth in all possible cases, so they use what the columns imply:
`x > 5 and x > 3` becomes `x > 5`.

Promise: the expression is true exactly where the wire is 1, on every possible row. Wires of more
than `MOST_LITERALS` literals are written as they are wired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dln.explain.cases import Cases, column_patterns, reads_more
from dln.explain.expression import (
    CategoryTest,
    Chain,
    Constant,
    Expression,
    Term,
    Word,
    count_terms,
    factored,
    join,
    merge_categories,
    write,
)
from dln.explain.writer import INLINE_SIZE, Writer, wires_to_name

if TYPE_CHECKING:
    from dln.core.logic import Logic

MOST_LITERALS = 8
"""Maximum number of literals for two-level forms: 3 ** 8 products, 2 ** 8 cases."""
_MOST_STEPS = 2000
"""Maximum number of steps of the search for the cheapest cover."""
_MENTION = 10**6
"""The cost of a literal in characters: fewer literals always win."""


class WrittenRules(NamedTuple):
    """Rules as text.

    Attributes
    ----------
    texts
        The text of each rule; it may refer to named parts.
    parts
        Names used in the rules, with their definitions.
    """

    texts: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]


def write_rules(logic: Logic, outputs: Sequence[int]) -> WrittenRules:
    """Write the wires of all rules in their shortest forms."""
    writer = short_writer(logic, outputs)
    texts = tuple(writer.text(wire) for wire in outputs)
    return WrittenRules(texts, tuple(writer.definitions()))


def short_writer(logic: Logic, outputs: Iterable[int]) -> Writer:
    """Make a writer of the shortest forms; wires get names only if a form is too long."""
    named = wires_to_name(logic, outputs)
    return Writer(logic, named, lambda wire: shortest(logic, wire, named))


def shortest(logic: Logic, wire: int, named: Collection[int] = ()) -> Expression:
    """Find the shortest form of a wire; `named` wires are used if it is too long.

    >>> from dln import GATE_BY_NAME, Above, Circuit, Column, Node
    >>> circuit = Circuit(
    ...     (Column("x", "number"),), (Above(0, 3.0), Above(0, 5.0)),
    ...     (Node(GATE_BY_NAME["AND"], 0, 1),), (), (0,), ("a",),
    ... )
    >>> shortest(circuit.logic, 2)
    Term(wire=1, negated=False)
    """
    if reads_more(logic, wire, INLINE_SIZE):
        return factored(logic, wire, named)
    wires = logic.cone([wire])
    literals = [number for number in wires if number < logic.n_literals]
    forms: list[Expression] = []
    if _written_size(logic, wires) <= INLINE_SIZE:
        forms.append(factored(logic, wire, ()))
        if _is_shortest(logic, forms[0]):
            return forms[0]
    if len(literals) <= MOST_LITERALS:
        forms += _two_level(Cases(logic, literals), wire)
    forms = [merge_categories(logic, form, named) for form in forms]
    forms = [form for form in forms if count_terms(form) <= INLINE_SIZE]
    if not forms:
        return factored(logic, wire, named)
    return min(forms, key=lambda form: _length(logic, form))


def _is_shortest(logic: Logic, form: Expression) -> bool:
    """Return whether a form joins literals of different columns by one word, such as a leaf.

    Then it depends on each of them, unless one is always true or never.
    """
    parts = form.parts if isinstance(form, Chain) and form.word != "xor" else (form,)
    wires = [part.wire for part in parts if isinstance(part, Term)]
    if len(wires) < len(parts):
        return False
    groups = column_patterns(logic, wires)
    return all(len(own) == 1 and len(set(patterns)) == 2 for own, patterns in groups)


def _written_size(logic: Logic, wires: list[int]) -> int:
    """Count the literals and constants of the last wire, all gates written out, up to a limit."""
    size: dict[int, int] = {}
    for wire in wires:
        if wire < logic.n_literals:
            size[wire] = 1
            continue
        _, a, b = logic.nodes[wire - logic.n_literals]
        size[wire] = min(max(1, size.get(a, 0) + size.get(b, 0)), INLINE_SIZE + 1)
    return size[wires[-1]]


def _length(logic: Logic, form: Expression) -> int:
    """Measure a form: literals first, then characters."""
    return _MENTION * count_terms(form) + len(write(form, lambda term: _plain(logic, term)))


def _plain(logic: Logic, term: Term | CategoryTest) -> str:
    if isinstance(term, CategoryTest):
        return term.literal.describe(logic.columns, negated=term.negated)
    return logic.literals[term.wire].describe(logic.columns, negated=term.negated)


# -- two levels -------------------------------------------------------------------------------


class _Product(NamedTuple):
    """Literals that must all be true, the cases in which they are, and their cost."""

    terms: tuple[Term, ...]
    cases: int
    cost: int


def _two_level(cases: Cases, wire: int) -> Iterator[Expression]:
    truth = cases.truth(wire)
    if truth in (0, cases.ones):
        yield Constant(truth != 0)
        return
    yield _join_products(_cheapest_cover(_primes(cases, truth), truth), "or", "and")
    # The wire is 0 where one of these holds, so it is 1 where all of them fail.
    fails = _cheapest_cover(_primes(cases, truth ^ cases.ones), truth ^ cases.ones)
    negated = [
        product._replace(terms=tuple(Term(term.wire, not term.negated) for term in product.terms))
        for product in fails
    ]
    yield _join_products(negated, "and", "or")


def _join_products(products: list[_Product], outer: Word, inner: Word) -> Expression:
    return join(outer, [join(inner, list(product.terms)) for product in products])


def _primes(cases: Cases, truth: int) -> list[_Product]:
    """List the products that imply the truth, and of which no term can be left out."""
    false = truth ^ cases.ones
    found: list[_Product] = []
    # The two terms of each literal, with the cases in which they hold.
    pairs = [
        [(Term(wire, not is_true), cases.holding(wire, truth=is_true)) for is_true in (True, False)]
        for wire in cases.literals
    ]
    # Computed once for each term: a literal of thousands of categories has a long text.
    length_of = {term: len(_plain(cases.logic, term)) + 5 for pair in pairs for term, _ in pair}

    def is_prime(holdings: tuple[int, ...]) -> bool:
        for left_out in range(len(holdings)):
            rest = false
            for place, holding in enumerate(holdings):
                if place != left_out:
                    rest &= holding
            if not rest:
                return False
        return True

    def extend(place: int, terms: tuple[Term, ...], holdings: tuple[int, ...], held: int) -> None:
        if not held & false:
            if is_prime(holdings):
                length = sum(length_of[term] for term in terms)
                found.append(_Product(terms, held, _MENTION * len(terms) + length))
            return
        for next_place in range(place, len(pairs)):
            for term, holding in pairs[next_place]:
                narrowed = held & holding
                # A product that implies the truth holds in some case of it.
                if narrowed & truth and narrowed != held:
                    extend(next_place + 1, (*terms, term), (*holdings, holding), narrowed)

    extend(0, (), (), cases.ones)
    return found


def _cheapest_cover(products: list[_Product], truth: int) -> list[_Product]:
    """Choose products that together cover the truth, at the lowest cost.

    A depth-first branch-and-bound search that starts with the greedy solution.
    """
    best: list[_Product] = []
    best_cost = float("inf")
    steps = 0

    def search(chosen: list[_Product], cost: int, left: int) -> None:
        nonlocal best, best_cost, steps
        steps += 1
        if cost >= best_cost or (best and steps > _MOST_STEPS):
            return
        if not left:
            best, best_cost = chosen, cost
            return
        case = _rarest_case(products, left)
        ways = [product for product in products if product.cases >> case & 1]
        ways.sort(key=lambda way: (-(way.cases & left).bit_count() / way.cost, way.cost))
        for way in ways:
            search([*chosen, way], cost + way.cost, left & ~way.cases)

    search([], 0, truth)
    return sorted(best, key=lambda product: products.index(product))


def _rarest_case(products: list[_Product], left: int) -> int:
    """Find an uncovered case that few products cover, among the first 16."""
    lowest: list[int] = []
    while left and len(lowest) < 16:
        lowest.append((left & -left).bit_length() - 1)
        left &= left - 1
    return min(lowest, key=lambda case: sum(product.cases >> case & 1 for product in products))
