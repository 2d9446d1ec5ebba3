"""The rule table states what the circuit computes, counts rows correctly, and escapes its text."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln._util.colours import CLASS_COLOURS
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.labels import label_to_json
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.errors import OptionError, TableError
from dln.explain.explanation import explain_row
from dln.explain.expression import count_terms, factored
from dln.explain.rules import RuleTable, rule_table, score_card
from dln.explain.shortest import MOST_LITERALS, shortest
from tests.explain.test_rules_text import Reader, read_votes, renamed, without_probabilities
from tests.support.strategies import as_rows, circuits, law, logic_circuits, plain_votes, rows_for

AND, OR, XOR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"], GATE_BY_NAME["XOR"]


def two_classes(circuit: Circuit) -> Circuit:
    """Keep the votes of the first and the last class."""
    return replace(
        circuit,
        rules=tuple(Rule(wire, (votes[0], votes[-1])) for wire, votes in circuit.rules),
        base_votes=(circuit.base_votes[0], circuit.base_votes[-1]),
        classes=("no", "yes"),
        calibration=None,
    )


def logic(nodes: list[Node], literals: list[Any], *columns: Column) -> Circuit:
    """Make a circuit whose one rule is its last wire."""
    wire = len(literals) + len(nodes) - 1
    rules = (Rule(wire, (0, 1)),)
    return Circuit(columns, tuple(literals), tuple(nodes), rules, (0, 0), ("no", "yes"))


def rule_text(circuit: Circuit) -> str:
    return rule_table(circuit).rules[0].text


# -- votes ------------------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=circuits(max_literals=8))
def test_the_table_votes_like_the_circuit(data: st.DataObject, circuit: Circuit) -> None:
    circuit = renamed(circuit)
    rows = data.draw(rows_for(circuit))
    votes_of = read_votes(rule_table(circuit).to_text())
    names = [column.name for column in circuit.columns]
    shown = [votes_of(dict(zip(names, row, strict=True))) for row in rows]
    assert shown == plain_votes(circuit, rows).tolist()


@law
@given(circuit=logic_circuits(max_literals=4, max_gates=30))
def test_large_logic_votes_like_the_circuit_on_every_row(circuit: Circuit) -> None:
    n = len(circuit.columns)
    rows = [[bool(number >> bit & 1) for bit in range(n)] for number in range(2**n)]
    votes_of = read_votes(rule_table(circuit).to_text())
    names = [column.name for column in circuit.columns]
    shown = [votes_of(dict(zip(names, row, strict=True))) for row in rows]
    assert shown == plain_votes(circuit, rows).tolist()


@law
@given(data=st.data(), circuit=circuits())
def test_the_score_card_decides_like_the_circuit(data: st.DataObject, circuit: Circuit) -> None:
    circuit = two_classes(renamed(circuit))
    rows = data.draw(rows_for(circuit))
    text = without_probabilities(score_card(circuit).to_text())
    head, _, tail = text.partition("\nwhere\n")
    parts: dict[str, Any] = {}
    for line in tail.splitlines():
        name, _, rule = line.strip().partition(": ")
        parts[name] = rule
    tests = {name: Reader(rule, {}).read() for name, rule in parts.items() if "part" not in rule}
    assume(len(tests) == len(parts))
    (start, word), *points = [
        line.strip().split("  ", 1) for line in head.splitlines() if line.startswith("  ")
    ]
    assert word == "start"
    read = [(int(value), Reader(rule, tests).read()) for value, rule in points]
    names = [column.name for column in circuit.columns]
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        score = int(start) + sum(value * test(dict(cells)) for value, test in read)
        votes = plain_votes(circuit, [row])[0]
        assert score == votes[1] - votes[0]
        assert ("yes" if score > 0 else "no") == circuit.predict(as_rows(circuit, [row]))[0]


# -- the shortest form ------------------------------------------------------------------------


@law
@given(circuit=circuits(max_literals=MOST_LITERALS))
def test_no_rule_mentions_more_than_its_gates_do(circuit: Circuit) -> None:
    for rule in circuit.rules:
        written_out = count_terms(factored(circuit.logic, rule.wire, ()))
        assert count_terms(shortest(circuit.logic, rule.wire)) <= written_out


def test_tests_implied_by_another_test_are_left_out() -> None:
    age = Column("age", "integer")
    assert rule_text(logic([Node(AND, 0, 1)], [Above(0, 3.0), Above(0, 5.0)], age)) == "age > 5"
    assert rule_text(logic([Node(OR, 0, 1)], [Above(0, 3.2), Above(0, 3.7)], age)) == "age > 3.2"
    assert rule_text(logic([Node(AND, 0, 1)], [Above(0, 3.0), Missing(0)], age)) == "never"
    hue = Column("hue", "category", ("red", "blue"))
    never_both = logic([Node(GATE_BY_NAME["NAND"], 0, 1)], [Among(0, (0,)), Among(0, (1,))], hue)
    assert rule_text(never_both) == "always"


def test_two_level_forms_are_used_if_they_are_shorter() -> None:
    bits = [Column(name, "boolean") for name in "abc"]
    tests = [Above(place, 0.5) for place in range(3)]
    # a xor (a and b) is a and not b
    assert rule_text(logic([Node(AND, 0, 1), Node(XOR, 0, 3)], tests, *bits)) == "a and not b"
    # (a or b) and (a or c) has four literals, (b and c) or a three
    factors = [Node(OR, 0, 1), Node(OR, 0, 2), Node(AND, 3, 4)]
    assert rule_text(logic(factors, tests, *bits)) == "a or (b and c)"
    # (a and b) or (a and c) is a and (b or c): an "and" of "or"s
    products = [Node(AND, 0, 1), Node(AND, 0, 2), Node(OR, 3, 4)]
    assert rule_text(logic(products, tests, *bits)) == "a and (b or c)"


def test_an_xor_is_not_expanded() -> None:
    bits = [Column(name, "boolean") for name in "abc"]
    nodes = [Node(XOR, 0, 1), Node(XOR, 3, 2)]
    tests = [Above(place, 0.5) for place in range(3)]
    assert rule_text(logic(nodes, tests, *bits)) == "(a xor b) xor c"


def test_deep_gates_over_constants_are_written_in_short_time() -> None:
    nodes = [Node(GATE_BY_NAME["FALSE"], 0, 0), Node(GATE_BY_NAME["TRUE"], 0, 0)]
    nodes += [Node(GATE_BY_NAME["XOR"], wire - 2, wire - 1) for wire in range(3, 80)]
    x = (Column("x", "boolean"),), (Above(0, 0.5),)
    circuit = Circuit(*x, tuple(nodes), (Rule(79, (0, 1)),), (0, 0), ("no", "yes"))
    assert rule_table(circuit).rules[0].text == "never"


def test_a_long_rule_is_split_into_named_parts() -> None:
    bits = [Column(f"b{place}", "boolean") for place in range(30)]
    tests = [Above(place, 0.5) for place in range(30)]
    nodes = [Node(AND, 0, 1), *(Node(OR if n % 2 else AND, 29 + n, 1 + n) for n in range(1, 29))]
    table = rule_table(logic(nodes, tests, *bits))
    assert max(map(len, table.to_text().splitlines())) < 200
    assert [name for name, _ in table.parts] == [f"part{n + 1}" for n in range(len(table.parts))]
    assert dict(table.parts) == json.loads(table.to_json())["parts"]
    assert "part1" in table.to_html()
    assert "| part1 |" in table.to_markdown()


# -- statistics -------------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=circuits())
def test_statistics_are_those_of_the_rows(data: st.DataObject, circuit: Circuit) -> None:
    rows = data.draw(rows_for(circuit))
    assume(rows)
    target = np.array(
        data.draw(
            st.lists(st.integers(0, circuit.n_classes - 1), min_size=len(rows), max_size=len(rows))
        )
    )
    y = [circuit.classes[number] for number in target]
    table = rule_table(circuit, as_rows(circuit, rows), y)
    assert table.rows is not None
    assert table.rows.class_rows == tuple(np.bincount(target, minlength=circuit.n_classes))
    for rule, row in zip(circuit.rules, table.rules, strict=True):
        alone = replace(circuit, rules=(Rule(rule.wire, (1,)),), base_votes=(0,), classes=("c",))
        fires = plain_votes(alone, rows)[:, 0] == 1
        counts = np.bincount(target[fires], minlength=circuit.n_classes)
        assert row.votes == rule.votes
        assert row.support == fires.sum()
        assert row.share == fires.mean()
        assert row.class_counts == tuple(counts)
        assert row.precision is not None
        assert row.lift is not None
        for number in range(circuit.n_classes):
            if not fires.any():
                assert row.precision[number] is row.lift[number] is None
                continue
            assert row.precision[number] == (target[fires] == number).mean()
            prior = (target == number).mean()
            expected = None if prior == 0 else pytest.approx(row.precision[number] / prior)
            assert row.lift[number] == expected


def test_rows_without_classes_give_support_alone() -> None:
    circuit = logic([], [Above(0, 1.0)], Column("x", "number"))
    table = rule_table(circuit, [[0.5], [1.5], [None]])
    (rule,) = table.rules
    assert (rule.support, rule.share) == (1, 1 / 3)
    assert rule.precision is rule.lift is rule.class_counts is None
    assert table.to_text().splitlines()[-1] == "      1 of 3 rows (33.3 %)"
    assert table.to_markdown().splitlines()[-1] == "| +1 | x > 1 | 1 | 33.3 % |"


@pytest.mark.parametrize(
    "target",
    [
        ["a", "b", "b"],
        np.array(["a", "b", "b"]),
        pd.Series(["a", "b", "b"], dtype="category"),
        pl.Series(["a", "b", "b"]),
    ],
    ids=["list", "array", "pandas", "polars"],
)
def test_classes_may_come_in_any_form(target: Any) -> None:
    circuit = replace(logic([], [Above(0, 1.0)], Column("x", "number")), classes=("a", "b"))
    table = rule_table(circuit, [[0.5], [1.5], [2.0]], target)
    assert table.rules[0].class_counts == (0, 2)
    assert "2 of 3 rows (66.7 %), precision 100.0 %, lift 1.50; b: 2" in str(table)


def test_classes_that_are_dates_are_found() -> None:
    days = (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1))
    circuit = replace(logic([], [Above(0, 1.0)], Column("x", "number")), classes=days)
    y = np.array(days, dtype="datetime64[ns]")
    assert rule_table(circuit, [[0.5], [1.5]], y).rules[0].class_counts == (0, 1)


def test_statistics_do_not_change_the_rules() -> None:
    circuit = logic([], [Above(0, 1.0)], Column("x", "number"))
    with_rows = rule_table(circuit, [[0.5], [0.7]], ["no", "yes"])
    assert "      fires in none of 2 rows" in with_rows.to_text().splitlines()
    plain = [line for line in with_rows.to_text().splitlines() if not line.startswith(" " * 6)]
    assert plain == rule_table(circuit).to_text().splitlines()


# -- formats ----------------------------------------------------------------------------------


def test_a_card_reads_well() -> None:
    circuit = Circuit(
        columns=(Column("age", "integer"), Column("smoker", "boolean")),
        literals=(Above(0, 54.0), Above(1, 0.5), Above(0, 30.0)),
        nodes=(),
        rules=(Rule(2, (1, 1)), Rule(0, (0, 1)), Rule(1, (2, 0))),
        base_votes=(0, 1),
        classes=("healthy", "ill"),
    )
    assert str(score_card(circuit)).splitlines() == [
        "Add up the points of the rules that hold. Above 0: ill; below 0: healthy; "
        "a tie at 0 goes to healthy.",
        "  +1  start",
        "  -2  smoker",
        "  +1  age > 54",
    ]
    assert score_card(circuit, [[60, True], [20, True]]).to_markdown().splitlines()[-3:] == [
        "| +1 | start |  |",
        "| -2 | smoker | 100.0 % |",
        "| +1 | age > 54 | 50.0 % |",
    ]


class Tags(HTMLParser):
    """Collects tags and text; refuses scripts, links and other active content."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td")
        assert {name for name, _ in attrs} <= {"class", "scope"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


NASTY = "<script>alert(1)</script>|`*_x_*`"
EVIL = '"><img src=x onerror=alert(2)>'


def nasty() -> Circuit:
    return Circuit(
        columns=(Column(NASTY, "category", (EVIL, "fine")), Column(EVIL, "number")),
        literals=(Among(0, (0,)), Above(1, 0.5)),
        nodes=(),
        rules=(Rule(0, (1, 0)), Rule(1, (0, 2))),
        base_votes=(1, 0),
        classes=("<b>|no</b>", "&lt;yes"),
    )


def test_html_in_names_categories_and_classes_is_escaped() -> None:
    circuit = nasty()
    table = rule_table(circuit, [[EVIL, 1.0]], ["&lt;yes"])
    explanation = explain_row(circuit, [EVIL, 1.0])
    for shown in (table, table.score_card(), explanation):
        assert_is_styled(shown)
        texts = "\n".join(Tags(shown.to_html()).texts)
        assert "<script>alert(1)</script>" in texts
        assert EVIL in texts
    for marked in (table.to_markdown(), table.score_card().to_markdown()):
        assert_is_markdown(marked)
        assert r"\|\`\*\_x\_\*\`" in marked


def assert_is_styled(shown: Any) -> None:
    """Check that a notebook gets the fragment with a style that loads nothing."""
    style, fragment = shown._repr_html_().split("</style>\n")
    assert fragment == shown.to_html()
    assert style.startswith("<style>\n.dln-sheet")
    assert not re.search(r"url\(|@import|https?:", style)
    for selector in re.findall(r"^(.*?) \{", style, re.MULTILINE):
        parts = re.sub(r":is\(.*?\)", "", selector).split(",")
        assert all(".dln-sheet" in part for part in parts), selector


def test_a_circuit_is_styled_in_notebooks_and_its_classes_have_their_colours() -> None:
    circuit = nasty()
    assert circuit._repr_html_() == rule_table(circuit)._repr_html_()
    assert '<caption class="class-1">' in circuit._repr_html_()
    for number, colour in enumerate(CLASS_COLOURS):
        assert f".class-{number} {{ --dln-class: {colour} }}" in circuit._repr_html_()


@law
@given(data=st.data(), circuit=circuits())
def test_every_format_is_well_formed(data: st.DataObject, circuit: Circuit) -> None:
    rows = data.draw(rows_for(circuit, max_rows=3))
    table = rule_table(circuit, as_rows(circuit, rows) if rows else None)
    cards = [table.score_card()] if circuit.n_classes == 2 else []
    for shown in (table, *cards):
        Tags(shown.to_html())
        assert_is_markdown(shown.to_markdown())
        read = json.loads(shown.to_json(), parse_constant=pytest.fail)
        assert read == shown.to_dict()
    assert_matches_schema(table, circuit)


def assert_is_markdown(text: str) -> None:
    """Check that every line of a table has the same number of cells as its header."""
    n_pipes = 0
    for line in text.splitlines():
        if not line.startswith("| "):
            n_pipes = 0
            continue
        found = re.sub(r"\\.", "", line).count("|")
        assert n_pipes in (0, found)
        n_pipes = found
    assert "<" not in text


def assert_matches_schema(table: RuleTable, circuit: Circuit) -> None:
    read = table.to_dict()
    assert (read["format"], read["version"]) == ("dln-rules", 1)
    assert read["classes"] == [label_to_json(label) for label in circuit.classes]
    assert [rule["votes"] for rule in read["rules"]] == [list(rule.votes) for rule in circuit.rules]
    assert (read["score_card"] is not None) == (circuit.n_classes == 2)


# -- errors -----------------------------------------------------------------------------------


def test_errors_are_one_line() -> None:
    circuit = logic([], [Above(0, 1.0)], Column("x", "number"))
    with pytest.raises(OptionError, match="y is given without X"):
        rule_table(circuit, y=["no"])
    with pytest.raises(TableError, match="the target holds 'maybe', but the circuit's classes are"):
        rule_table(circuit, [[1.0]], ["maybe"])
    with pytest.raises(TableError, match="the table has 1 rows, but the target has 2"):
        rule_table(circuit, [[1.0]], ["no", "yes"])
    with pytest.raises(TableError, match="the target is missing in row 1; drop such rows"):
        rule_table(circuit, [[1.0], [2.0]], ["no", None])
    with pytest.raises(TableError, match="the table has 0 rows; at least one is needed"):
        rule_table(circuit, np.empty((0, 1)))
    three = replace(circuit, rules=(), base_votes=(0, 0, 0), classes=(1, 2, 3))
    with pytest.raises(OptionError, match="a score card needs 2 classes, the circuit has 3"):
        score_card(three)
