"""Every text that a circuit prints is read as the same circuit."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.logic import Logic
from dln.core.parts import Node, Rule
from dln.core.score import Link, Score
from dln.errors import RuleTextError
from tests.support.strategies import (
    as_objects,
    circuits,
    every_row,
    law,
    logic_circuits,
    plain_votes,
    rows_for,
    score_circuits,
)

AGE = Column("age", "integer")
SMOKER = Column("smoker", "boolean")
HUE = Column("hue", "category", ("blue", "dark green", "7", 7, "a, b"))
DAY = Column("day", "date")
DOSE = Column("dose (mg)", "number")
COLUMNS = (AGE, SMOKER, HUE, DAY, DOSE)


SUM = "price is 12.5 plus what the rules add."


def read(text: str, *columns: Column) -> Circuit:
    return Circuit.from_rules(text, columns=columns or COLUMNS)


def condition(text: str) -> Circuit:
    """Read a condition as the only rule of class "yes"."""
    return read(f"no: no votes\nyes:\n  +1  {text}")


# -- what circuits print ----------------------------------------------------------------------


@law
@given(circuits(), st.data())
def test_what_a_circuit_prints_is_read_as_the_same_votes(
    circuit: Circuit, data: st.DataObject
) -> None:
    rows = data.draw(rows_for(circuit))
    expected = plain_votes(circuit, rows)
    for text in (str(circuit), dln.rule_table(circuit).to_text()):
        back = (
            read(text, *circuit.columns)
            if circuit.columns
            else Circuit.from_rules(text, columns=())
        )
        assert [*map(type, back.classes)] == [*map(type, circuit.classes)]
        assert back.classes == circuit.classes
        np.testing.assert_array_equal(plain_votes(back, rows), expected)


@law
@given(score_circuits(), st.data())
def test_what_a_number_circuit_prints_is_read_as_the_same_number(
    circuit: Circuit, data: st.DataObject
) -> None:
    score = circuit.number_readout
    rows = data.draw(rows_for(circuit))
    table = as_objects(circuit, rows)
    texts = [str(circuit), dln.rule_table(circuit).to_text()]
    if rows:
        texts.append(dln.rule_table(circuit, table, [1.0] * len(rows)).to_text())
    for text in texts:
        back = Circuit.from_rules(text, columns=circuit.columns)
        own = back.number_readout
        assert (own.name, own.link) == (score.name, score.link)
        points, expected = plain_votes(back, rows), plain_votes(circuit, rows)
        assert [own.decimal(int(one)) for (one,) in points] == [
            score.decimal(int(one)) for (one,) in expected
        ]
        np.testing.assert_array_equal(back.predict(table), circuit.predict(table))


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("a is exp(2 plus what the rules add)", "identity"),
        ("x is 1 plus what the rules add. y", "log"),
        ("z is 1 / (1 + exp(-s)), where s", "identity"),
        ("is", "logit"),
        ("", "log"),
        ("(unnamed)", "identity"),
        ("where", "identity"),
        ("# 1", "logit"),
        ("Most votes win;", "identity"),
        ("Missing values fail ", "identity"),
        ("Missing values fail a", "identity"),
        ("Satisfied by every rule: a", "log"),
    ],
)
def test_the_name_of_a_number_is_read_back(name: str, link: Link) -> None:
    score = Score((Rule(0, (3,)),), (-25,), 1, link, name)
    circuit = Circuit(logic=Logic((AGE,), (Above(0, 1.0),), ()), readout=score)
    assert read(str(circuit), AGE) == circuit


def test_the_note_on_constraints_is_skipped() -> None:
    for text in (
        "no: no votes\nyes:\n  +1  age > 54",
        "y is 1 plus what the rules add.\n  +2  age > 54",
    ):
        circuit = read(text)
        kept = replace(circuit, constraints=dln.Constraints(max_columns_per_rule=1))
        assert "Satisfied by every rule" in str(kept)
        assert read(str(kept)) == circuit


TESTS = (
    "age > 54",
    "smoker",
    "hue = blue",
    "day > 1970-01-02",
    "dose (mg) > 0.5",
    "hue is missing",
)
FLAT = st.builds(
    lambda word, tests, negated: f" {word} ".join(
        f"not ({test})" if test in negated else test for test in tests
    ),
    st.sampled_from(["and", "or"]),
    st.lists(st.sampled_from(TESTS), min_size=1, max_size=4, unique=True).map(sorted),
    st.sets(st.sampled_from(TESTS)),
)


def _words(circuit: Circuit) -> list[list[str]]:
    """List the words of every line, in any order: the order within a rule has no meaning."""
    return sorted(sorted(line.split()) for line in str(circuit).splitlines())


@law
@given(st.lists(st.tuples(FLAT, st.integers(1, 9)), max_size=5), st.integers(0, 3))
def test_a_text_that_determines_the_circuit_gives_it_back(
    rules: list[tuple[str, int]], base: int
) -> None:
    lines = [f"  +{votes}  {text}" for text, votes in rules]
    circuit = read("\n".join(["no:", f"  +{base} always", "yes:", *lines]))
    assert circuit.base_votes == (base, 0)
    back = read(str(circuit))
    assert _words(back) == _words(circuit)
    assert sorted(back.literals, key=str) == sorted(circuit.literals, key=str)
    assert back.n_gates == circuit.n_gates
    assert back.base_votes == circuit.base_votes
    assert sorted(rule.votes for rule in back.rules) == sorted(r.votes for r in circuit.rules)


@law
@given(logic_circuits())
def test_reading_keeps_every_vote_on_every_row(circuit: Circuit) -> None:
    back = Circuit.from_rules(str(circuit), columns=circuit.columns)
    rows = every_row(circuit)
    np.testing.assert_array_equal(back.votes(rows), circuit.votes(rows))


@law
@given(circuits(), st.data())
def test_statistics_in_the_text_are_skipped(circuit: Circuit, data: st.DataObject) -> None:
    rows = data.draw(rows_for(circuit))
    assume(rows)
    table = as_objects(circuit, rows)
    target = [circuit.classes[0]] * len(rows)
    text = dln.rule_table(circuit, table, target).to_text()
    back = Circuit.from_rules(text, columns=circuit.columns)
    np.testing.assert_array_equal(plain_votes(back, rows), plain_votes(circuit, rows))


def test_a_long_chain_of_parts_is_read() -> None:
    n = 3000
    nodes = [Node(GATE_BY_NAME["XOR"], 0, 1)]
    nodes += [Node(GATE_BY_NAME["XOR" if i % 2 else "AND"], 2 + i - 1, i % 2) for i in range(1, n)]
    columns = (Column("x", "boolean"), Column("y", "boolean"))
    chain = Circuit(
        columns, (Above(0, 0.5), Above(1, 0.5)), nodes, (Rule(n + 1, (0, 1)),), (0, 0), (0, 1)
    )
    back = Circuit.from_rules(str(chain), columns=columns)
    np.testing.assert_array_equal(back.votes(every_row(chain)), chain.votes(every_row(chain)))


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("cutoff", [0.0, 0.5, 0.99])
def test_binary_columns_print_what_they_compute(kind: str, cutoff: float) -> None:
    column = Column("sex", kind, binary=True)  # type: ignore[arg-type]
    circuit = Circuit((column,), (Above(0, cutoff),), (), (Rule(0, (0, 1)),), (0, 0), (0, 1))
    back = Circuit.from_rules(str(circuit), columns=(column,))
    values = [0, 1, 2, None] if kind == "integer" else [0.0, 0.3, 0.7, 1.0, None]
    rows = [[value] for value in values]
    np.testing.assert_array_equal(plain_votes(back, rows), plain_votes(circuit, rows))


@pytest.mark.parametrize(
    "label",
    ["2020-01-02", datetime.date(2020, 1, 2), "# x", "where", "a: no votes", "x:", "7", "True"],
)
def test_labels_keep_their_type(label: object) -> None:
    circuit = Circuit((AGE,), (Above(0, 1.0),), (), (Rule(0, (0, 1)),), (0, 0), ("no", label))  # type: ignore[arg-type]
    back = Circuit.from_rules(str(circuit), columns=(AGE,))
    assert back == circuit
    empty = replace(circuit, rules=())
    assert Circuit.from_rules(str(empty), columns=(AGE,)).classes == empty.classes


# -- what people write ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age > 54", Above(0, 54.0)),
        ("age >= 55", Above(0, 54.0)),
        ("age >= 54.5", Above(0, 54.0)),
        ("age>54", Above(0, 54.0)),
        ("smoker", Above(1, 0.5)),
        ("smoker = 1", Above(1, 0.5)),
        ("smoker = true", Above(1, 0.5)),
        ("hue = blue", Among(2, (0,))),
        ("hue = 'blue'", Among(2, (0,))),
        ("hue = 7", Among(2, (3,))),
        ("hue = '7'", Among(2, (2,))),
        ("hue in {blue, dark green, 'a, b'}", Among(2, (0, 1, 4))),
        ("hue is missing", Missing(2)),
        ("day > 1970-01-02", Above(3, 86400.0)),
        ("day > 1970-01-02T00:00:01", Above(3, 86401.0)),
        ("day > 1970-01-02 00:00:01", Above(3, 86401.0)),
        ("day > 86400.0 s since 1970", Above(3, 86400.0)),
        ("dose (mg) > 1e-3", Above(4, 0.001)),
        ("'dose (mg)' > .5", Above(4, 0.5)),
        ("(dose (mg) > 0.5)", Above(4, 0.5)),
    ],
)
def test_one_test(text: str, expected: object) -> None:
    assert condition(text).literals == (expected,)
    assert condition(text).rules == (Rule(0, (0, 1)),)
    opposite = condition(f"not {text}")
    assert (opposite.literals, opposite.n_gates) == ((expected,), 1)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("age < 55", "age <= 54"),
        ("age = 55", "age > 54 and age <= 55"),
        ("age != 55", "age <= 54 or age > 55"),
        ("54 < age <= 60", "age > 54 and age <= 60"),
        ("54 <= age < 60", "age > 53 and age <= 59"),
        ("1970-01-02 < day <= 1970-01-05", "day > 1970-01-02 and day <= 1970-01-05"),
        ("hue not in {blue, 7}", "not hue in {blue, 7}"),
        ("hue != blue", "not (hue = blue)"),
        ("not (age > 54 and smoker)", "age <= 54 or not smoker"),
        ("not not smoker", "smoker"),
        ("smoker and always", "smoker"),
        ("smoker or never", "smoker"),
        ("age is not missing", "not age is missing"),
    ],
)
def test_two_ways_to_say_the_same(text: str, same: str) -> None:
    assert dln.prove_equal(condition(text), condition(same))


def test_comments_blank_lines_and_given_classes() -> None:
    text = """
    # by the ward, 2024

