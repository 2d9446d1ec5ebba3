"""Names of columns, categories and classes are data: no target executes them as code."""

from __future__ import annotations

from pathlib import Path

import pytest

import dln
from dln import Above, Among, Circuit, Column, Missing, Rule
from dln.errors import OptionError
from dln.exporters.databases import DATABASES
from dln.exporters.export import TARGETS, TargetName
from tests.exporters.test_export_conformance import RUNS, Runner
from tests.support.export.nasty import Case, nasty_rows
from tests.support.export.targets import TOOLS

NAMES = (
    "'; DROP TABLE data; --",
    '"; DROP TABLE data; --',
    '") FROM data; SELECT ("',
    "*/ int x = 1/0; /*",
    "// */",
    "-- x\n; SELECT 1;",
    "\r\n#error no\n",
    "line\\",
    "??/",
    "\\u000a\\u002a/ System.exit(1);",
    "\u2028throw 1",
    "\u202ertl\u202c",
    "</script><!-- x -->",
    "${process.exit(1)}",
    "`ls`",
    '"""',
    "{name} {0} {{}}",
    "@name@ @id@",
    "%s %d %n",
    "$display",
    "`define x",
    "#{exit}",
    "__proto__",
    "constructor",
    "class",
    "select",
    "wire",
    "def",
    "NULL",
    "t",
    "c0",
    "l0",
    "label",
    "dln/Cast1",
    "row_missing",
    "row",
    "größe 🚀",
    "ﬁ",
    "7",
    " ",
    "\t",
)


def nasty_names(target: TargetName) -> Case:
    """Make a circuit in which every name is a class, a category and, if allowed, a column."""
    allowed = [name for name in NAMES if is_allowed(name, target)]
    texts = tuple(Column(f"{name}_", "category", NAMES) for name in allowed[:12])
    numbers = tuple(Column(name, "number") for name in allowed)
    literals = (
        *(Above(index, 0.5) for index in range(len(numbers))),
        *(Among(len(numbers) + n, (n, n + 9, n + 20)) for n in range(len(texts))),
        *(Missing(len(numbers) + n) for n in range(len(texts))),
    )
    rules = tuple(
        Rule(wire, tuple(int(k == wire % len(NAMES)) for k in range(len(NAMES))))
        for wire in range(len(literals))
    )
    circuit = Circuit((*numbers, *texts), literals, (), rules, (0,) * len(NAMES), NAMES)
    return Case(circuit, nasty_rows(circuit, 60))


@pytest.mark.parametrize(("target", "runner"), RUNS)
def test_no_name_is_executed_as_code(target: str, runner: Runner, tmp_path: Path) -> None:
    case = TOOLS[target].fit(nasty_names(target))
    (answers,) = runner([case], tmp_path)
    assert answers == case.answers()


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_list_the_names_of_the_columns(target: str) -> None:
    circuit = nasty_names(target).circuit
    export = dln.export(circuit, to=target)
    assert [x.column for x in export.inputs] == [x.name for x in circuit.columns]
    assert len({x.name for x in export.inputs}) == len(export.inputs)


@pytest.mark.parametrize("target", DATABASES)
def test_names_that_a_database_does_not_allow_are_refused(target: str) -> None:
    for name in ("a\0b", "\ud800", DATABASES[target].stored("predicted_class")):
        with pytest.raises(OptionError, match="rename"):
            dln.export(one_column(name), to=target)


def test_names_are_checked_by_the_rules_of_each_database() -> None:
    with pytest.raises(OptionError, match="PostgreSQL cannot name a column or table ''"):
        dln.export(one_column(""), to="postgresql")
    with pytest.raises(OptionError, match="limits names to 63 bytes"):
        dln.export(one_column("é" * 32), to="postgresql")
    two = Circuit(
        (Column("Age", "number"), Column("age", "number")),
        (Above(0, 1.0), Above(1, 1.0)),
        (),
        (Rule(0, (1,)), Rule(1, (1,))),
        (0,),
        ("a",),
    )
    for target in ("sqlite", "duckdb"):
        with pytest.raises(OptionError, match="'Age' and 'age', which are one name"):
            dln.export(two, to=target)
    assert '"Age"' in dln.export(two, to="postgresql").text


def test_categories_that_are_the_same_as_text_are_refused_where_columns_have_one_type() -> None:
    column = Column("x", "category", ("1", 1))
    circuit = Circuit((column,), (Among(0, (0,)),), (), (Rule(0, (1,)),), (0,), ("a",))
    for target in ("sqlite", "onnx", "rust"):
        with pytest.raises(OptionError, match=r"'1' and 1, which are the same as text"):
            dln.export(circuit, to=target)
    for target in ("python", "javascript", "c"):
        dln.export(circuit, to=target)


def test_a_class_that_a_database_cannot_hold_is_refused() -> None:
    circuit = Circuit((), (), (), (), (0,), ("a\0b",))
    with pytest.raises(OptionError, match="PostgreSQL cannot hold the class"):
        dln.export(circuit, to="postgresql")
    assert "char(0)" in dln.export(circuit, to="sqlite").text


@pytest.mark.parametrize("target", sorted(set(TARGETS) - set(DATABASES)))
def test_half_a_surrogate_pair_does_not_fail(target: str) -> None:
    columns = (Column("\ud800", "number"), Column("c", "category", ("\udfff", "a")))
    literals = (Above(0, 1.0), Among(1, (0, 1)))
    rules = (Rule(0, (1,)), Rule(1, (1,)))
    export = dln.export(Circuit(columns, literals, (), rules, (0,), ("a",)), to=target)
    assert [x.column for x in export.inputs] == ["\ud800", "c"]


def is_allowed(name: str, target: TargetName) -> bool:
    """Check whether a target allows a column of this name; databases refuse some."""
    if target not in DATABASES:
        return True
    try:
        DATABASES[target].name(name)
    except OptionError:
        return False
    return True


def one_column(name: str) -> Circuit:
    return Circuit((Column(name, "number"),), (Above(0, 1.0),), (), (Rule(0, (1,)),), (0,), ("a",))
