"""Columns, classes and categories named like parts of the generated code do not change the answer.

The names come from the code itself: each identifier in it becomes a column, in several letter
cases. `test_export_sql_names` does the same for databases.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dln
from dln import Above, Among, Circuit, Column, Rule
from dln.errors import OptionError
from dln.exporters.databases import DATABASES
from dln.exporters.export import TARGETS
from dln.exporters.names import NUMBER
from tests.support.export.nasty import Case, fixed_cases
from tests.support.export.targets import TOOLS

LANGUAGES = tuple(target for target in TARGETS if target not in DATABASES)
WORDS = """
EOF I NULL and asm async await bool case char class complex const constexpr default def delete do
double else enum errno export false final float fn for friend function gen goto if import in int
interface lambda let linux logic long match mod module mut namespace new not null nullptr operator
or package private pub raise real reg return self short signed static string struct super switch
table task template this throw true try type typename union unix unsigned use using var virtual
void volatile while wire with xor yield
"""
KEYWORDS = WORDS.split()


def words_of(target: str) -> list[str]:
    """Return the identifiers in the code of a circuit with columns of every kind."""
    written = dln.export(fixed_cases()[-1].circuit, to=target).data.decode("utf-8", "replace")
    words = re.findall(r"[A-Za-z_]\w*", written)
    # A few of the numbered names are enough.
    return [word for word in dict.fromkeys(words) if not re.search(r"[4-9]|\d\d", word)]


@pytest.mark.parametrize("target", LANGUAGES)
def test_no_name_collides_with_the_generated_code(target: str, tmp_path: Path) -> None:
    names = [*words_of(target), *KEYWORDS]
    names = list(dict.fromkeys([*names, *map(str.upper, names), *map(str.title, names)]))
    if target == "pmml":  # columns named like its outputs are refused
        names = [name for name in names if name != "predicted_class"]
    classes = tuple(names[:40])
    rules = tuple(
        Rule(wire, tuple(int((wire + k) % 7 == 0) for k in range(len(classes))))
        for wire in range(len(names) + 1)
    )
    circuit = Circuit(
        (*(Column(name, "number") for name in names), Column("a category", "category", classes)),
        (
            *(Above(place, 0.5) for place in range(len(names))),
            Among(len(names), tuple(range(0, len(classes), 2))),
        ),
        (),
        rules,
        (0,) * len(classes),
        classes,
    )
    rows = [
        [*(float((place * step) % 5 > 1) for place in range(len(names))), classes[step]]
        for step in range(1, 6)
    ]
    case = TOOLS[target].fit(Case(circuit, rows))
    (answers,) = TOOLS[target].runners[0]([case], tmp_path)
    assert answers == case.answers()


def test_a_column_is_not_named_like_the_function_of_another(tmp_path: Path) -> None:
    """In C, columns with numbers among their categories have a function that ends in _number."""
    columns = (Column("x", "category", ("a", 1)), Column(f"x{NUMBER}", "category", ("b", 2)))
    literals = (Among(0, (1,)), Among(1, (0,)))
    rules = (Rule(0, (1, 0)), Rule(1, (0, 1)))
    circuit = Circuit(columns, literals, (), rules, (0, 0), ("no", "yes"))
    case = Case(circuit, [[1, "b"], ["a", 2], [None, "b"]])
    (answers,) = TOOLS["c"].runners[0]([case], tmp_path)
    assert answers == case.answers()


def test_java_code_is_not_named_like_a_class_that_it_uses() -> None:
    text = dln.export(fixed_cases()[-1].circuit, to="java", name="xyz").text
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\\]|\\\\.)*\"", "", text, flags=re.DOTALL)
    types = {
        word for word in re.findall(r"(?<![.\w])[A-Z][A-Za-z]*[a-z]\w*", code) if word != "Xyz"
    }
    assert {"String", "Double", "Row", "Explanation"} <= types
    for name in types:
        with pytest.raises(OptionError, match="a word that a target uses itself"):
            dln.export(fixed_cases()[0].circuit, to="java", name=name)
