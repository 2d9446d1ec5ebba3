"""The printed rules state exactly what the circuit computes: they are parsed and evaluated."""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, GATES, Gate
from dln.core.literals import Above, Among, Category, Column, format_text
from dln.core.parts import Node, Rule
from dln.explain.expression import CategoryTest, Chain, Expression, Term, factored, merge_categories
from tests.support.strategies import circuits, law, logic_circuits, plain_votes, rows_for

Row = dict[Any, Any]
Holds = Callable[[Row], bool]


# -- a parser of the printed text -------------------------------------------------------------

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_TOKEN = re.compile(
    rf"\s*(?:(?P<quoted>{_QUOTED})"
    r"|(?P<sign><=|<|>|!=|=|[(){},])"
    r"|(?P<number>[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf)(?![\w.-])(?: s since 1970)?)"
    r"|(?P<date>\d{4}-\d\d-\d\d(?:T[\d:.]+)?)"
    r"|(?P<word>\w+))"
)


class Reader:
    """A recursive-descent parser of one rule, for names that are single words or quoted."""

    def __init__(self, text: str, parts: dict[str, Holds]) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            assert match, text[place:]
            self.tokens.append((str(match.lastgroup), match[match.lastgroup or 0]))
            place = match.end()
        self.parts = parts

    def next_is(self, *words: str) -> bool:
        return bool(self.tokens) and self.tokens[0] in [("word", w) for w in words] + [
            ("sign", w) for w in words
        ]

    def take(self, *words: str) -> bool:
        if self.next_is(*words):
            self.tokens.pop(0)
            return True
        return False

    def read(self) -> Holds:
        test = self.chain()
        assert not self.tokens, self.tokens
        return test

    def chain(self) -> Holds:
        """Read terms joined by one word: mixed words would be ambiguous without parentheses."""
        terms, words = [self.term()], set()
        while self.next_is("and", "or", "xor"):
            words.add(self.tokens.pop(0)[1])
            terms.append(self.term())
        assert len(words) <= 1, words
        if words == {"or"}:
            return lambda row: any(term(row) for term in terms)
        if words == {"xor"}:
            return lambda row: sum(term(row) for term in terms) % 2 == 1
        return lambda row: all(term(row) for term in terms)

    def term(self) -> Holds:
        if self.take("("):
            inner = self.chain()
            assert self.take(")")
            return inner
        if self.take("not"):
            opposite = self.term()
            return lambda row: not opposite(row)
        if self.take("always"):
            return lambda row: True
        if self.take("never"):
            return lambda row: False
        if self.tokens[0][0] in ("number", "date"):
            return self.interval()
        return self.test_of(self.name())

    def interval(self) -> Holds:
        """Read `low < x <= high`; a missing value is in no interval."""
        low = self.value()
        assert self.take("<")
        column = self.name()[1]
        assert self.take("<=")
        high = self.value()
        return lambda row: is_above(row[column], low) and not is_above(row[column], high)

    def name(self) -> tuple[str, str]:
        kind, text = self.tokens.pop(0)
        assert kind in ("word", "quoted"), (kind, text)
        return kind, ast.literal_eval(text) if kind == "quoted" else text

    def test_of(self, name: tuple[str, str]) -> Holds:
        column = name[1]
        if name[0] == "word" and column in self.parts:
            return lambda row: self.parts[column](row)
        if self.take("is"):
            negated = self.take("not")
            assert self.take("missing")
            return lambda row: is_missing(row[column]) != negated
        if self.take(">"):
            cutoff = self.value()
            return lambda row: is_above(row[column], cutoff)
        if self.take("<="):
            cutoff = self.value()
            return lambda row: not is_above(row[column], cutoff)
        if self.next_is("=", "!="):
            negated = self.tokens.pop(0)[1] == "!="
            value = self.value()
            return lambda row: (row[column] == value) != negated
        if self.next_is("in", "not"):
            negated = self.take("not")
            assert self.take("in")
            values = self.values()
            return lambda row: (row[column] in values) != negated
        return lambda row: row[column] is True

    def values(self) -> list[Any]:
        assert self.take("{")
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        assert self.take("}")
        return values

    def value(self) -> Any:
        kind, text = self.tokens.pop(0)
        if kind == "quoted":
            return ast.literal_eval(text)
        if kind == "number":
            text = text.removesuffix(" s since 1970")
            return float(text) if not re.fullmatch(r"-?\d+", text) else int(text)
        if kind == "date":
            moment = datetime.datetime.fromisoformat(text)
            return (moment - datetime.datetime(1970, 1, 1)).total_seconds()
        return {"True": True, "False": False}.get(text, text)


def is_missing(cell: Any) -> bool:
    return cell is None or cell != cell