ill:

  # smokers
  +2 smoker and part_a
where
  part_a: age > 3 or part_b
  part_b: hue = blue
"""
    text = text.replace("    # by", "# by")
    circuit = Circuit.from_rules(text, columns=COLUMNS, classes=("healthy", "ill"))
    assert circuit.classes == ("healthy", "ill")
    assert "+2  smoker and (hue = blue or age > 3)" in str(circuit)
    numbers = Circuit.from_rules("1:\n  +1  smoker", columns=COLUMNS, classes=("0", "1"))
    assert numbers.classes == ("0", "1")


# -- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("agee > 5", "there is no column 'agee'; did you mean 'age'?", 1),
        ("smoker and agee > 5", "there is no column 'agee'", 12),
        ("agee < 5", "there is no column 'agee'", 1),
        ("5 < agee <= 7", "there is no column 'agee'", 5),
        ("5 < age", "a second bound", 8),
        ("5 < smoker and age > 3", "a second bound", 12),
        ("x < hue <= 7", "there is no column 'x'", 1),
        ("age > ", "expected a number for 'age', nothing follows", 7),
        ("age > old", "expected a number for 'age', found 'old'", 7),
        ("age > 1e999", "expected a number", 7),
        ("age = 2.5", "holds integers and never equals 2.5", 7),
        ("dose (mg) >= -1.7976931348623157e308", "no number is below", 14),
        ("day > yesterday", "expected a date such as 2024-05-31", 7),
        ("day > 2024-05-31T00:00:00+02:00", "expected a date", 7),
        ("day > 1e999 s since 1970", "expected a date", 7),
        ("age", "column 'age' is of kind 'integer' and is not true or false by itself", 1),
        ("hue", "compare it, such as hue = …", 1),
        ("hue > blue", "compared with =, != or in", 7),
        ("hue = blu", "no category 'blu'; did you mean 'blue'?", 7),
        ("hue = xyz", "no category 'xyz'; its categories are: blue", 7),
        ("hue in {blue, gren}", "no category 'gren'", 15),
        ("hue in {blue", "expected , or }", 13),
        ("hue in {}", "expected a category of 'hue'", 9),
        ("age in {1}", "in {…} is for categories", 8),
        ("smoker and age > 3 or hue = blue", "are mixed; add parentheses", 20),
        ("smoker xor smoker xor smoker", '"xor" joins two conditions', 19),
        ("(smoker and age > 3", "is not closed", 1),
        ("smoker)", "expected and, or, xor or the end", 7),
        ("smoker and", "expected a column or a condition", 11),
        ("hue = 'blue", "the quote is not closed", 7),
        (r"hue = '\x'", "backslash", 7),
        ("", "expected a column or a condition", 1),
        ("(" * 101 + "smoker" + ")" * 101, "more than 100 parentheses", 101),
    ],
)
def test_a_mistake_is_marked_in_the_line_below(text: str, message: str, place: int) -> None:
    before = "  +1  "
    with pytest.raises(RuleTextError) as caught:
        condition(text)
    said, shown, mark = str(caught.value).split("\n")
    assert message in said
    assert (caught.value.line, caught.value.column) == (3, len(before) + place)
    assert said.startswith(f"line 3, column {len(before) + place}: ")
    assert mark.strip() == "^"
    assert shown[mark.index("^") :].startswith(text[place - 1 :][:10].rstrip())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text has no class"),
        ("  +1  smoker", "a rule comes before the first class"),
        ("ill\n  +1  smoker", "expected a class followed by a colon"),
        ("ill:\n  smoker", "expected the votes of the rule"),
        ("ill:\n  +1.5  smoker", "expected the votes of the rule"),
        ("ill:\nill:", "class ill occurs twice"),
        (":", "expected a class before the colon"),
        ("'ill' x:", "expected a colon after the class"),
        ("ill:\nwhere\n  smoker", "expected the name of a part"),
        ("ill:\nwhere\n  age: smoker", "has the name of a column"),
        ("ill:\nwhere\n  a: smoker\n  a: smoker", "part 'a' is defined twice"),
        ("ill:\n  +1  b\nwhere\n  a: b\n  b: not a", "part 'a' is defined by itself"),
        ("ill:\n  +1  c\nwhere\n  a: smoker", "there is no column 'c'"),
        (f"{SUM}\n  smoker", "expected what the rule adds, such as +3.2"),
        (f"{SUM}\n  +1 (× 2)  smoker", "there is no column '× 2'"),
        (f"{SUM}\n{SUM}", "states twice what the rules are for"),
        (f"ill:\n{SUM}", "states twice what the rules are for"),
        (f"{SUM}\nill:", "a class among the rules of a number"),
        (f"{SUM}\n  +3000000000  smoker\n  +1  age > 3", "the rules cannot be added up: "),
        (f"{SUM}\n  +0.{'1' * 25}  smoker", "the rules cannot be added up: "),
        (SUM.replace("12.5", "4000000001"), "the rules cannot be added up: "),
        (SUM.replace("12.5", "much"), "expected a class followed by a colon"),
    ],
)
def test_a_mistake_in_the_layout_is_marked(text: str, message: str) -> None:
    with pytest.raises(RuleTextError) as caught:
        read(text)
    assert message in str(caught.value).split("\n")[0]
    assert_marked(caught.value, text)


def assert_marked(error: RuleTextError, text: str) -> None:
    """The message is one line; then come the line of the text, and ^ below the place."""
    _, *marked = str(error).split("\n")
    if error.line is None:
        assert not marked
        return
    assert error.column is not None
    shown, mark = marked
    assert mark.strip() == "^"
    line = text.split("\n")[error.line - 1]
    own = "".join(" " if letter.isspace() else letter for letter in line[error.column - 1 :])
    assert shown[mark.index("^") :].rstrip("…") in (own.rstrip(), own[:30])


def test_a_class_that_is_not_among_the_given_ones() -> None:
    for text in ("il:", "ill:\nill:"):
        with pytest.raises(RuleTextError, match=r"did you mean 'ill'|occurs twice"):
            Circuit.from_rules(text, columns=COLUMNS, classes=("healthy", "ill"))
    with pytest.raises(RuleTextError, match="add up to a number; expected rules for classes"):
        Circuit.from_rules(SUM, columns=COLUMNS, classes=("healthy", "ill"))


@law
@given(st.text(alphabet="ab ()'\"{},<>=!+-1 .:#\\\nandorxtise", max_size=40))
@example("ill:\n  +1  a in {")
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    columns = (Column("a", "boolean"), Column("b", "category", ("a", "b")), Column("x", "number"))
    try:
        Circuit.from_rules(text, columns=columns)
    except RuleTextError as error:
        assert_marked(error, text)
