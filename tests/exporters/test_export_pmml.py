"""PMML: valid, exact for extreme values, readable; text that XML does not allow is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import dln
from dln import Above, Among, Circuit, Column, Missing, Rule
from dln.core.labels import Label
from dln.core.literals import Literal
from dln.errors import OptionError
from dln.exporters.pmml_xml import xml_comment
from tests.exporters.test_export_injection import nasty_names, one_column
from tests.support.export.nasty import Case, fixed_cases
from tests.support.export.run_pmml import Load, answer, find_schema_errors, load_jpmml, load_pmml4s

LOADS = [load_pmml4s, load_jpmml]
BEYOND = [math.inf, -math.inf, math.nan, None]


def ask(
    column: Column, *literals: Literal, cells: list[Any], temperature: float = 1.0, **parts: Any
) -> Case:
    """Make a circuit of one column in which each literal votes for the second class."""
    rules = tuple(Rule(wire, (0, 1)) for wire in range(len(literals)))
    given = {"base_votes": (0, 0), "classes": ("no", "yes"), "rules": rules, **parts}
    circuit = Circuit((column,), literals, (), temperature=temperature, **given)
    return Case(circuit, [[cell] for cell in cells])


def labelled(*classes: Label) -> Case:
    return ask(Column("x", "number"), Above(0, 0.0), cells=[1.0, -1.0], classes=classes)


NUMBER = Column("x", "number")
EDGES = {
    "zeros": ask(
        NUMBER,
        *(Above(0, cutoff) for cutoff in (-0.0, 0.0, 5e-324, -5e-324)),
        cells=[0.0, -0.0, 5e-324, -5e-324, *BEYOND],
    ),
    "largest": ask(
        NUMBER, Above(0, 1.7976931348623157e308), cells=[1.7976931348623157e308, *BEYOND]
    ),
    "integers beyond 2**53": ask(
        Column("x", "integer"),
        *(Above(0, cutoff) for cutoff in (2.0**53, 2.0**63)),
        cells=[2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63), None],
    ),
    "booleans": ask(
        Column("x", "boolean"),
        *(Above(0, cutoff) for cutoff in (-1.0, 0.0, 0.5, 1.0)),
        Missing(0),
        cells=[True, False, None],
    ),
    "numbers as categories": ask(
        Column("x", "category", (math.inf, -math.inf, 0, 2.0**60, 1)),
        *(Among(0, codes) for codes in ((0,), (1,), (2,), (3, 4))),
        Missing(0),
        cells=[0.0, -0.0, 2**60, 1, True, 7.5, *BEYOND],
    ),
    "text": ask(
        Column("x", "category", ("", " ", "a<b", "\r\n", "]]>", "&", "NaN")),
        *(Among(0, (code,)) for code in range(7)),
        Missing(0),
        cells=["", " ", "  ", "a<b", "b", "\r\n", "\n", "]]>", ">", "&", "NaN", "\0", None],
    ),
    "cold": ask(NUMBER, Above(0, 0.0), cells=[1.0, -1.0], temperature=5e-324),
    "hot": ask(NUMBER, Above(0, 0.0), cells=[1.0, -1.0], temperature=1e308),
    "one vote in many": ask(
        NUMBER, Above(0, 0.0), cells=[1.0, None], base_votes=(2**31 - 2,) * 2, temperature=1e300
    ),
    "votes far apart": ask(
        NUMBER, Above(0, 0.0), cells=[1.0, None], rules=(Rule(0, (1 - 2**31, 2**31 - 1)),)
    ),
    "one class": ask(
        NUMBER,
        Above(0, 0.0),
        cells=[1.0],
        rules=(Rule(0, (1,)),),
        base_votes=(0,),
        classes=("only",),
    ),
    "integers as classes": labelled(2**31 - 1, -(2**31)),
    "large integers as classes": labelled(2**31, -(2**31) - 1),
    "numbers as classes": labelled(0.1, math.inf),
    "booleans as classes": labelled(True, False),
    "blank classes": labelled("", " "),
    "odd classes": labelled("\r\n", "NaN"),
    "a name like a derived field": ask(Column("l0", "number"), Above(0, 0.0), cells=[1.0]),
    "a name like the target": ask(Column("class", "number"), Above(0, 0.0), cells=[1.0]),
    "a blank name": ask(Column(" \r\n", "number"), Above(0, 0.0), cells=[1.0]),
    "no name": ask(Column("", "number"), Above(0, 0.0), cells=[1.0]),
    "a name that XML cannot hold": ask(Column("\0", "number"), Above(0, 0.0), cells=[1.0]),
}


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.__name__.removeprefix("load_"))
@pytest.mark.parametrize("edge", EDGES.values(), ids=EDGES)
def test_consumers_answer_like_the_circuit_for_extreme_values(
    edge: Case, load: Callable[[], Load]
) -> None:
    assert answer(edge, load()) == edge.answers()


def test_every_file_is_valid_against_the_schema() -> None:
    for case in (*fixed_cases(), *EDGES.values(), nasty_names("pmml")):
        for explain in (False, True):
            assert not find_schema_errors(dln.export(case.circuit, to="pmml", explain=explain))


def test_a_missing_value_may_be_absent() -> None:
    export = dln.export(EDGES["booleans"].circuit, to="pmml")
    for load in LOADS:
        assert load()(export)({})["predicted_class"] == "yes"


def test_class_and_probabilities_are_outputs_by_default() -> None:
    root = ElementTree.fromstring(dln.export(one_column("age"), to="pmml").data)
    names = [x.attrib["name"] for x in root.iter("{http://www.dmg.org/PMML-4_4}OutputField")]
    assert names == ["predicted_class", "probability(a)"]


def test_rules_and_literals_have_their_text_as_display_name() -> None:
    text = dln.export(one_column("age"), to="pmml").text
    assert '<DerivedField name="l0" displayName="age &gt; 1"' in text
    assert '<DerivedField name="r0" displayName="age &gt; 1"' in text


def test_shared_gates_are_written_once() -> None:
    (ladder,) = (case for case in fixed_cases() if case.circuit.classes == ("even", "odd"))
    text = dln.export(ladder.circuit, to="pmml").text
    assert text.count("<DerivedField") == 4 + 80 + 2 + 3 * 2 + 2
    assert len(text) < 30_000


def test_derived_fields_are_renamed_if_a_column_has_their_name() -> None:
    columns = (Column("l0", "number"), Column("_g7", "number"))
    circuit = Circuit(
        columns, (Above(0, 1.0), Above(1, 1.0)), (), (Rule(0, (1,)), Rule(1, (1,))), (0,), ("a",)
    )
    export = dln.export(circuit, to="pmml")
    assert [x.name for x in export.inputs] == ["l0", "_g7"]
    assert '<DerivedField name="__l0"' in export.text
    names = dln.export(one_column("\0"), to="pmml").inputs
    assert [x.name for x in names] == ["column"]


def test_text_that_xml_does_not_allow_is_refused() -> None:
    for name in ("predicted_class", "probability(a)", "rule(3)"):
        with pytest.raises(OptionError, match="which is the name of an output; rename it"):
            dln.export(one_column(name), to="pmml")
    with pytest.raises(OptionError, match=r"XML cannot hold the class 'a\\x00b'; rename the class"):
        dln.export(Circuit((), (), (), (), (0,), ("a\0b",)), to="pmml")
    with pytest.raises(OptionError, match="the classes 1 and '1' are the same as text"):
        dln.export(Circuit((), (), (), (), (0, 0), (1, "1")), to="pmml")
    column = Column("word", "category", ("a", "\x1b"))
    circuit = Circuit((column,), (Among(0, (1,)),), (), (Rule(0, (1,)),), (0,), ("a",))
    with pytest.raises(OptionError, match=r"XML cannot hold the category '\\x1b' of column 'word'"):
        dln.export(circuit, to="pmml")


def test_the_id_is_the_version_of_the_model() -> None:
    export = dln.export(one_column("age"), to="pmml")
    assert f'<Header modelVersion="{export.model_id}">' in export.text


def test_no_text_ends_the_comment() -> None:
    for line in ("--", "-->", "--->", "a--!>b", "-" * 9):
        text = xml_comment([line, line])
        assert "--" not in text.removeprefix("<!--").removesuffix("-->\n")
        ElementTree.fromstring(f"{text}<x/>")


def test_the_command_writes_a_file(run: Callable[..., tuple[int, str, str]]) -> None:
    one_column("age").save("model.json")
    status, _, err = run("export", "model.json", "--to", "pmml", "--explain", "-o", "m.pmml")
    assert (status, err) == (0, "wrote m.pmml\n")
    assert 'name="rule(1)"' in Path("m.pmml").read_text(encoding="utf-8")