def is_above(cell: Any, cutoff: float) -> bool:
    if isinstance(cell, datetime.datetime):
        cell = (cell - datetime.datetime(1970, 1, 1)).total_seconds()
    return not is_missing(cell) and float(cell) > cutoff


def _kept(name: str, test: Holds) -> Holds:
    """Evaluate a named part only once for each row."""

    def kept(row: Row) -> bool:
        if ("part", name) not in row:
            row["part", name] = test(row)
        return bool(row["part", name])

    return kept


def without_probabilities(text: str) -> str:
    """Leave out the table of probabilities at the end."""
    return re.split(r"\n(?=(?:Probability|Weight) of [^\n]*\(linear in between)", text)[0]


def read_votes(text: str) -> Callable[[Row], list[int]]:
    """Parse printed rules; return a function that counts the votes of a row."""
    head, _, tail = without_probabilities(text).partition("\nwhere\n")
    rules = [line.strip().partition(": ") for line in tail.splitlines()]
    names = [name for name, _, _ in rules]
    assert len(set(names)) == len(names)
    parts: dict[str, Holds] = dict.fromkeys(names, bool)
    for name, _, rule in rules:
        parts[name] = _kept(name, Reader(rule, parts).read())
    votes: list[list[tuple[int, Holds]]] = []
    first, *lines = head.splitlines()
    assert first.startswith("Most votes win; a tie goes to ")
    if lines and lines[0].startswith("Missing values fail `>`"):
        lines.pop(0)
    for line in lines:
        if line.startswith("  "):
            weight, rule = line.strip().split("  ", 1)
            votes[-1].append((int(weight), Reader(rule, parts).read()))
        else:
            assert line.endswith((":", ": no votes"))
            votes.append([])
    return lambda row: [sum(weight * test(row) for weight, test in rules) for rules in votes]


# -- laws -------------------------------------------------------------------------------------


def readable(category: Category, index: int) -> Category:
    """Keep categories that the parser supports: numbers, single words and quoted text."""
    if not isinstance(category, str) or format_text(category) != category:
        return category
    return category if re.fullmatch(r"\w+", category) else f"word{index}"


def renamed(circuit: Circuit) -> Circuit:
    """Rename columns, categories and classes to names that the parser supports."""
    columns = tuple(
        Column(
            f"{column.kind}{index}",
            column.kind,
            tuple(readable(category, place) for place, category in enumerate(column.categories)),
            column.binary,
        )
        for index, column in enumerate(circuit.columns)
    )
    state = circuit.__getstate__()
    classes = tuple(f"class{index}" for index in range(circuit.n_classes))
    return Circuit(**state | {"columns": columns, "classes": classes})


def assert_text_votes_like_the_circuit(circuit: Circuit, rows: list[list[Any]]) -> None:
    votes_of = read_votes(str(circuit))
    names = [column.name for column in circuit.columns]
    shown = [votes_of(dict(zip(names, row, strict=True))) for row in rows]
    assert shown == plain_votes(circuit, rows).tolist()


@law
@given(data=st.data(), circuit=circuits())
def test_the_text_votes_like_the_circuit(data: st.DataObject, circuit: Circuit) -> None:
    circuit = renamed(circuit)
    assert_text_votes_like_the_circuit(circuit, data.draw(rows_for(circuit)))


@law
@given(data=st.data(), circuit=circuits(kinds=("integer", "number")))
def test_the_text_of_columns_of_0_and_1_votes_like_the_circuit(
    data: st.DataObject, circuit: Circuit
) -> None:
    columns = tuple(replace(column, binary=True) for column in circuit.columns)
    cutoffs = st.sampled_from([0.0, 0.5, 0.25, -1.0, 1.0])
    literals = tuple(
        Above(literal.column, data.draw(cutoffs)) if isinstance(literal, Above) else literal
        for literal in circuit.literals
    )
    circuit = renamed(replace(circuit, columns=columns, literals=literals))
    assert_text_votes_like_the_circuit(circuit, data.draw(rows_for(circuit)))


@law
@given(data=st.data(), circuit=circuits(kinds=("category",), max_columns=2, max_literals=8))
def test_the_text_of_categories_votes_like_the_circuit(
    data: st.DataObject, circuit: Circuit
) -> None:
    circuit = renamed(circuit)
    assert_text_votes_like_the_circuit(circuit, data.draw(rows_for(circuit)))
    for wire in range(circuit.n_wires):
        assert_categories_are_merged(
            circuit, merge_categories(circuit.logic, factored(circuit.logic, wire, ()))
        )


def assert_categories_are_merged(circuit: Circuit, expression: Expression) -> None:
    """Check that no "or" has two tests "in" of one column, and no "and" two tests "not in"."""
    if not isinstance(expression, Chain):
        return
    tested = []
    for part in expression.parts:
        if isinstance(part, (Term, CategoryTest)) and part.negated == (expression.word == "and"):
            literal = (
                part.literal if isinstance(part, CategoryTest) else circuit.literals[part.wire]
            )
            tested += [literal.column] if isinstance(literal, Among) else []
        assert_categories_are_merged(circuit, part)
    assert expression.word == "xor" or len(set(tested)) == len(tested)


@law
@given(circuit=logic_circuits(max_literals=4, max_gates=30))
def test_the_text_of_large_logic_votes_like_the_circuit_on_every_row(circuit: Circuit) -> None:
    n = len(circuit.columns)
    rows = [[bool(number >> bit & 1) for bit in range(n)] for number in range(2**n)]
    assert_text_votes_like_the_circuit(circuit, rows)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_the_text_of_every_gate_is_what_it_computes(gate: Gate) -> None:
    circuit = _logic([Node(gate, 0, 1), Node(gate, 2, 0)], [Rule(3, (0, 1))])
    rows = [[a, b] for a in (True, False) for b in (True, False)]
    assert_text_votes_like_the_circuit(circuit, rows)


def test_shared_parts_get_names_that_no_column_has() -> None:
    nodes = [Node(GATE_BY_NAME["XOR"], 0, 1)]
    nodes += [Node(GATE_BY_NAME["XOR"], wire, wire % 2) for wire in range(2, 40)]
    rules = [Rule(wire, (0, 1)) for wire in range(20, 40)]
    names = tuple(Column(name, "boolean") for name in ("part1", "part3"))
    circuit = Circuit(**_logic(nodes, rules).__getstate__() | {"columns": names})
    text = str(circuit)
    defined = re.findall(r"^  (part\d+): ", text, re.MULTILINE)
    assert len(set(defined)) == len(defined) > 5
    assert not {"part1", "part3"} & set(defined)
    assert_text_votes_like_the_circuit(circuit, [[True, False], [True, True], [False, False]])


def test_equal_words_are_chained_and_different_words_get_parentheses() -> None:
    def shown(*words: str) -> str:
        nodes = [Node(GATE_BY_NAME[word], wire, wire % 2) for wire, word in enumerate(words, 1)]
        return str(_logic(nodes, [Rule(len(words) + 1, (0, 1))])).splitlines()[-1].strip()

    assert shown("NOT_A_AND_B", "AND") == "+1  not y and y and x"
    assert shown("XOR", "OR", "OR") == "+1  (y xor y) or x or y"
    assert shown("XOR", "XOR") == "+1  (y xor y) xor x"  # a chain could mean "exactly one"


def test_a_term_is_written_once_in_a_chain() -> None:
    nodes = [Node(GATE_BY_NAME["AND"], 0, 1), Node(GATE_BY_NAME["AND"], 0, 2)]
    assert str(_logic(nodes, [Rule(3, (0, 1))])).splitlines()[-1] == "  +1  x and y"
    nodes = [Node(GATE_BY_NAME["OR"], 0, 0), Node(GATE_BY_NAME["NAND"], 2, 1)]
    assert str(_logic(nodes, [Rule(3, (0, 1))])).splitlines()[-1] == "  +1  not x or not y"


def test_the_length_of_lines_does_not_grow_with_the_circuit() -> None:
    nodes = [Node(GATE_BY_NAME["AND"], wire - 1, wire % 2) for wire in range(2, 400)]
    text = str(_logic(nodes, [Rule(399, (0, 1))]))
    assert max(map(len, text.splitlines())) < 200


def test_long_lists_of_categories_are_written_in_full_on_a_separate_line() -> None:
    cities = tuple(f"city{index}" for index in range(30))
    circuit = Circuit(
        columns=(Column("city", "category", cities), Column("age", "number")),
        literals=(Among(0, tuple(range(20))), Above(1, 3.0)),
        nodes=(Node(GATE_BY_NAME["A_AND_NOT_B"], 1, 0),),
        rules=(Rule(2, (1,)),),
        base_votes=(0,),
        classes=("a",),
    )
    lines = str(circuit).splitlines()
    assert lines[2:4] == ["  +1  age > 3 and not part1", "where"]
    assert lines[4] == f"  part1: city in {{{', '.join(cities[:20])}}}"
    assert_text_votes_like_the_circuit(circuit, [["city3", 4.0], ["city25", 4.0], [None, 4.0]])


def _logic(nodes: list[Node], rules: list[Rule]) -> Circuit:
    return Circuit(
        columns=(Column("x", "boolean"), Column("y", "boolean")),
        literals=(Above(0, 0.5), Above(1, 0.5)),
        nodes=tuple(nodes),
        rules=tuple(rules),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )
